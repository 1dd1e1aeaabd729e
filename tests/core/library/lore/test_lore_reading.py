"""Lorebooks of every format are read, with the oddities of real files; the rest is refused."""

from typing import Any

import pytest

from core.library.card_lore import read_lore_file
from core.library.lore.book import Logic, LoreEntry, Position, Role
from core.library.refusal import FileRefusedError
from tests.core.library.cards.card_samples import (
    V2,
    V3,
    archive,
    packed,
    picture,
    t_ext,
    text_of,
)
from tests.core.library.lore.lore_samples import WORLD, read


def test_world_info_is_read_with_its_defaults_and_oddities() -> None:
    book = read(WORLD)
    first, second = book.entries
    assert (first.uid, first.name, first.keys, first.secondary) == ("0", "L", ("lamp",), ("oil",))
    assert (first.order, first.depth, first.probability, first.is_selective) == (100, 4, 100.0, True)
    assert (second.keys, second.is_enabled, second.position) == (("ship", "boat"), False, Position.AT_DEPTH)
    assert second.delay_until_recursion == 1


def test_a_book_of_a_card_is_read_by_the_rules_of_version_2() -> None:
    book = read(
        {
            "entries": [
                {
                    "keys": ["a"],
                    "content": "",
                    "enabled": True,
                    "insertion_order": 3,
                    "position": "before_char",
                },
                {"keys": ["b"], "content": "", "enabled": False, "secondary_keys": ["x"], "selective": True},
                {"keys": ["c"], "extensions": {"position": 4, "depth": 2, "role": 1, "selectiveLogic": 3}},
            ]
        }
    )
    first, second, third = book.entries
    assert (first.order, first.position, first.is_selective) == (3, Position.BEFORE_CHARACTER, False)
    assert (second.is_enabled, second.is_selective, second.position) == (
        False,
        True,
        Position.AFTER_CHARACTER,
    )
    assert (third.position, third.depth, third.role, third.logic) == (
        Position.AT_DEPTH,
        2,
        Role.USER,
        Logic.AND_ALL,
    )
    assert [one.uid for one in book.entries] == ["0", "1", "2"]


def test_the_switch_for_expressions_counts_but_not_where_sillytavern_wrote_it() -> None:
    own = {"keys": ["l.mp"], "use_regex": True, "extensions": {}}
    theirs = {"keys": ["l.mp"], "use_regex": True, "extensions": {"display_index": 0}}
    assert [one.uses_regex for one in read({"entries": [own, theirs]}).entries] == [True, False]


def test_two_entries_of_one_number_are_told_apart() -> None:
    uids = [
        one.uid for one in read({"entries": [{"keys": ["a"], "id": 1}, {"keys": ["b"], "id": 1}]}).entries
    ]
    assert uids == ["1", "1#1"]


def test_novel_ai_is_read() -> None:
    book = read(
        {
            "lorebookVersion": 5,
            "entries": [
                {
                    "text": "Old.",
                    "displayName": "Lamp",
                    "keys": ["lamp", "/l.mp/i"],
                    "enabled": False,
                    "contextConfig": {"budgetPriority": 400},
                }
            ],
        }
    )
    assert book.entries == (
        LoreEntry(
            uid="0",
            name="Lamp",
            keys=("lamp", "/l.mp/i"),
            content="Old.",
            is_enabled=False,
            is_selective=False,
            order=400,
        ),
    )


def test_agnai_is_read_with_its_signs_for_letters() -> None:
    book = read(
        {
            "kind": "memory",
            "name": "Sea",
            "entries": [
                {
                    "name": "L",
                    "entry": "Old.",
                    "keywords": ["lamp", "la*", "l?mp", "old lamp", "राजा!"],
                    "weight": 7,
                    "priority": 3,
                    "enabled": True,
                }
            ],
        }
    )
    [one] = book.entries
    assert one.keys == ("lamp", r"/\bla\w*\b/i", r"/\bl\wmp\b/i", r"/\bold\ lamp\b/i", "राजा")
    assert (one.order, one.priority, one.whole_words, book.name) == (7, 3, True, "Sea")


def test_risu_is_read_with_folders_and_children() -> None:
    book = read(
        {
            "type": "risu",
            "ver": 1,
            "data": [
                {"key": "\uf000folder:1", "mode": "folder", "comment": "F", "content": ""},
                {
                    "key": "lamp, light",
                    "secondkey": "oil",
                    "comment": "L",
                    "content": "Old.",
                    "id": "a",
                    "alwaysActive": False,
                    "selective": True,
                    "insertorder": 9,
                    "activationPercent": 40,
                },
                {"key": "wick", "mode": "child", "content": "a", "insertorder": 2},
                {"key": "x.y", "useRegex": True, "content": "z", "alwaysActive": True},
            ],
        }
    )
    first, child, regex = book.entries
    assert (first.keys, first.secondary, first.probability, first.order) == (
        ("lamp", "light"),
        ("oil",),
        40.0,
        9,
    )
    assert (child.content, child.order) == ("Old.", 2)
    assert (regex.uses_regex, regex.is_constant, book.is_recursive) == (True, True, True)


@pytest.mark.parametrize(
    "content",
    [
        text_of(V2),
        picture(t_ext("chara", packed(V2))),
        archive(V3),
        text_of(V2["data"]["character_book"]),
        text_of({"spec": "lorebook_v3", "data": V2["data"]["character_book"]}),
    ],
    ids=["card", "picture", "archive", "book", "lorebook_v3"],
)
def test_a_book_is_found_in_every_kind_of_file(content: bytes) -> None:
    assert read_lore_file(content, "x").book.entries[0].keys == ("lamp",)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b'{"entries": 5}',
        b"a letter",
        text_of({**V2, "data": {**V2["data"], "character_book": None}}),
    ],
)
def test_a_file_without_a_book_is_refused_in_one_sentence(content: bytes) -> None:
    with pytest.raises(FileRefusedError) as refused:
        read_lore_file(content, "the\x1b[31m file")
    assert refused.value.message.startswith("the file ")
    assert refused.value.message.endswith(".")


@pytest.mark.parametrize(
    ("entry", "count", "sentence"),
    [
        (b'{"keys":[]}', 50_001, "more than 50,000 entries"),
        (b'{"keys":["a"' + b',"b"' * 999 + b"]}", 201, "more than 200,000 keys"),
        (b'{"keys":["/a/"]}', 20_001, "more than 20,000 expressions"),
        (b'{"use_regex":true,"keys":["a"' + b',"b"' * 999 + b"]}", 21, "more than 20,000 expressions"),
    ],
)
def test_too_much_is_refused(entry: bytes, count: int, sentence: str) -> None:
    with pytest.raises(FileRefusedError, match=sentence):
        read_lore_file(b'{"entries":[' + b",".join([entry] * count) + b"]}", "x")


@pytest.mark.parametrize("value", [None, True, "x", -5, 1e308, 10**30, [], {}, "1e999", [None, {"a": 1}]])
def test_no_value_of_a_wrong_kind_breaks_a_reader(value: Any) -> None:
    world = (
        *("key", "keysecondary", "comment", "content", "constant", "order", "position", "depth", "role"),
        *("group", "probability", "scanDepth", "sticky", "characterFilter", "triggers", "selectiveLogic"),
        *("uid", "disable", "delayUntilRecursion"),
    )
    card = (
        "keys",
        "secondary_keys",
        "enabled",
        "insertion_order",
        "extensions",
        "id",
        "priority",
        "use_regex",
    )
    book = dict.fromkeys(("scan_depth", "token_budget", "name", "description", "recursive_scanning"), value)
    risu = dict.fromkeys(("key", "insertorder", "mode", "id", "content", "activationPercent"), value)
    read({"entries": {"0": dict.fromkeys(world, value)}})
    read({"entries": [dict.fromkeys(card, value)], **book})
    read({"lorebookVersion": 5, "entries": [{"keys": value, "contextConfig": value, "text": value}]})
    read({"entries": [{"keywords": value, "weight": value, "entry": value, "priority": value}]})
    read({"type": "risu", "data": [risu]})
