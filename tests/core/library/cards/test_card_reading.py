"""Cards of every version, container and quirk are read; what is in a file decides, never its name."""

import base64
import json
from typing import Any

import pytest

from core.library.cards.card import CardVersion
from core.library.cards.card_file import CardFormat, read_card
from core.library.cards.png import written
from core.library.cards.writing import write_card
from core.library.refusal import FileRefusedError
from tests.core.library.cards.card_samples import (
    V1,
    V2,
    V3,
    archive,
    i_txt,
    packed,
    picture,
    t_ext,
    text_of,
    z_txt,
)


def named(name: str, card: dict[str, Any] = V2) -> dict[str, Any]:
    """The card under another name."""
    return {**card, "data": {**card["data"], "name": name}}


@pytest.mark.parametrize(
    ("card", "version"),
    [(V1, CardVersion.V1), (V2, CardVersion.V2), (V3, CardVersion.V3)],
    ids=["1", "2", "3"],
)
def test_each_version_is_read_with_its_fields(card: dict[str, Any], version: CardVersion) -> None:
    read = read_card(text_of(card), "card.txt").card
    assert read.version is version
    assert {field: read.text(field) for field in V1} == V1


def test_the_fields_of_version_2_are_read() -> None:
    card = read_card(text_of(V2), "").card
    assert card.text("system_prompt") == "{{original}} Be brief."
    assert card.text("post_history_instructions") == "Stay dry."
    assert card.texts("alternate_greetings") == ("Come in.", "Go away.")
    assert card.texts("tags") == ("sea", "night")
    assert card.depth_prompt == "Rain."
    assert card.book_path == ("data", "character_book")


def test_a_nickname_goes_before_the_name_and_an_empty_one_is_none() -> None:
    assert read_card(text_of(V3), "").card.called == "K"
    data = {**V3["data"], "nickname": ""}
    assert read_card(text_of({**V3, "data": data}), "").card.called == "Kara"


@pytest.mark.parametrize(
    "chunk",
    [
        t_ext("chara", packed(V2)),
        t_ext("Chara", packed(V2)),
        t_ext("CCV3", packed(V2)),
        t_ext("chara_card_v3", packed(V2)),
        t_ext("something else", packed(V2)),
        t_ext("chara", text_of(V2)),
        t_ext("other", text_of(V2)),
        z_txt("chara", packed(V2)),
        i_txt("chara", packed(V2), is_packed=False),
        i_txt("chara", packed(V2), is_packed=True),
        t_ext("chara", packed(V2).rstrip(b"=")),
        t_ext("chara", b"\n".join(packed(V2)[at : at + 76] for at in range(0, len(packed(V2)), 76))),
        t_ext("chara", base64.urlsafe_b64encode(text_of(V2))),
        t_ext("chara", packed(b"\xef\xbb\xbf" + text_of(V2))),
        t_ext("chara", packed(text_of(V2) + b"\0\0")),
        t_ext("chara", packed(json.dumps(V2).encode("utf-16"))),
    ],
    ids=lambda chunk: chunk[4:24],
)
def test_every_kind_of_chunk_and_encoding_is_read(chunk: bytes) -> None:
    file = read_card(picture(t_ext("Title", b"a picture"), chunk), "card.png")
    assert (file.format, file.card.name, file.notes) == (CardFormat.PNG, "Kara", ())


@pytest.mark.parametrize("keywords", [("chara", "ccv3"), ("ccv3", "chara"), ("chara", "CCv3")])
def test_of_two_copies_the_one_of_version_3_is_taken_and_a_difference_told(keywords: tuple[str, str]) -> None:
    cards = {"chara": named("Old"), "ccv3": named("New", V3)}
    chunks = [t_ext(keyword, packed(cards[keyword.lower()])) for keyword in keywords]
    file = read_card(picture(*chunks), "")
    assert (file.card.name, file.card.version) == ("New", CardVersion.V3)
    assert [note for note in file.notes if "two copies that differ" in note]


def test_two_copies_that_agree_are_both_kept_and_nothing_is_told() -> None:
    file = read_card(picture(t_ext("chara", packed(V2)), t_ext("ccv3", packed(V3))), "")
    assert file.notes == ()
    assert file.card.twin is not None
    assert file.card.twin.text.encode() == text_of(V2)


def test_a_copy_that_cannot_be_read_gives_its_place_to_the_other_one() -> None:
    file = read_card(picture(t_ext("ccv3", b"!!!"), t_ext("chara", packed(V2))), "")
    assert file.card.name == "Kara"
    assert [note for note in file.notes if "cannot be read" in note]


def test_version_3_inside_the_chunk_of_version_2_is_version_3() -> None:
    assert read_card(picture(t_ext("chara", packed(V3))), "").card.version is CardVersion.V3


def test_texts_of_other_programs_are_passed_over() -> None:
    others = [
        t_ext("parameters", b"a lamp, 4k"),
        t_ext("workflow", b'{"nodes": []}'),
        t_ext("x", b"eyJhIjoxfQ=="),
    ]
    assert read_card(picture(*others, t_ext("chara", packed(V2))), "").card.name == "Kara"


def test_a_text_before_the_picture_data_is_found_and_so_is_one_in_a_file_that_was_cut_off() -> None:
    whole = picture()
    early = whole[:33] + t_ext("chara", packed(V2)) + whole[33:]
    assert read_card(early, "").card.name == "Kara"
    assert read_card(early[:-20], "").card.name == "Kara"


def test_a_wrong_check_sum_is_told() -> None:
    broken = bytearray(t_ext("chara", packed(V2)))
    broken[-1] ^= 1
    assert (
        "A check sum in the picture is wrong; its text was read all the same."
        in read_card(picture(bytes(broken)), "").notes
    )


@pytest.mark.parametrize(
    ("card", "field", "expected"),
    [
        ({"char_name": "A", "char_persona": "dry"}, "personality", "dry"),
        ({"char_name": "A", "world_scenario": "sea"}, "scenario", "sea"),
        ({"char_name": "A", "char_greeting": "Hi"}, "first_mes", "Hi"),
        ({"char_name": "A", "example_dialogue": "x"}, "mes_example", "x"),
        ({"char_name": "A"}, "name", "A"),
        ({**V1, "creatorcomment": "note"}, "creator_notes", "note"),
    ],
)
def test_other_names_of_the_first_fields_are_read(card: dict[str, Any], field: str, expected: str) -> None:
    assert read_card(text_of(card), "").card.text(field) == expected


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"alternate_greetings": "Only one."}, "alternate_greetings", ("Only one.",)),
        ({"alternate_greetings": None}, "alternate_greetings", ()),
        ({"alternate_greetings": ["", "  ", "x", 7, None]}, "alternate_greetings", ("x", "7")),
        ({"tags": {"a": 1}}, "tags", ()),
    ],
)
def test_lists_of_other_kinds_are_read(
    changes: dict[str, Any], field: str, expected: tuple[str, ...]
) -> None:
    card = {**V2, "data": {**V2["data"], **changes}}
    assert read_card(text_of(card), "").card.texts(field) == expected


def test_a_book_that_is_null_is_none_and_one_at_the_wrong_level_is_found() -> None:
    book = V2["data"]["character_book"]
    without = {**V2, "data": {**V2["data"], "character_book": None}}
    assert read_card(text_of(without), "").card.book_path is None
    file = read_card(text_of({**without, "character_book": book}), "")
    assert file.card.book_path == ("character_book",)
    assert file.notes == ("The lorebook of the card is not where it should be; it was read all the same.",)


@pytest.mark.parametrize(
    "card",
    [
        {"name": "Kara", "personality": "dry"},
        {"name": "Kara", "first_mes": ""},
        {"char_name": "Kara"},
        {"data": {"name": "Kara", "scenario": ""}},
        {"spec": "chara_card_v2", "name": "Kara"},
        {"spec": "chara_card_v2", "data": {}, "name": "Kara"},
        {"spec": "chara_card_v3", "spec_version": 3.0, "data": {"name": "Kara"}},
    ],
    ids=str,
)
def test_cards_that_lack_fields_are_read_and_written(card: dict[str, Any]) -> None:
    file = read_card(text_of(card), "")
    assert file.card.name == "Kara"
    for format_ in CardFormat:
        assert read_card(write_card(file, file.card, format_).content, "").card.name == "Kara"


@pytest.mark.parametrize(
    "value", [{"name": "package", "description": "a program"}, {"data": 5}, {"spec": "other"}]
)
def test_what_only_has_a_name_is_no_card(value: dict[str, Any]) -> None:
    with pytest.raises(FileRefusedError, match=r"holds no character card\.$"):
        read_card(text_of(value), "It")


def test_without_a_spec_the_fields_decide_and_data_goes_before_the_root() -> None:
    card = {"data": {**V1, "name": "Inner"}, "name": "Outer"}
    read = read_card(text_of(card), "").card
    assert (read.version, read.name) == (CardVersion.V3, "Inner")


def test_a_newer_version_is_read_and_told() -> None:
    file = read_card(text_of({**V3, "spec": "chara_card_v4", "spec_version": "4.0"}), "")
    assert file.card.name == "Kara"
    assert file.notes == ("The card is of a newer version than 3.0; its new fields are kept and not used.",)


@pytest.mark.parametrize("front", [b"", b"\xff\xd8\xff\xe0" + b"x" * 5_000])
def test_an_archive_is_read_by_itself_and_behind_a_jpeg(front: bytes) -> None:
    icon = picture()
    card = named("Kara", V3)
    card["data"]["assets"] = [
        {"type": "icon", "uri": "embeded://assets/icon/image/2.png", "name": "other", "ext": "png"},
        {"type": "icon", "uri": "embeded://assets/icon/image/1.png", "name": "main", "ext": "png"},
    ]
    content = archive(card, {"assets/icon/image/1.png": icon, "assets/icon/image/2.png": b"2"}, front)
    file = read_card(content, "card.jpeg")
    assert (file.format, file.card.name, file.picture) == (CardFormat.CHARX, "Kara", icon)


@pytest.mark.parametrize("says_utf_8", [True, False])
def test_files_of_an_archive_may_have_names_in_any_script(says_utf_8: bool) -> None:
    icon, path = picture(), "assets/icon/image/카라.png"
    card = named("Kara", V3)
    card["data"]["assets"] = [{"type": "icon", "uri": f"embeded://{path}", "name": "main", "ext": "png"}]
    content = archive(card, {path: icon})
    if not says_utf_8:
        for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = content.rfind(mark) + place
            content = content[: at + 1] + bytes([content[at + 1] & ~0x08]) + content[at + 2 :]
    file = read_card(content, "card.charx")
    assert (file.card.name, file.picture) == ("Kara", icon)
    again = read_card(write_card(file, file.card, CardFormat.CHARX).content, "")
    assert again.picture == icon


def test_dates_that_are_none_in_an_archive_are_read_and_kept() -> None:
    content = bytearray(archive(V3))
    for mark, place in ((b"PK\x03\x04", 12), (b"PK\x01\x02", 14)):
        at = content.find(mark) + place
        content[at - 2 : at + 2] = b"\0\0\0\0"
    assert read_card(bytes(content), "").card.name == "Kara"


def test_text_of_a_card_is_shown_without_control_characters() -> None:
    card = named("Ka\x1b[31mra\x07", V2)
    assert read_card(text_of(card), "").card.name == "Kara"


def test_a_text_that_is_not_utf_8_is_read_as_it_was_meant() -> None:
    assert read_card(json.dumps(named("Zoë"), ensure_ascii=False).encode("cp1252"), "").card.name == "Zoë"


def test_an_empty_picture_chunk_changes_nothing() -> None:
    odd = [
        written(b"tEXt", b""),
        written(b"tEXt", b"no separator"),
        written(b"zTXt", b"k\0\x05x"),
        written(b"iTXt", b"k\0"),
    ]
    assert read_card(picture(*odd, t_ext("chara", packed(V2))), "").card.name == "Kara"
