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


def test_windows_keep_the_newest_pairs_and_share_nothing_that_changes() -> None:
    """Two windows go on from every window: sums of whole numbers are exact."""
    windows = [(Window(3), [(0.0, 0)][:0])]
    for i in range(1, 40):
        window, pairs = windows[i // 2]
        new = (window.with_pair(float(i), 2 * i), [*pairs, (float(i), 2 * i)][-3:])
        windows.append(new)
    chain, kept = windows[0]
    for i in range(20):
        chain, kept = chain.with_pair(float(i), 7), [*kept, (float(i), 7)][-3:]
        windows.append((chain, kept))
    for window, pairs in windows:
        total = (sum(errors for errors, _ in pairs), sum(evaluated for _, evaluated in pairs))
        assert (len(window), window.sum) == (len(pairs), total)
        assert window.to_array().tolist() == [list(total), *map(list, pairs)]
