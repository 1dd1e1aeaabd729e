"""`storyengine bank`: lists items, for one character too, and changes them as the screen does."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from core.config.files.paths import Paths
from core.domain.ids import ItemId
from core.engine.engine import Engine
from storyengine_tui.cli.commands.chapter import bank, sessions
from storyengine_tui.cli.exit_codes import ExitCode
from tests.tui.chapters.banked_chapter import ITEMS, SCRIPT, keep, make_banked
from tests.tui.engine_app import Desktop, make_active

Run = Callable[..., Result]


@pytest.fixture
def run(desktop: Desktop, monkeypatch: pytest.MonkeyPatch, home: Paths) -> Run:
    """Run a command on the chapters of the machine of this test."""
    desktop.script = SCRIPT

    @asynccontextmanager
    async def catalog(_: object) -> AsyncIterator[Engine]:
        async with desktop.engine() as engine:
            yield engine

    async def unlocked() -> None:
        return None

    monkeypatch.setattr(sessions, "running_catalog", catalog)
    monkeypatch.setattr(sessions, "unlocked", unlocked)

    def run(*words: str) -> Result:
        return CliRunner().invoke(bank.app, list(words))

    return run


def refusal(result: Result) -> str:
    """Return why a command was refused, on one line."""
    assert result.exit_code == ExitCode.REFUSED
    return " ".join(result.stderr.split())


def listed(run: Run, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("list", "last", "--json", *words).stdout)
    return found


def test_what_may_say_the_same_is_listed_in_groups(run: Run, desktop: Desktop) -> None:
    doubled = replace(ITEMS[4], id=ItemId(UUID(int=20)))

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), (*ITEMS, doubled))

    desktop.prepare_now(make)
    assert [one["id"][-2:] for one in listed(run, "--alike")] == ["05", "14"]
    assert listed(run, "--alike", "--kind", "person") == []


def test_a_list_of_all_says_what_does_not_count(run: Run, desktop: Desktop) -> None:
    newer = replace(
        ITEMS[4], id=ItemId(UUID(int=20)), text="It has ninety-one steps.", supersedes=ITEMS[4].id
    )

    async def make(engine: Engine) -> None:
        await keep(engine, await make_active(engine, 3), (*ITEMS, newer))

    desktop.prepare_now(make)
    assert [one["id"][-2:] for one in listed(run, "--all") if not one["counts"]] == ["05"]
    table = run("list", "last", "--all").stdout.splitlines()
    assert [line[:8] for line in table if "does not count" in line] == ["00000005"]
    assert "does not count" not in run("list", "last").stdout


def test_what_a_quote_proves_is_typed_by_names_and_ids(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    assert run("edit", "last", "0000000a", "--proves", "The stair; 00000005").exit_code == 0

    def proved() -> list[str]:
        [quote] = listed(run, "--kind", "quote")
        return [one[-1] for one in quote["details"]["data_item_ids"]]

    assert proved() == ["3", "5"]
    assert "3 items are called “Mira”" in refusal(run("edit", "last", "0000000a", "--proves", "Mira"))
    assert "Only a quote" in refusal(run("edit", "last", "00000005", "--proves", "The stair"))
    assert run("undo", "last").stdout == "Undone: “nobody crosses the bar before dawn”.\n"
    assert proved() == []


def test_a_state_is_added_to_a_part_of_the_sheet_and_moved_to_another(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    added = run("add", "last", "Mira", "Angry.", "--kind", "state", "--about", "1", "--aspect", "mood")
    item_id = added.stdout.removeprefix("Added: ").strip(" .\n")

    def part() -> str:
        return next(str(one["details"]["aspect"]) for one in listed(run) if one["text"] == "Angry.")

    assert part() == "mood"
    assert run("edit", "last", item_id, "--aspect", "relation").exit_code == 0
    assert part() == "relation"
    assert "Only a state" in refusal(run("edit", "last", "00000005", "--aspect", "mood"))
    assert "Only a state" in refusal(run("add", "last", "Inn", "Old.", "--kind", "place", "--aspect", "mood"))


def test_a_relation_is_added_toward_someone_and_turned_to_another(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    to_mira = ("--kind", "state", "--about", "1", "--aspect", "relation", "--toward", "Mira")
    added = run("add", "last", "Trust", "Trusts her.", *to_mira)
    item_id = added.stdout.removeprefix("Added: ").strip(" .\n")

    def other() -> str:
        return next(str(one["details"]["other"]) for one in listed(run) if one["text"] == "Trusts her.")

    assert other() == "Mira"
    assert run("edit", "last", item_id, "--toward", "the \x1b[31msmith").exit_code == 0
    assert other() == "the smith", "and no escape sequence is kept"
    assert run("edit", "last", item_id, "--toward", "1").exit_code == 0
    assert other() not in ("1", "")
    assert run("edit", "last", item_id, "--aspect", "other", "--toward", "").exit_code == 0
    assert not other()
    assert "Only a relation" in refusal(run("edit", "last", item_id, "--aspect", "mood", "--toward", "Mira"))
    assert "Only a relation" in refusal(run("edit", "last", "00000005", "--toward", "Mira"))


def test_how_many_items_were_undone_is_said(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    run("confirm", "last", "00000001", "00000002")
    assert run("undo", "last").stdout == "Undone: 2 items.\n"


def test_the_numbers_of_an_item_are_called_as_in_its_form(run: Run) -> None:
    said = run("edit", "--help").stdout
    assert all(f"--{name}" in said for name in ("importance", "confidence", "fading", "sentiment"))
    assert "decay" not in said


def test_the_list_as_json_says_who_learned_of_an_item_and_changed_it_last(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    run("confirm", "last", "00000001")
    run("edit", "last", "00000003", "--text", "Ninety-one steps.")
    items = {int(one["id"][-4:], 16): one for one in listed(run)}
    assert [items[number]["source_origin"] for number in (1, 3)] == ["extracted", "configured"]
    assert {"event": "episodic", "fact": "semantic"}.items() <= {
        one["details"]["kind"]: one["memory"] for one in items.values()
    }.items()
    assert not any(one["learned_by"]["is_gm"] for one in items.values())
    assert items[1]["last_changed_by"]["is_gm"]
    assert items[2]["last_changed_by"] is None


def test_items_are_listed_by_kind_and_as_one_character_knows_them(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    lines = run("list", "last").stdout.splitlines()
    assert len(lines) == 10
    assert "00000002\tperson\tnew\t1\tMira\tThe inspector\tComes with the next tide." in lines
    assert {one["details"]["kind"] for one in listed(run, "--kind", "person")} == {"person"}
    assert len(listed(run, "--as", "Mira")) == 10
    known = listed(run, "--as", "2")
    assert len(known) == 8
    assert {one["known_to"] for one in known} == {"everyone"}
    assert known[0]["evidence"][0]["words"] == "the brass key"
    assert "names no character" in refusal(run("list", "last", "--as", "Kara"))


def test_items_are_confirmed_edited_rejected_and_that_is_undone(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    assert run("confirm", "last", "00000001", "00000002").stdout == "Confirmed: 2.\n"
    assert run("pin", "last", "00000001").stdout == "Pinned: 1.\n"
    assert run("pin", "last", "00000001").stdout.startswith("Nothing was changed")
    assert run("edit", "last", "00000001", "--text", "Rows [/x]\x1b[31m no more.").exit_code == 0
    assert run("edit", "last", "00000002", "--sentiment", "-0.5").exit_code == 0
    assert "Nothing was changed" in run("edit", "last", "00000002", "--sentiment", "-0.5").stdout
    assert run("edit", "last", "00000002", "--sentiment", "-1.5").exit_code != 0
    assert next(one for one in listed(run) if one["id"].endswith("00000002"))["sentiment"] == -0.5
    assert run("undo", "last").stdout == "Undone: “The inspector”.\n"
    assert run("reject", "last", "00000003").stdout == "Rejected: 1.\n"
    assert len(listed(run)) == 9
    assert run("undo", "last").stdout == "Undone: “The stair”.\n"
    found = {one["id"][-8:]: one for one in listed(run)}
    assert len(found) == 10
    first = found["00000001"]
    assert (first["text"], first["is_by_gm"], first["is_pinned"]) == ("Rows [/x] no more.", True, True)
    assert run("redo", "last").stdout == "Done again: “The stair”.\n"
    assert run("confirm", "last", "00000002", "--off").stdout == "No longer confirmed: 1.\n"


def test_an_item_is_added_for_those_who_know_it_and_words_of_the_story_are_kept_as_a_quote(
    run: Run, desktop: Desktop
) -> None:
    desktop.prepare_now(make_banked)
    said = run(
        "add", "last", "The inn", "It has a cellar.", "--kind", "place", "--known-to", "2", "--about", "1"
    )
    assert said.stdout.startswith("Added: ")
    inn = next(one for one in listed(run) if one["name"] == "The inn")
    assert (inn["known_to"], inn["about"], inn["validation"], inn["take"]) == (
        "Jonas [/x]",
        1,
        "confirmed",
        None,
    )
    assert "The inn" not in {one["name"] for one in listed(run, "--as", "Mira")}
    assert "names no character" in refusal(run("add", "last", "a", "b", "--known-to", "Kara"))
    assert "a name of 1 to 200" in refusal(run("add", "last", " ", "b"))
    kept = run("quote", "last", "1", "nobody crosses the bar", "--line", "1")
    assert kept.stdout.startswith("Kept as a quote of Mira: ")
    quote = next(one for one in listed(run, "--kind", "quote") if one["text"] == "nobody crosses the bar")
    assert [(proof["prompt_index"], proof["ordinal"]) for proof in quote["evidence"]] == [(1, 1)]
    own = run("quote", "last", "1", "Prompt number 1.", "--line", "0")
    assert own.stdout.startswith("Kept as a quote of the GM: ")
    assert "kept as a quote already" in refusal(run("quote", "last", "1", "nobody crosses the bar"))
    for words in (
        ("1", "I never said this."),
        ("1", "nobody crosses the bar", "--line", "0"),
        ("9", "nobody"),
    ):
        assert "has these words" in refusal(run("quote", "last", *words)), words


def test_how_an_item_is_recalled_is_edited_by_options(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    state = listed(run, "--kind", "state")[0]["id"]
    options = (
        "--confidence",
        "0.9",
        "--importance",
        "0.7",
        "--fading",
        "never",
        "--until",
        "40",
        "--about",
        "2",
    )
    assert run("edit", "last", state, *options, "--over").exit_code == 0
    stored = next(one for one in listed(run) if one["id"] == state)
    assert (stored["confidence"], stored["importance"], stored["decay_rate"]) == (0.9, 0.7, 0)
    assert (stored["expires_at"], stored["about"], stored["details"]["is_over"]) == (40, 2, True)
    assert run("edit", "last", state, "--until", "never", "--about", "", "--holds").exit_code == 0
    stored = next(one for one in listed(run) if one["id"] == state)
    assert (stored["expires_at"], stored["about"], stored["details"]["is_over"]) == (None, None, False)
    assert "0 to 1" in refusal(run("edit", "last", state, "--fading", "2"))
    assert "up to a prompt" in refusal(run("edit", "last", state, "--until", "soon"))
    assert "Only a state" in refusal(run("edit", "last", "00000001", "--over"))


def test_what_is_meant_by_no_id_or_by_several_is_refused_in_a_sentence(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    for words, sentence in (
        (("pin", "last", "00000099"), "No item has the id “00000099”"),
        (("pin", "last", "0000-0000"), "No item has the id"),
        (("pin", "last", "00000000-"), "10 items have the id"),
        (("merge", "last", "00000001"), "At least two items are merged;"),
        (("close", "last", "00000001"), "Only a thread can be closed."),
        (("merge", "last", "00000001", "00000003"), "Only items of one kind"),
        (("edit", "last", "00000001"), "Name what to change"),
        (("edit", "last", "00000001", "--name", " "), "a name of 1 to 200 characters"),
    ):
        assert sentence in refusal(run(*words)), words


def test_the_language_of_a_chapter_is_said_and_set(run: Run, desktop: Desktop) -> None:
    desktop.prepare_now(make_banked)
    assert run("language", "last").stdout == "The language of the chapter is english.\n"
    assert run("language", "last", "German").stdout == "The language of the chapter is german.\n"
    assert run("language", "last").stdout == "The language of the chapter is german.\n"
    assert "“Klingon” is not among the languages: arabic," in refusal(run("language", "last", "Klingon"))


def test_a_chapter_without_a_bank_says_so(run: Run, desktop: Desktop) -> None:
    async def make(engine: Engine) -> None:
        await make_active(engine, 1)

    asyncio.run(desktop.prepare(make))
    assert "keeps no memory bank" in refusal(run("list", "last"))
