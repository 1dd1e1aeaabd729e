"""A card that is read and written is what it was: text, picture and files; an edit changes one place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.cards.card import CardVersion
from core.library.cards.card_file import CardFormat, read_card
from core.library.cards.charx import read_charx
from core.library.cards.png import plain_picture, texts
from core.library.cards.writing import in_version, new_file, write_card
from tests.core.library.cards.card_samples import (
    CARD_TEXTS,
    V1,
    V2,
    V3,
    archive,
    image_data,
    packed,
    picture,
    t_ext,
    text_of,
)


def is_within(part: Any, whole: Any) -> bool:
    """Whether everything of a parsed text is in another one, at the same places."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and is_within(value, whole[key]) for key, value in part.items()
        )
    return bool(part == whole)


@given(CARD_TEXTS)
def test_a_card_is_written_as_json_byte_for_byte(text: bytes) -> None:
    file = read_card(text, "card.json")
    assert write_card(file, file.card, CardFormat.JSON).content == text


@given(CARD_TEXTS)
def test_a_card_goes_through_a_picture_and_keeps_every_value(text: bytes) -> None:
    file = read_card(text, "card.json")
    first = write_card(file, file.card, CardFormat.PNG).content
    again = read_card(first, "card.png")
    value, before = again.card.document.value, json.loads(text)
    kept = {key: one for key, one in before.items() if key not in ("spec", "spec_version")}
    if file.card.version is not CardVersion.V1:
        assert is_within(kept, value)
        original = again.card.document if file.card.version is CardVersion.V3 else again.card.twin
        assert original is not None
        assert original.text.encode() == text
    else:
        assert is_within(kept, value)
        assert is_within({key: one for key, one in before.items() if key in V1}, value["data"])
    assert write_card(again, again.card, CardFormat.PNG).content == first


@given(CARD_TEXTS, st.binary(max_size=40))
def test_a_card_goes_through_an_archive_with_its_files(text: bytes, asset: bytes) -> None:
    content = archive(text, {"assets/other/x.bin": asset, "module.risum": b"\0" + asset})
    file = read_card(content, "card.charx")
    again = read_charx(write_card(file, file.card, CardFormat.CHARX).content, "")
    assert [(one.path, one.content) for one in again.members[1:]] == [
        ("assets/other/x.bin", asset),
        ("module.risum", b"\0" + asset),
    ]
    if file.card.version is CardVersion.V3:
        assert again.members[0].content == text
    assert write_card(file, file.card, CardFormat.JSON).content == text


@pytest.mark.parametrize("card", [V1, V2, V3], ids=["V1", "V2", "V3"])
@pytest.mark.parametrize("version", [CardVersion.V2, CardVersion.V3])
def test_a_change_of_version_loses_no_value(card: dict[str, Any], version: CardVersion) -> None:
    file = read_card(text_of(card), "")
    written = json.loads(write_card(file, file.card, CardFormat.JSON, version).content)
    assert written["spec"] == f"chara_card_v{version}"
    data = card.get("data", card)
    assert is_within(data, written["data"])
    assert version is CardVersion.V2 or isinstance(written["data"]["group_only_greetings"], list)


@given(st.sampled_from([V1, V2, V3]), st.sampled_from(sorted(V1)), st.text(min_size=1, max_size=30))
def test_an_edit_changes_its_field_and_nothing_else(card: dict[str, Any], field: str, new: str) -> None:
    file = read_card(text_of(card), "")
    edited = file.card.with_field(field, new)
    before, after = json.loads(file.card.document.text), json.loads(edited.document.text)
    (before.get("data") or before)[field] = new
    assert after == before
    assert list(after) == list(before)


def test_an_edit_reaches_every_copy_of_the_field() -> None:
    mirrored = {**V2, "name": "Kara", "creatorcomment": "For the sea."}
    file = read_card(picture(t_ext("chara", packed(mirrored)), t_ext("ccv3", packed(V3))), "")
    edited = file.card.with_field("name", "Mara").with_field("creator_notes", "New.")
    assert edited.document.get("data", "name") == "Mara"
    assert edited.twin is not None
    twin = edited.twin
    assert (twin.get("name"), twin.get("data", "name")) == ("Mara", "Mara")
    assert (twin.get("creatorcomment"), twin.get("data", "creator_notes")) == ("New.", "New.")


def test_numbers_escapes_and_white_space_of_others_survive_an_edit() -> None:
    text = (
        '{ "spec":"chara_card_v2", "n":1.50e+1,\n"u":"\\u00e9\\ud800", '
        '"data":{"name" : "A","first_mes":"", "z":[1.0 , 2]} }'
    )
    file = read_card(text.encode(), "")
    edited = file.card.with_field("name", "B")
    assert edited.document.text == text.replace('"A"', '"B"')


def test_a_picture_keeps_all_but_its_texts_byte_for_byte() -> None:
    before = picture(t_ext("Title", b"Mine"), t_ext("Chara", packed(V2)), end=b"behind the end")
    file = read_card(before, "")
    after = write_card(file, file.card.with_field("name", "Mara"), CardFormat.PNG).content
    assert image_data(after) == image_data(before)
    assert after.endswith(b"behind the end")
    assert [one.keyword for one in texts(after)] == ["Title", "chara", "ccv3"]
    assert texts(after)[0].text == b"Mine"


def test_a_card_under_another_keyword_is_replaced_not_doubled() -> None:
    file = read_card(picture(t_ext("chara_card_v3", packed(V3))), "")
    after = write_card(file, file.card, CardFormat.PNG).content
    assert [one.keyword for one in texts(after)] == ["chara", "ccv3"]


def test_a_card_without_a_picture_gets_a_plain_one_in_the_given_colour() -> None:
    file = new_file(read_card(text_of(V2), "").card)
    written = write_card(file, file.card, CardFormat.PNG, colour=(1, 2, 3)).content
    assert image_data(written) == image_data(plain_picture((1, 2, 3)))


def test_an_archive_behind_a_jpeg_keeps_the_jpeg() -> None:
    front = b"\xff\xd8\xff\xe0" + b"jpeg" * 1_000 + b"\xff\xd9"
    file = read_card(archive(V3, {"a.bin": b"1"}, front), "card.jpeg")
    written = write_card(file, file.card, CardFormat.CHARX).content
    assert written.startswith(front)
    assert read_card(written, "").card == file.card
    assert file.picture == front


def test_a_picture_that_goes_into_an_archive_is_found_there() -> None:
    before = picture(t_ext("ccv3", packed(V3)))
    file = read_card(before, "")
    again = read_card(write_card(file, file.card, CardFormat.CHARX).content, "")
    assert again.picture is not None
    assert image_data(again.picture) == image_data(before)
    assert texts(again.picture) == []


def test_version_2_gets_lore_without_decorators_and_version_3_with_them() -> None:
    card = json.loads(text_of(V3))
    card["data"]["character_book"]["entries"][0]["content"] = "@@depth 3\n\nIt is old."
    file = read_card(text_of(card), "")
    older = in_version(file.card, CardVersion.V2).value["data"]["character_book"]["entries"][0]
    assert older["content"] == "It is old."
    assert in_version(file.card, CardVersion.V3).text.encode() == text_of(card)


@pytest.mark.parametrize(
    "assets",
    [
        [],
        [{"type": "background", "uri": "ccdefault:", "name": "main", "ext": "png"}],
        [{"type": "icon", "uri": "__asset:0", "name": "main", "ext": "png"}, None],
    ],
)
def test_a_picture_is_found_in_an_archive_whatever_else_its_card_names(assets: list[Any]) -> None:
    before = picture(t_ext("ccv3", packed({**V3, "data": {**V3["data"], "assets": assets}})))
    file = read_card(before, "")
    again = read_card(write_card(file, file.card, CardFormat.CHARX).content, "")
    assert again.picture is not None
    assert image_data(again.picture) == image_data(before)
    assert again.card.document.get("data", "assets")[: len(assets)] == assets


def test_a_card_names_its_picture_once_however_often_it_goes_into_an_archive_and_out() -> None:
    first = read_card(picture(t_ext("ccv3", packed(V3))), "")
    named = []
    for _ in range(2):
        archived = read_card(write_card(first, first.card, CardFormat.CHARX).content, "")
        named.append(archived.card.document.get("data", "assets"))
        first = read_card(write_card(archived, archived.card, CardFormat.PNG).content, "")
    assert named[0] == named[1]
