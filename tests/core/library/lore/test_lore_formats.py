"""Lorebooks are written as they were read, into any format without loss, and changed in one place alone."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.card_lore import book_of, with_book
from core.library.cards.card_file import CardFormat, read_card
from core.library.cards.writing import write_card
from core.library.json_document import parse_json
from core.library.lore.book import Logic, Lorebook, LoreEntry, LoreFormat, Position, Role
from core.library.lore.readers import read_lorebook
from core.library.lore.writers import WRITTEN, write_lorebook
from tests.core.library.cards.card_samples import (
    BOOK,
    BOOK_ENTRY,
    V2,
    V3,
    packed,
    picture,
    t_ext,
    text_of,
)
from tests.core.library.lore.activation.activation_case import entry
from tests.core.library.lore.lore_samples import WORLD, read

FULL = LoreEntry(
    uid="7",
    name="Lamp",
    keys=("lamp", "/l.mp/i"),
    secondary=("oil",),
    content="@@depth 3\nIt is old.",
    is_enabled=False,
    is_constant=True,
    is_selective=True,
    logic=Logic.NOT_ALL,
    order=42,
    position=Position.AT_DEPTH,
    depth=3,
    role=Role.USER,
    outlet="sea",
    probability=37.5,
    uses_probability=False,
    scan_depth=9,
    case_sensitive=True,
    whole_words=False,
    priority=5,
    ignores_budget=True,
    excludes_recursion=True,
    prevents_recursion=True,
    delay_until_recursion=2,
    groups=("g", "h"),
    is_group_override=True,
    group_weight=30,
    group_scoring=True,
    sticky=3,
    cooldown=4,
    delay=5,
    matches_persona=True,
    matches_description=True,
    matches_personality=True,
    matches_depth_prompt=True,
    matches_scenario=True,
    matches_notes=True,
    triggers=("normal", "swipe"),
    filter_names=("Kara",),
    filter_tags=("sea",),
    filter_excludes=True,
)
BOOK_OF_ALL = Lorebook(
    name="Sea", description="Of the sea.", entries=(FULL,), scan_depth=4, token_budget=500, is_recursive=True
)


def _with(one: LoreEntry, attribute: str, value: Any) -> LoreEntry:
    changes: dict[str, Any] = {attribute: value}
    return replace(one, **changes)


def test_the_sample_has_no_field_at_its_default() -> None:
    plain = LoreEntry(uid="")
    same = {one.name for one in fields(LoreEntry) if getattr(FULL, one.name) == getattr(plain, one.name)}
    assert same == {"is_selective", "uses_regex"}


@pytest.mark.parametrize("format_", WRITTEN)
def test_every_field_goes_into_a_format_and_out_of_it(format_: LoreFormat) -> None:
    again = read_lorebook(parse_json(write_lorebook(BOOK_OF_ALL, format_).text, "It"), "It")
    expected = BOOK_OF_ALL
    if format_ is LoreFormat.WORLD_INFO:
        expected = replace(BOOK_OF_ALL, entries=(replace(FULL, uid="0"),))
    assert again == expected


@pytest.mark.parametrize("format_", WRITTEN)
@pytest.mark.parametrize(
    "attribute", [one.name for one in fields(LoreEntry) if one.name not in ("uid", "uses_regex")]
)
def test_a_change_of_one_field_is_read_again(attribute: str, format_: LoreFormat) -> None:
    document = write_lorebook(BOOK_OF_ALL, format_)
    book = read_lorebook(document, "It")
    default: Any = getattr(LoreEntry(uid=""), attribute)
    new: Any = False if attribute == "is_selective" else default
    changed = replace(book, entries=(_with(book.entries[0], attribute, new),))
    written = write_lorebook(changed, format_)
    assert read_lorebook(parse_json(written.text, "It"), "It") == changed
    assert len(json.loads(written.text)) == len(json.loads(document.text))


def test_expressions_without_slashes_get_them_where_the_switch_is_unknown() -> None:
    book = Lorebook(entries=(entry("1", "a/b", r"a\/b", "/x/i", uses_regex=True),))
    written = read_lorebook(write_lorebook(book, LoreFormat.WORLD_INFO), "It")
    assert written.entries[0].keys == (r"/a\/b/", r"/a\/b/", "/x/i")


@given(BOOK, st.sampled_from([None, 1]))
def test_a_book_of_a_card_is_written_byte_for_byte(value: dict[str, Any], indent: int | None) -> None:
    text = json.dumps({"spec": "lorebook_v3", "data": value}, indent=indent, ensure_ascii=False)
    book = read_lorebook(parse_json(text, "It"), "It")
    assert write_lorebook(book, LoreFormat.LOREBOOK_V3).text == text
    bare = json.dumps(value, indent=indent)
    assert write_lorebook(read_lorebook(parse_json(bare, "It"), "It"), LoreFormat.CHARACTER_BOOK).text == bare


def test_world_info_is_written_byte_for_byte_and_an_edit_changes_one_place() -> None:
    text = json.dumps(WORLD, indent=3)
    book = read_lorebook(parse_json(text, "It"), "It")
    assert write_lorebook(book, LoreFormat.WORLD_INFO).text == text
    edited = replace(book, entries=(replace(book.entries[0], content="Older."), book.entries[1]))
    assert write_lorebook(edited, LoreFormat.WORLD_INFO).text == text.replace('"Old."', '"Older."')


def test_entries_are_added_and_removed_and_the_others_stay() -> None:
    text = json.dumps(WORLD)
    book = read_lorebook(parse_json(text, "It"), "It")
    changed = replace(book, entries=(book.entries[1], entry("9", "new")))
    written = json.loads(write_lorebook(changed, LoreFormat.WORLD_INFO).text)
    assert list(written["entries"]) == ["5", "9"]
    assert written["entries"]["5"] == WORLD["entries"]["5"]
    assert written["x_root"] == [1.0]


@given(st.lists(BOOK_ENTRY, max_size=3))
def test_a_change_of_format_loses_no_value(entries: list[dict[str, Any]]) -> None:
    value = {"entries": entries, "extensions": {"x": 1}, "x_root": 2.5}
    book = read(value)
    world = json.loads(write_lorebook(book, LoreFormat.WORLD_INFO).text)
    assert (world["x_root"], world["extensions"]) == (2.5, {"x": 1})
    for one, made in zip(entries, world["entries"].values(), strict=True):
        assert all(made["extensions"][key] == kept for key, kept in one.get("extensions", {}).items())
        assert made.get("x_unknown") == one.get("x_unknown")


def test_unknown_keys_of_world_info_go_into_the_extensions() -> None:
    written = json.loads(write_lorebook(read(WORLD), LoreFormat.LOREBOOK_V3).text)
    assert written["data"]["entries"][0]["extensions"]["x_own"] == 1.5
    assert written["data"]["x_root"] == [1.0]


def test_a_book_of_a_card_has_the_name_of_the_card_and_is_changed_within_it() -> None:
    file = read_card(picture(t_ext("chara", packed(V2)), t_ext("ccv3", packed(V3))), "")
    book = book_of(file.card)
    assert book is not None
    assert book.name == "Kara"
    assert with_book(file.card, book) == file.card
    edited = replace(book, entries=(replace(book.entries[0], content="@@depth 2\nNew."),))
    card = with_book(file.card, edited)
    assert card.document.text == file.card.document.text.replace("It is old.", "@@depth 2\\nNew.")
    assert card.twin is not None
    assert card.twin.get("data", "character_book", "entries", 0, "content") == "New."
    again = read_card(write_card(file, card, CardFormat.PNG).content, "").card
    assert book_of(again) == edited


@pytest.mark.parametrize("entries", [5, None, "x", {}, []])
def test_a_book_whose_entries_are_no_list_is_empty_and_takes_an_entry(entries: Any) -> None:
    card = read_card(text_of({**V2, "data": {**V2["data"], "character_book": {"entries": entries}}}), "").card
    book = book_of(card)
    assert book is not None
    assert book.entries == ()
    added = book_of(with_book(card, replace(book, entries=(entry("1", "lamp"),))))
    assert added is not None
    assert [one.keys for one in added.entries] == [("lamp",)]


def test_a_card_without_a_book_gets_one() -> None:
    card = read_card(text_of({**V2, "data": {**V2["data"], "character_book": None}}), "").card
    assert book_of(card) is None
    added = with_book(card, Lorebook(name="Sea", entries=(entry("1", "lamp"),)))
    book = book_of(added)
    assert book is not None
    assert (book.name, book.entries[0].keys) == ("Sea", ("lamp",))
