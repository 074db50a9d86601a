"""Compare the frozen map with a dict that is copied whole."""

from hypothesis import given
from hypothesis import strategies as st

from crowdml.frozen_map import FrozenMap

CHANGES = st.lists(st.tuples(st.booleans(), st.integers(-3, 200)), max_size=60)


@given(CHANGES)
def test_every_copy_stays_as_it_was_made(changes: list[tuple[bool, int]]) -> None:
    copies: list[tuple[FrozenMap[int], dict[int, int]]] = [(FrozenMap(), {})]
    for i, (added, key) in enumerate(changes):
        frozen, plain = copies[-1]
        if added:
            copies.append((frozen.with_item(key, i), {**plain, key: i}))
        elif key in plain:
            copies.append((frozen.without(key), {k: v for k, v in plain.items() if k != key}))
    for frozen, plain in copies:
        assert dict(frozen) == plain
        assert len(frozen) == len(plain)
        assert all((key in frozen) == (key in plain) for key in range(-3, 201))
        assert dict(FrozenMap(plain)) == plain
