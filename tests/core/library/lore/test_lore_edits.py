"""An edit of one field is written into the file that a book came in, and nothing else there is different."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.card_lore import read_lore_file, rewritten
from core.library.lore.book import MOST_ENTRIES, Logic, Lorebook, LoreEntry, LoreFormat, Position
from core.library.lore.edits import find_entry, free_uid, with_changes, with_entry, without_entry
from core.library.lore.writers import write_lorebook
from core.library.refusal import FileRefusedError
from core.text.cleaning import clean
from tests.core.library.cards.card_samples import (
    BOOK,
    BOOK_ENTRY,
    V2,
    V3,
    WORDS,
    archive,
    image_data,
    packed,
    picture,
    t_ext,
    text_of,
    z_txt,
)
from tests.core.library.lore.activation.activation_case import entry
from tests.core.library.lore.lore_samples import WORLD, read

LINE = WORDS.map(lambda text: " ".join(clean(text).split()))
KEYS = st.lists(LINE.filter(lambda text: bool(text.strip())).map(str.strip), max_size=3).map(tuple)
COUNT = st.integers(0, 999)
SWITCH = st.booleans()
ANY_SWITCH = st.none() | st.booleans()
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": LINE,
    "keys": KEYS,
    "secondary": KEYS,
    "content": WORDS.map(clean),
    "is_enabled": SWITCH,
    "is_constant": SWITCH,
    "is_selective": SWITCH,
    "logic": st.sampled_from(Logic),
    "order": st.integers(-999, 999),
    "position": st.sampled_from(Position),
    "depth": COUNT,
    "probability": st.integers(0, 100).map(float),
    "uses_probability": SWITCH,
    "scan_depth": st.none() | COUNT,
    "case_sensitive": ANY_SWITCH,
    "whole_words": ANY_SWITCH,
    "priority": st.none() | st.integers(-9, 9),
    "excludes_recursion": SWITCH,
    "prevents_recursion": SWITCH,
    "delay_until_recursion": COUNT,
    "groups": st.lists(st.sampled_from(["sea", "land"]), max_size=2).map(tuple),
    "group_weight": COUNT,
    "sticky": COUNT,
    "cooldown": COUNT,
    "delay": COUNT,
    "outlet": LINE,
    "ignores_budget": SWITCH,
    "is_group_override": SWITCH,
    "group_scoring": ANY_SWITCH,
    "filter_names": KEYS,
    "filter_tags": KEYS,
    "filter_excludes": SWITCH,
    "triggers": KEYS,
    "matches_description": SWITCH,
    "matches_personality": SWITCH,
    "matches_scenario": SWITCH,
    "matches_persona": SWITCH,
    "matches_depth_prompt": SWITCH,
    "matches_notes": SWITCH,
}
EDITS = st.sampled_from(sorted(FIELDS)).flatmap(lambda name: st.tuples(st.just(name), FIELDS[name]))
WORLD_ENTRY = st.fixed_dictionaries(
    {"key": st.lists(WORDS, max_size=3) | WORDS, "content": WORDS},
    optional={
        "uid": st.integers(0, 9),
        "keysecondary": st.lists(WORDS, max_size=2),
        "comment": WORDS,
        "disable": SWITCH,
        "position": st.integers(0, 7),
        "delayUntilRecursion": SWITCH | st.integers(0, 3),
        "group": WORDS,
        "x_unknown": st.floats(0, 9),
    },
)


def spaced(value: object) -> bytes:
    return b"\xef\xbb\xbf" + json.dumps(value, indent=3).encode() + b"\n"


def in_card(version: dict[str, Any], book: Any) -> dict[str, Any]:
    return {**version, "data": {**version["data"], "character_book": book}}


def in_world(entries: list[Any]) -> bytes:
    return spaced({"name": "Sea", "entries": {str(at + 3): one for at, one in enumerate(entries)}, "x": 1.50})


def in_picture(book: Any) -> bytes:
    copies = (z_txt("Chara", packed(in_card(V2, book))), t_ext("ccv3", packed(in_card(V3, book))))
    return picture(*copies, t_ext("Comment", b"of mine"), end=b"behind")


FORMATS: dict[str, Callable[[Any], bytes]] = {
    "lorebook_v3": lambda book: spaced({"spec": "lorebook_v3", "data": book, "x": 1.50}),
    "character_book": lambda book: spaced({**book, "entries": book["entries"]}),
    "card of version 2": lambda book: text_of(in_card(V2, book)),
    "card of version 3": lambda book: text_of(in_card(V3, book)),
    "picture": in_picture,
    "picture of version 2": lambda book: picture(t_ext("chara", packed(in_card(V2, book)))),
    "charx": lambda book: archive(in_card(V3, book), {"a/b.png": b"x" * 9}, front=b"\xff\xd8 jpeg"),
}


def edited(content: bytes, edit: tuple[str, Any]) -> None:
    """Edit one field of the first entry, and check that nothing else is read differently."""
    file = read_lore_file(content, "It")
    name, value = edit
    changes: dict[str, Any] = {name: value}
    first = replace(file.book.entries[0], **changes)
    wanted = with_entry(file.book, first)
    made = rewritten(content, file, wanted)
    again = read_lore_file(made, "It")
    if first.uses_regex and not again.book.entries[0].uses_regex:
        # The format says it by slashes now; the keys mean the same.
        keys = tuple(key if key.startswith("/") else f"/{key}/" for key in first.keys)
        assert len(again.book.entries[0].keys) == len(keys)
        same = {"keys", "uses_regex", "is_selective"}
        kept = {field: getattr(first, field) for field in FIELDS if field not in same}
        assert {field: getattr(again.book.entries[0], field) for field in kept} == kept
        return
    assert again.book == wanted
    if wanted == file.book:
        assert made == content
    back = rewritten(made, again, file.book)
    assert read_lore_file(back, "It").book == file.book


@pytest.mark.parametrize("format_", FORMATS)
@given(BOOK_ENTRY, st.lists(BOOK_ENTRY, max_size=2), BOOK, EDITS)
def test_an_edit_of_one_field_changes_that_field_alone(
    format_: str, first: Any, others: list[Any], book: Any, edit: tuple[str, Any]
) -> None:
    edited(FORMATS[format_]({**book, "entries": [first, *others]}), edit)


@given(st.lists(WORLD_ENTRY, min_size=1, max_size=3), EDITS)
def test_an_edit_of_world_info_changes_that_field_alone(entries: list[Any], edit: tuple[str, Any]) -> None:
    edited(in_world(entries), edit)


def test_an_edited_file_keeps_every_other_byte() -> None:
    content = spaced({**WORLD, "name": "Ä"})
    file = read_lore_file(content, "It")
    made = rewritten(content, file, with_entry(file.book, replace(file.book.entries[0], content="Older.")))
    assert made == content.replace(b'"Old."', b'"Older."')


def test_a_book_of_a_card_whose_name_is_a_number_keeps_it() -> None:
    content = text_of(in_card(V2, {"name": 5, "entries": [{"keys": ["lamp"], "content": "Old."}]}))
    file = read_lore_file(content, "It")
    made = rewritten(content, file, with_entry(file.book, replace(file.book.entries[0], content="Older.")))
    assert made == content.replace(b'"Old."', b'"Older."')


def test_a_file_in_another_encoding_stays_in_it() -> None:
    for encoding in ("utf-16", "utf-8-sig"):
        content = json.dumps({**WORLD, "name": "Ä"}, ensure_ascii=False).encode(encoding)
        file = read_lore_file(content, "It")
        made = rewritten(content, file, with_entry(file.book, replace(file.book.entries[0], content="Ö")))
        assert made.decode(encoding) == content.decode(encoding).replace('"Old."', '"Ö"')
    content = json.dumps({**WORLD, "name": "Ä"}, ensure_ascii=False).encode("cp1252")
    file = read_lore_file(content, "It")
    made = rewritten(content, file, with_entry(file.book, replace(file.book.entries[0], content="Ж")))
    assert json.loads(made.decode())["name"] == "Ä"


def test_a_picture_keeps_its_pixels_its_other_texts_and_what_is_behind_its_end() -> None:
    content = in_picture(V2["data"]["character_book"])
    file = read_lore_file(content, "It")
    changed = replace(file.book.entries[0], content="@@depth 2\nNew.")
    made = rewritten(content, file, with_entry(file.book, changed))
    assert image_data(made) == image_data(content)
    assert t_ext("Comment", b"of mine") in made
    assert made.endswith(b"behind")
    card = read_lore_file(made, "It").card
    assert card is not None
    assert file.card is not None
    assert card.document.text == file.card.document.text.replace("It is old.", "@@depth 2\\nNew.")
    assert card.twin is not None
    assert file.card.twin is not None
    assert card.twin.text == file.card.twin.text.replace("It is old.", "New.")


def test_a_picture_with_one_copy_is_not_given_another() -> None:
    content = picture(t_ext("chara", packed(V2)))
    file = read_lore_file(content, "It")
    made = rewritten(content, file, with_entry(file.book, replace(file.book.entries[0], content="New.")))
    assert b"ccv3" not in made
    assert read_lore_file(made, "It").book.entries[0].content == "New."


def test_keys_that_are_expressions_by_a_switch_stay_expressions_beside_extensions() -> None:
    first = {"keys": ["a/b"], "content": "x", "enabled": True, "use_regex": True, "extensions": {}}
    content = spaced({"entries": [first]})
    file = read_lore_file(content, "It")
    moved = replace(file.book.entries[0], position=Position.AT_DEPTH)
    [again] = read_lore_file(rewritten(content, file, with_entry(file.book, moved)), "It").book.entries
    assert (again.position, again.keys) == (Position.AT_DEPTH, (r"/a\/b/",))


@pytest.mark.parametrize("said", [{}, {"position": "before_char"}, {"extensions": {"position": 1}}])
@pytest.mark.parametrize("position", Position)
def test_a_place_that_the_format_cannot_say_itself_goes_into_the_extensions(
    said: dict[str, Any], position: Position
) -> None:
    content = spaced({"entries": [{"keys": ["a"], "content": "x", "enabled": True, **said}]})
    file = read_lore_file(content, "It")
    moved = with_entry(file.book, replace(file.book.entries[0], position=position))
    made = rewritten(content, file, moved)
    assert read_lore_file(made, "It").book == moved
    is_plain = position in (Position.BEFORE_CHARACTER, Position.AFTER_CHARACTER)
    assert (b"extensions" in made) is ("extensions" in said or not is_plain)


def test_the_other_copy_of_a_card_keeps_what_is_its_own() -> None:
    entries = [dict(V2["data"]["character_book"]["entries"][0], id=number) for number in range(2)]
    older = {**V2["data"]["character_book"], "entries": [entries[0], {**entries[1], "insertion_order": 77}]}
    newer = {**older, "entries": entries}
    copies = t_ext("chara", packed(in_card(V2, older))), t_ext("ccv3", packed(in_card(V3, newer)))
    content = picture(*copies)
    file = read_lore_file(content, "It")
    changed = with_entry(file.book, replace(file.book.entries[0], content="New."))
    card = read_lore_file(rewritten(content, file, changed), "It").card
    assert card is not None
    assert card.twin is not None
    listed = card.twin.get("data", "character_book", "entries")
    assert [(one["content"], one["insertion_order"]) for one in listed] == [("New.", 5), ("It is old.", 77)]


@pytest.mark.parametrize("value", ["x", [1], 5])
def test_what_has_no_room_for_a_field_is_refused_with_one_sentence(value: Any) -> None:
    content = spaced({"entries": [{"keys": ["a"], "content": "x", "enabled": True, "extensions": value}]})
    file = read_lore_file(content, "It")
    with pytest.raises(FileRefusedError, match="something else where this would have to go"):
        rewritten(content, file, with_entry(file.book, replace(file.book.entries[0], sticky=3)))


def test_a_format_that_is_read_alone_is_not_written() -> None:
    content = spaced({"lorebookVersion": 5, "entries": [{"keys": ["a"], "text": "x"}]})
    file = read_lore_file(content, "novel.json")
    with pytest.raises(FileRefusedError, match="is in a format that is read and not written"):
        rewritten(content, file, file.book)


@pytest.mark.parametrize("book", [read(WORLD), read(V2["data"]["character_book"]), Lorebook()])
def test_a_new_entry_has_a_name_that_is_free(book: Lorebook) -> None:
    added = with_entry(book, LoreEntry(uid=free_uid(book), keys=("new",)))
    assert len(added.entries) == len(book.entries) + 1
    assert len({one.uid for one in added.entries}) == len(added.entries)


def test_a_new_entry_is_read_again_from_every_format() -> None:
    for made in FORMATS.values():
        content = made(V2["data"]["character_book"])
        file = read_lore_file(content, "It")
        new = LoreEntry(uid=free_uid(file.book), name="New", keys=("boat", "/x/i"), content="Of wood.")
        added = with_entry(file.book, new)
        assert read_lore_file(rewritten(content, file, added), "It").book == added
        without = without_entry(added, file.book.entries[0].uid)
        assert read_lore_file(rewritten(content, file, without), "It").book == without


def test_a_full_book_takes_no_entry() -> None:
    book = Lorebook(entries=tuple(LoreEntry(uid=str(at)) for at in range(MOST_ENTRIES)))
    with pytest.raises(FileRefusedError, match="at most 50,000 entries"):
        with_entry(book, LoreEntry(uid="x"))


def test_edits_of_two_windows_come_together_entry_by_entry() -> None:
    begun = Lorebook(name="Sea", entries=(entry("1", "a"), entry("2", "b"), entry("3", "c")))
    here = without_entry(with_entry(begun, entry("1", "mine")), "3")
    here = replace(with_entry(here, entry("4", "new here")), token_budget=9)
    there = with_entry(with_entry(begun, entry("2", "theirs")), entry("4", "new there"))
    both = with_changes(there, begun, here)
    assert [(one.uid, one.keys) for one in both.entries] == [
        ("1", ("mine",)),
        ("2", ("theirs",)),
        ("4", ("new there",)),
        ("5", ("new here",)),
    ]
    assert both.token_budget == 9
    assert find_entry(both, "3") is None


def test_an_entry_that_was_added_here_is_not_stored_in_the_place_of_one_that_was_added_elsewhere() -> None:
    begun = read({"entries": {"0": {"uid": 0, "key": ["a"]}}})
    there = read({"entries": {"0": {"uid": 0, "key": ["a"]}, "1": {"uid": 77, "key": ["theirs"]}}})
    both = with_changes(there, begun, with_entry(begun, entry(free_uid(begun), "mine")))
    stored = write_lorebook(both, LoreFormat.WORLD_INFO)
    assert [one.keys for one in read(stored.value).entries] == [("a",), ("theirs",), ("mine",)]


def test_no_key_of_an_entry_is_lost_by_an_edit_however_many_there_are() -> None:
    keys = [f"key {number}" for number in range(1_500)]
    book = read({"entries": {"0": {"uid": 0, "key": keys}}})
    more = replace(book.entries[0], keys=(*book.entries[0].keys, "new"))
    stored = write_lorebook(with_entry(book, more), LoreFormat.WORLD_INFO)
    assert stored.get("entries", "0", "key") == [*keys, "new"]


def test_an_entry_that_was_changed_elsewhere_is_not_deleted_from_here() -> None:
    begun = Lorebook(entries=(entry("1", "a"), entry("2", "b")))
    there = with_entry(begun, entry("2", "theirs"))
    here = without_entry(without_entry(begun, "1"), "2")
    assert with_changes(there, begun, here).entries == (entry("2", "theirs"),)


def test_an_edit_is_not_put_into_an_entry_that_has_become_another() -> None:
    begun = Lorebook(entries=(entry("0", "a"), entry("1", "b")))
    there = Lorebook(entries=(entry("0", "b", content="text-of-1"),))
    here = with_entry(begun, entry("0", "a", "more"))
    assert [one.keys for one in with_changes(there, begun, here).entries] == [("b",), ("a", "more")]
