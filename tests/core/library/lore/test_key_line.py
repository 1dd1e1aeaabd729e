"""Keys are read back from the line that shows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.lore.key_line import shown_keys, typed_keys
from core.text.cleaning import clean_line

KEY = st.text(alphabet='ab /\\",，、،{}.é', max_size=8).map(clean_line).filter(bool)


@given(st.lists(KEY, max_size=4))
def test_keys_that_are_shown_are_read_back_as_they_were(keys: list[str]) -> None:
    assert typed_keys(shown_keys(keys)) == tuple(keys)


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("lamp, old light,,  ", ("lamp", "old light")),
        (r"/a{1,2}\/b/i, lamp", (r"/a{1,2}\/b/i", "lamp")),
        ('"Kara, the tall", "a ""b"""', ("Kara, the tall", 'a "b"')),
        ('"never closed, x', ('"never closed', "x")),
        ("/a, b/", ("/a, b/",)),
        ("/, x", ("/", "x")),
        ("灯塔，港口、海", ("灯塔", "港口", "海")),
        ("منارة، ميناء", ("منارة", "ميناء")),
        ('"灯，塔"，/海，岸/', ("灯，塔", "/海，岸/")),
    ],
)
def test_a_line_of_keys_is_read(line: str, keys: tuple[str, ...]) -> None:
    assert typed_keys(line) == keys


@given(st.text(max_size=60))
def test_any_line_is_read(line: str) -> None:
    assert all(key.strip() == key and key for key in typed_keys(line))
