"""`storyengine queue`, as users run it: on chapters that no window has open, and on one that is open."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import pytest

from core.config.models.assignments import defaults_for
from core.domain.clock import utc_now
from core.domain.ids import SessionId
from core.domain.requests.request import Request, RequestState
from core.domain.slot import Slot
from core.engine.catalog import SessionCatalog
from core.engine.decisions import commands
from core.engine.sync.notifications import RequestSettled
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from db.store import open_store
from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.program import PATIENCE, WORDS_ALONE, Machine, chapter_script, warm_machine
from tests.engine.queue.test_background import work
from tests.engine.queue.test_queue import a_window
from tests.engine.windows import Ears, playable

ESCAPES = "\x1b]0;owned\x07"


@dataclass
class Room:
    """A machine, its database, and a chapter that can be played and is not open."""

    here: Machine
    url: str
    session: SessionId

    def listed(self) -> list[list[str]]:
        """The rows of the list, without the line that sums them up."""
        return [line.split("\t") for line in self.here.lines("queue", "list") if "\t" in line]

    def ids(self) -> list[str]:
        return [row[0] for row in self.listed()]

    def calls(self) -> list[dict[str, object]]:
        found = json.loads(self.here.call("queue", "list", "--json").stdout)["calls"]
        assert isinstance(found, list)
        return found

    def refused(self, *arguments: str, code: ExitCode = ExitCode.REFUSED) -> str:
        """What a command that must be refused says."""
        ended = self.here.call("queue", *arguments)
        assert ended.returncode == code, (ended.stdout, ended.stderr)
        assert not ended.stdout
        return ended.stderr


@pytest.fixture(scope="module")
def warm() -> Iterator[tuple[Machine, str]]:
    """A machine of its own: a pause is one of all chapters of a database."""
    with warm_machine() as both:
        yield both


@pytest.fixture
def room(warm: tuple[Machine, str]) -> Iterator[Room]:
    here, url = warm

    async def fresh() -> SessionId:
        store = await open_store(url)
        try:
            return await playable(store)
        finally:
            await store.aclose()

    made = Room(here, url, asyncio.run(fresh()))
    try:
        yield made
    finally:
        here.lines("queue", "resume")
        here.lines("queue", "clear")
        here.lines("queue", "recall", str(made.session))
        here.lines("archive", str(made.session))
    assert not made.listed(), "no test leaves something to another"


async def leave(room: Room, *requests: Request) -> None:
    """Store requests as a window does that ends before it can take them back."""
    store = await open_store(room.url)
    try:
        catalog = SessionCatalog(
            store, defaults_for("scripted"), label="a window that was killed", clock=utc_now
        )

        def decide(_: Snapshot) -> Changes:
            return Changes(session_id=room.session, requests=requests)

        await catalog.closed(room.session).apply(decide)
    finally:
        await store.aclose()


async def leave_prompts(room: Room, *texts: str) -> None:
    """Store waiting prompts to the first character so."""
    store = await open_store(room.url)
    try:
        catalog = SessionCatalog(
            store, defaults_for("scripted"), label="a window that was killed", clock=utc_now
        )
        for text in texts:
            await catalog.closed(room.session).apply(partial(_asked, text=text))
    finally:
        await store.aclose()


def _asked(snapshot: Snapshot, text: str) -> Changes:
    return commands.submit_prompt(snapshot, Slot.RED, text, utc_now())[0]


def test_an_empty_queue_says_so_and_a_paused_one_how_to_go_on(room: Room) -> None:
    assert room.here.lines("queue", "list") == ["Nothing waits for a model, and nothing has failed."]
    assert room.here.lines("queue", "pause")[0].startswith("Paused. Nothing new begins until")
    [said] = room.here.lines("queue", "list")
    assert said.startswith("Paused, nothing new begins; `storyengine queue resume` goes on")
    assert json.loads(room.here.call("queue", "list", "--json").stdout) == {"is_paused": True, "calls": []}
    assert room.here.lines("queue", "resume") == ["Resumed."]


def test_waiting_prompts_are_listed_edited_moved_and_taken_back(room: Room) -> None:
    room.here.lines("queue", "pause")
    asyncio.run(leave_prompts(room, "Who is there?", f"And{ESCAPES} who else?"))
    first, second = room.ids()
    *_, row = room.listed()
    assert (row[2], row[4]) == ("1: And who else?", "waits: paused")
    assert room.calls()[1]["model"] == row[3] != ""
    assert room.here.lines("queue", "up", second) == ["Moved up."]
    assert room.ids() == [second, first]
    assert "Nothing that waits" in room.refused("up", second)
    assert room.here.lines("queue", "edit", second[:23], "Nobody?") == [
        "The prompt has its new text, and its place."
    ]
    ended = room.here.pipe("So be it…\n".encode(), "queue", "edit", first, "-")
    assert ended.returncode == 0, ended.stderr
    assert [call["text"] for call in room.calls()] == ["Nobody?", "So be it…"]
    longest = room.here.pipe(b"x" * 200_000, "queue", "edit", room.ids()[0], "-")
    assert (longest.returncode, "20,000" in longest.stderr) == (ExitCode.REFUSED, True)
    assert "no text left" in room.refused("edit", room.ids()[0], " ")
    assert room.here.lines("queue", "recall", str(room.session)) == [
        "2 prompts are back in their panels, in the order of play."
    ]
    assert room.here.lines("queue", "recall", str(room.session)) == ["No prompt waits in that chapter."]
    body = json.loads(room.here.call("export", str(room.session)).stdout)["body"]
    assert body["unsent"] == {"1": "Nobody?\n\nSo be it…"}


def test_background_work_is_retried_dropped_and_cleared(room: Room) -> None:
    waits, other, more = (work(room.session) for _ in range(3))
    asyncio.run(leave(room, waits, other, more))
    assert {row[4] for row in room.listed()} == {"waits: its chapter to be opened"}
    assert room.here.lines("queue", "retry", str(waits.id))[0].startswith("Queued again")
    assert "nothing runs in it" in room.refused("stop", str(waits.id))
    assert "Only a prompt" in room.refused("edit", str(waits.id), "Another text.")
    assert room.here.lines("queue", "drop", str(waits.id)) == [
        "Dropped; the text of a prompt is in its panel."
    ]
    assert room.here.lines("queue", "clear") == ["Dropped 2 calls of background work."]
    assert room.here.lines("queue", "clear") == ["There is no background work to drop."]


def test_a_call_that_its_program_left_behind_is_settled_by_opening_the_chapter(room: Room) -> None:
    left = replace(work(room.session), state=RequestState.PROCESSING, attempts=1)
    asyncio.run(leave(room, left))
    for name, *more in (("stop",), ("drop",), ("retry",), ("up",), ("edit", "Another text.")):
        assert "open the chapter, which settles it" in room.refused(name, str(left.id), *more)


def test_a_call_that_is_not_there_is_named_and_changes_nothing(room: Room) -> None:
    asyncio.run(leave(room, work(room.session), work(room.session)))
    [one, other] = room.ids()
    assert "there is no call “nothing”" in room.refused("drop", "nothing")
    assert "there is no call “ ”" in room.refused("drop", " ")
    assert "more than one call begins with" in room.refused("drop", one[:4])
    assert room.ids() == [one, other]
    assert room.here.call("queue", "drop").returncode == ExitCode.USAGE


def test_the_doctor_says_that_the_queue_is_paused_and_counts_dead_letters(room: Room) -> None:
    well = room.here.call("doctor", STORYENGINE_PROVIDER="scripted", **WORDS_ALONE)
    assert (well.returncode, "queue" in well.stdout) == (ExitCode.OK, False)
    asyncio.run(leave(room, replace(work(room.session), state=RequestState.DEAD, attempts=5)))
    dead = room.here.call("doctor", STORYENGINE_PROVIDER="scripted", **WORDS_ALONE)
    assert dead.returncode == ExitCode.OK, dead.stdout
    assert "ok    queue: 1 call has used up all tries; `storyengine queue list` names them" in dead.stdout
    room.here.lines("queue", "pause")
    paused = room.here.call("doctor", STORYENGINE_PROVIDER="scripted", **WORDS_ALONE)
    assert paused.returncode == ExitCode.REFUSED
    assert "fix   queue: paused, nothing new begins" in paused.stdout


def test_a_script_that_is_played_while_the_queue_is_paused_says_so_and_goes_on_later(room: Room) -> None:
    room.here.lines("queue", "pause")
    script = room.here.write("paused.toml", chapter_script("Paused", 1))
    with room.here.start(
        "play", script, "--provider", "scripted", "--quiet", "--out", room.here.out
    ) as playing:
        assert playing.stderr is not None
        assert playing.stderr.readline().startswith("The queue is paused: nothing new begins until")
        while not room.ids():
            assert playing.poll() is None
        [call] = room.calls()
        assert (call["kind"], call["waits_for"]) == ("lock", "paused")
        room.here.lines("queue", "resume")
        output, errors = playing.communicate(timeout=PATIENCE)
    assert playing.returncode == 0, errors
    assert output.strip().endswith("Paused.txt")


def test_of_a_chapter_that_a_window_has_open_texts_are_refused_and_the_rest_is_asked_for(room: Room) -> None:
    @asynccontextmanager
    async def window() -> AsyncIterator[tuple[Ears, list[str]]]:
        async with a_window(room.url, room.session, label="the window") as opened:
            prompt = await opened.session.submit_prompt(Slot.RED, "Who is there?")
            extra = await opened.add()
            yield opened.ears, [str(prompt), str(extra)]

    room.here.lines("queue", "pause")
    with asyncio.Runner() as runner:
        entered = window()
        ears, [prompt, extra] = runner.run(entered.__aenter__())
        try:
            said = room.refused("edit", prompt, "Another text.", code=ExitCode.SESSION_LOCKED)
            assert "the window" in said
            assert "edit the prompt there" in said
            said = room.refused("recall", str(room.session), code=ExitCode.SESSION_LOCKED)
            assert "take its prompts back there" in said
            assert "No model works on that call" in room.refused("stop", extra)
            assert "has not failed" in room.refused("retry", prompt)
            assert room.here.lines("queue", "drop", extra) == [
                "The window that has the chapter open was asked to do it."
            ]
            runner.run(ears.hear(RequestSettled, lambda notice: str(notice.request.id) == extra))
            assert room.ids() == [prompt]
        finally:
            runner.run(entered.__aexit__(None, None, None))
