"""A copy of a lorebook says what its file says, whatever characters and values that has."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.exchange.import_bounds import parse
from core.library.card_lore import as_copy, read_copy
from core.library.refusal import FileRefusedError
from core.text.cleaning import clean
from tests.core.library.lore.lore_samples import WORLD, read

texts = st.text(max_size=20) | st.sampled_from(["\ud800", "\x1b[31m", "\u202e", "\x00", "日本"])
entries = st.fixed_dictionaries(
    {"uid": st.integers(0, 9), "key": st.lists(texts, max_size=3), "content": texts},
    optional={"probability": st.floats(0, 100), "sticky": st.integers(0, 99), "x_own": texts},
)


@given(st.lists(entries, max_size=4))
def test_a_copy_is_read_as_the_file_was(listed: list[dict[str, Any]]) -> None:
    book = {**WORLD, "entries": {str(number): entry for number, entry in enumerate(listed)}}
    copy = as_copy(json.loads(json.dumps(book)))
    assert read_copy(copy) == read(book)
    assert clean(copy) == copy


def test_a_large_copy_is_one_value_of_an_export() -> None:
    many = {"entries": {str(n): {"uid": n, "key": [[]] * 400, "content": ",,"} for n in range(5_000)}}
    assert parse(json.dumps({"text": as_copy(many)}).encode()) == {"text": as_copy(many)}


@pytest.mark.parametrize("text", ["", "é", "{}", "e30", "e30=\n", as_copy({}), as_copy([1]), as_copy("x")])
def test_what_is_no_copy_is_refused(text: str) -> None:
    with pytest.raises(FileRefusedError):
        read_copy(text)
