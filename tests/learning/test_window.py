"""The window: sums that are kept, not recomputed."""

from crowdml.learning import Window


def test_a_window_that_is_read_back_rounds_as_before() -> None:
    """Its sum has come about by adding and taking away, and is not what a new sum would be."""
    window = Window(3)
    for i in range(100):
        window = window.with_pair(i / 7, 1)
    again = Window.from_array(3, window.to_array())
    assert again.sum == window.sum
    fresh = Window(3)
    for i in range(97, 100):
        fresh = fresh.with_pair(i / 7, 1)
    assert fresh.sum != window.sum, "otherwise this test is blind"
    for i in range(3):
        window = window.with_pair(i / 7, 1)
        again = again.with_pair(i / 7, 1)
        assert (again.sum, len(again)) == (window.sum, len(window))
