"""What is dropped or pasted: the paths that terminals write, and what a file is by what is in it."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.domain.session.profile import Profile
from core.domain.slot import Slot
from core.exchange.arrivals import (
    LONGEST_PATHS,
    MOST_PATHS,
    Arrival,
    ArrivalKind,
    arrival_of,
    droppable_file,
    dropped_paths,
)
from core.exchange.session_export import SessionBody, from_json, to_json
from core.library.json_document import decoded
from core.library.refusal import FileRefusedError
from tests.core.library.cards.card_samples import V1, V2, V3, packed, picture, t_ext, text_of

VERSIONS = Path(__file__).resolve().parents[2] / "corpus" / "versions"
NOW = datetime(2026, 11, 25, tzinfo=UTC)
WORLD = {"name": "Harbour", "entries": {"0": {"uid": 0, "key": ["lamp"], "content": "By the sea."}}}
CHAT = [
    {"user_name": "GM", "character_name": "Kara"},
    {"name": "GM", "is_user": True, "mes": "Who is there?"},
    {"name": "Kara", "mes": "I am."},
]


def arrived(content: bytes, name: str = "a.json", *, prefers_lore: bool = False) -> Arrival:
    return arrival_of(content, name, NOW, prefers_lore=prefers_lore)


@pytest.mark.parametrize(
    "written",
    [
        "{}",
        "'{}'",
        '"{}"',
        "{} ",
        "'{}'\n",
        "file://{}",
    ],
)
def test_a_dropped_file_is_known_by_the_way_in_which_terminals_write_its_path(
    written: str, tmp_path: Path
) -> None:
    file = tmp_path / "kara.png"
    file.touch()
    assert dropped_paths(written.format(file)) == (file,)


def test_a_path_with_spaces_is_known_quoted_escaped_as_an_address_and_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "Kara of Rime.png"
    file.touch()
    path = str(file)
    for written in (path, f"'{path}'", path.replace(" ", "\\ "), file.as_uri()):
        assert dropped_paths(written) == (file,), written


def test_several_dropped_files_are_several_paths() -> None:
    assert dropped_paths("'/a/Kara K.png' /a/joss.json\n/a/ines.charx") == (
        Path("/a/Kara K.png"),
        Path("/a/joss.json"),
        Path("/a/ines.charx"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is late, and /usr/bin is far away.",
        "/narrate It snows on the quay.",
        "'an open quote",
        "kara.png",
        "../kara.png",
        "~nobody/kara.png",
        "file://",
        "/" + "a" * LONGEST_PATHS,
        " ".join(f"/{number}" for number in range(MOST_PATHS + 1)),
        "/a\x00b",
        "{}",
    ],
)
def test_any_other_text_is_no_path(text: str) -> None:
    assert dropped_paths(text) == ()


def test_a_path_that_no_file_can_have_is_no_file_to_import(tmp_path: Path) -> None:
    there = tmp_path / "a.json"
    there.touch()
    assert droppable_file(f"{there} {there}") == "a.json"
    assert droppable_file(f"{there} {tmp_path / ('b' * 300)}.json") == ""


@pytest.mark.parametrize("card", [V1, V2, V3], ids=["v1", "v2", "v3"])
def test_a_card_says_what_it_is_and_where_its_texts_go(card: object) -> None:
    found = arrived(text_of(card))
    assert (found.kind, found.name) == (ArrivalKind.CHARACTER, "Kara")
    assert found.lines[0].startswith("A character card of version ")
    assert "Description and Personality → the identity." in found.lines


def test_a_picture_and_a_text_in_base64_are_cards_whatever_their_names() -> None:
    made = picture(t_ext("chara", packed(V2)))
    assert arrived(made, "a.json").lines[0] == "A character card of version 2, PNG."
    assert arrived(packed(V2), "a.txt").kind is ArrivalKind.CHARACTER


def test_a_lorebook_and_a_chat_are_told_apart_from_cards() -> None:
    book = arrived(json.dumps(WORLD).encode())
    assert (book.kind, book.name, book.lines) == (
        ArrivalKind.LOREBOOK,
        "Harbour",
        ("A lorebook with 1 entry.",),
    )
    chat = arrived("\n".join(map(json.dumps, CHAT)).encode(), "Late [x].jsonl")
    assert (chat.kind, chat.name) == (ArrivalKind.CHAT, "Late [x]")
    assert isinstance(chat.found, SessionBody)
    assert chat.lines[1].startswith("1 prompt")


@pytest.mark.parametrize("prefers_lore", [False, True])
def test_an_exported_chapter_is_known_whatever_list_it_is_dropped_on(prefers_lore: bool) -> None:
    found = arrived((VERSIONS / "export-5-book.json").read_bytes(), prefers_lore=prefers_lore)
    assert found.kind is ArrivalKind.CHAPTER
    assert isinstance(found.found, SessionBody)
    assert found.lines[0].startswith("An exported chapter with ")
    assert "It becomes the last one of the book “" in found.lines[1]
    assert not found.claims


def test_the_models_that_a_chapter_brings_are_named() -> None:
    body = from_json((VERSIONS / "export-8-bank.json").read_bytes())
    profiles = {Slot.RED: Profile(model="openrouter:[/x]")}
    body = replace(body, tab1=replace(body.tab1, profiles=profiles))
    assert arrived(to_json(body)).claims == "Its characters bring models: openrouter:[/x]."


def test_a_chapter_that_was_cut_off_or_changed_is_refused_by_its_name() -> None:
    whole = (VERSIONS / "export-8-bank.json").read_bytes()
    for broken, said in (
        (whole[:-100], "it is not JSON"),
        (whole.replace(b"A sea of glass.", b"A sea of grass."), "does not match its checksum"),
        (whole.replace(b'"version": 8', b'"version": 99'), "its version is 99"),
    ):
        assert broken != whole
        with pytest.raises(FileRefusedError, match=r"^a\.json: ") as refused:
            arrived(broken)
        assert said in refused.value.message


@pytest.mark.parametrize(
    ("content", "prefers_lore"),
    [(text_of(V2), False), (text_of(V2), True), (json.dumps(WORLD).encode(), False)],
    ids=["card", "lorebook of a card", "lorebook"],
)
def test_a_file_of_json_is_parsed_once(
    content: bytes, prefers_lore: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def decoded_once(text: bytes, what: str) -> str:
        parsed.append(what)
        return decoded(text, what)

    monkeypatch.setattr("core.library.json_document.decoded", decoded_once)
    arrived(content, prefers_lore=prefers_lore)
    assert len(parsed) == 1


def test_of_a_card_with_a_lorebook_the_list_of_lorebooks_gets_the_lorebook() -> None:
    assert arrived(text_of(V2), prefers_lore=True).kind is ArrivalKind.LOREBOOK
    with pytest.raises(FileRefusedError, match="a card without a lorebook"):
        arrived(text_of(V1), prefers_lore=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{}", "a.json holds no card, lorebook or chapter."),
        (b"[1, 2]", "a.json holds no card, lorebook or chapter."),
        (b'{"name": ', "a.json is not valid JSON: line 1 cannot be read."),
        (b"", "a.json is empty."),
        (b"Once upon a time", "a.json holds no character card."),
        (b"\xff\xd8\xff", "a.json is a picture without a card."),
        (b"[" * 100_000, "a.json"),
    ],
    ids=["object", "list", "cut off", "empty", "words", "picture", "nesting"],
)
def test_what_is_nothing_of_these_is_refused_in_one_sentence(content: bytes, said: str) -> None:
    with pytest.raises(FileRefusedError, match=r"^[^\n]+\.$") as refused:
        arrived(content)
    assert refused.value.message.startswith(said)


def test_a_dropped_file_of_a_folder_that_cannot_be_looked_into_is_no_file_to_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)
    assert droppable_file("'/closed/kara.json'") == ""
