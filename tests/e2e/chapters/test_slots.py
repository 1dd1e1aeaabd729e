"""`storyengine slots`, run as a user runs it."""

import re

import pytest

from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.commands.test_command_line import ids
from tests.e2e.program import Machine


@pytest.fixture(scope="module")
def played(served: tuple[Machine, str]) -> tuple[Machine, str]:
    """A machine on which a chapter of eight prompts was played, and its session."""
    here = served[0]
    here.play("Slots", 8)
    [session] = ids(here, "Slots")
    return here, session


def listed(here: Machine, session: str) -> dict[str, list[str]]:
    return {(cells := line.split("\t"))[0]: cells[1:4] for line in here.lines("slots", "list", session)}


def test_a_chapter_that_was_played_has_a_slot_for_each_summary(played: tuple[Machine, str]) -> None:
    here, session = played
    labels = [cells[0] for cells in listed(here, session).values()]
    assert labels[:2] == ["the chapter was locked", "summary of prompts 1–7"]


def test_a_slot_of_ones_own_is_kept_restored_and_let_go(played: tuple[Machine, str]) -> None:
    here, session = played
    [kept] = here.lines("slots", "save", session, "The [/x] end")
    assert kept.startswith("Saved as “The [/x] end” in save slot 10")
    [restored] = here.lines("slots", "restore", session, "10")
    fresh = restored.removeprefix("Restored as chapter ")
    [before, after] = (here.lines("export", which, "--format", "transcript") for which in (session, fresh))
    assert before == after
    assert ids(here, "Slots (The [/x] end)") == [fresh]
    # Taken before the restore, unless the one of the last summary, taken beside the play, stood there.
    slots = listed(here, session)
    assert slots["10"][1:] in [cells[1:] for number, cells in slots.items() if number != "10"]
    here.lines("slots", "drop", session, "10")
    refused = here.call("slots", "restore", session, "10")
    assert refused.returncode == ExitCode.REFUSED
    assert "nothing in save slot 10" in refused.stderr


def test_the_slots_of_an_archived_chapter_are_found_too(played: tuple[Machine, str]) -> None:
    here, session = played
    here.lines("archive", session)
    assert listed(here, session)
    here.lines("restore", session)


def test_importing_an_export_of_a_chapter_takes_a_slot_of_it_first(played: tuple[Machine, str]) -> None:
    here, session = played
    first, second = here.work / "first.json", here.work / "second.json"
    here.lines("export", session, "--out", first)
    [imported] = here.lines("import", first)
    assert re.fullmatch(r"Imported as chapter [0-9a-f-]{36}", imported)
    copy = imported.removeprefix("Imported as chapter ")
    assert listed(here, copy) == {}
    here.lines("export", copy, "--out", second)
    here.lines("import", second)
    assert [cells[0] for cells in listed(here, copy).values()] == ["before an export of it was imported"]


def test_the_list_of_a_chapter_without_slots_is_empty(played: tuple[Machine, str]) -> None:
    here, _ = played
    unknown = here.call("slots", "list", "ffffffff")
    assert unknown.returncode == ExitCode.REFUSED
    assert "there is no chapter" in unknown.stderr
