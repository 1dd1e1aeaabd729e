"""`storyengine correct`: the text from the command line and from standard input, and every refusal."""

import asyncio
import json
from uuid import UUID, uuid4

import pytest

from core.domain.clock import utc_now
from core.domain.ids import SessionId, new_uuid
from core.domain.session.limits import LONGEST_CORRECTION
from core.engine.changes import moves
from core.storage.session_store import WriterInfo
from db.store import open_store
from storyengine_tui.cli.exit_codes import ExitCode
from tests.bad_text import KINDS, acts
from tests.e2e.program import Machine

SAID = "Kara holds the lamp, not Joss."


@pytest.fixture(scope="module")
def corrected(served: tuple[Machine, str]) -> tuple[Machine, str]:
    """A machine with a chapter of two prompts, and the id of that."""
    here = served[0]
    here.play("Corrected", 2)
    listed = [line.split("\t") for line in here.lines("sessions")]
    return here, next(cells[0] for cells in listed if cells[1] == "Corrected")


def corrections_of(here: Machine, session: str) -> list[str]:
    """Return the corrections of a chapter, in order."""
    blocks = json.loads(here.call("export", session).stdout)["body"]["blocks"]
    return [block["payload"]["correction"] for block in blocks if block["type"] == "canon_correction"]


def test_a_correction_from_the_command_line_is_stored_and_in_the_next_input(
    corrected: tuple[Machine, str],
) -> None:
    here, session = corrected
    [said] = here.lines("correct", session[:30], SAID)
    assert said.startswith("Saved. Every later call is given it after the memory so far")
    assert corrections_of(here, session)[-1] == SAID
    shown = "\n".join(here.lines("context", session, "--slot", "1"))
    assert f"GM correction: {SAID} This GM correction replaces" in shown
    assert "Memory block canon_correction\n" in "\n".join(here.lines("show", session))


def test_a_correction_is_read_from_standard_input_with_its_lines(corrected: tuple[Machine, str]) -> None:
    here, session = corrected
    assert here.pipe("Line one.\nLine “two”.\n".encode(), "correct", session, "-").returncode == 0
    assert corrections_of(here, session)[-1] == "Line one.\nLine “two”."
    bad = next(kind for kind in KINDS if kind.name == "ANSI").text
    ended = here.pipe(bad.encode(), "correct", session, "-")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not acts(corrections_of(here, session)[-1])


def test_standard_input_that_is_no_text_is_refused(corrected: tuple[Machine, str]) -> None:
    here, session = corrected
    refused = here.pipe(b"Kara \xff holds it.", "correct", session, "-")
    assert refused.returncode == ExitCode.REFUSED
    assert "not UTF-8 text; nothing was saved" in refused.stderr


@pytest.mark.parametrize("length", [LONGEST_CORRECTION + 1, 3_000_000], ids=["by one", "by far"])
def test_a_correction_that_is_too_long_is_refused_whole(corrected: tuple[Machine, str], length: int) -> None:
    here, session = corrected
    before = corrections_of(here, session)
    refused = here.pipe(b"x" * length, "correct", session, "-")
    assert refused.returncode == ExitCode.REFUSED
    assert "2,000 fit; nothing was cut" in refused.stderr
    assert corrections_of(here, session) == before


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_a_correction_without_text_is_refused(corrected: tuple[Machine, str], text: str) -> None:
    here, session = corrected
    for ended in (
        here.call("correct", session, text),
        here.pipe(text.encode(), "correct", session, "-"),
    ):
        assert ended.returncode == ExitCode.REFUSED
        assert "no text to store" in ended.stderr


def test_a_chapter_that_is_not_there_and_a_command_without_text_are_sentences(here: Machine) -> None:
    unknown = here.call("correct", str(uuid4()), SAID)
    assert unknown.returncode == ExitCode.REFUSED
    assert "there is no chapter" in unknown.stderr
    assert here.call("correct", "last").returncode == ExitCode.USAGE


@pytest.mark.anyio
async def test_a_chapter_that_another_window_writes_in_is_corrected_there(
    served: tuple[Machine, str], corrected: tuple[Machine, str]
) -> None:
    here, session = corrected
    store = await open_store(served[1])
    before = await store.blocks(SessionId(UUID(session)))
    lease = await store.acquire(SessionId(UUID(session)), "another window")
    assert not isinstance(lease, WriterInfo)
    refused = await asyncio.to_thread(here.run, "correct", session, SAID)
    await lease.aclose()
    after = await store.blocks(SessionId(UUID(session)))
    await store.aclose()
    assert refused.returncode == ExitCode.SESSION_LOCKED
    assert "open elsewhere (another window); correct it there" in " ".join(refused.stderr.split())
    assert after == before


@pytest.mark.anyio
async def test_a_chapter_that_is_not_locked_has_no_canon_to_correct(served: tuple[Machine, str]) -> None:
    here, url = served
    store = await open_store(url)
    fresh = moves.new_session(utc_now(), session_id=SessionId(new_uuid()))
    await store.chapters.create(fresh)
    await store.aclose()
    refused = await asyncio.to_thread(here.run, "correct", str(fresh.session_id), SAID)
    assert refused.returncode == ExitCode.REFUSED
    assert "The chapter is not locked yet" in " ".join(refused.stderr.split())
