"""Chapter scripts that branch: each branch is a session, and a run that stopped goes on in the last."""

from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from core.config.models.assignments import defaults_for
from core.domain.errors import StoryEngineError
from core.domain.ids import SessionId
from core.domain.session.session_state import SessionState
from core.domain.story.event import Role
from core.engine.engine import Engine
from core.engine.scripts.player import ScriptMismatchError, Step
from core.engine.scripts.sessions import ScriptBranches
from core.exchange.scripts.chapter_script import ChapterScript, parse_chapter_script
from core.providers.scripted.provider import ScriptedProvider
from storyengine_tui.cli.commands.chapter.play import Reporter, play_lines
from tests.store.in_memory.memory_database import MemoryDatabase
from tests.store.in_memory.memory_store import MemoryStore

pytestmark = pytest.mark.anyio

SCRIPT = """
title = "Glass"
world = "A sea of glass."
chapter = "The lamp is out."
[[agent]]
name = "Kara"
[[agent]]
name = "Joss"
[[prompt]]
text = "Who is there?"
takes = 2
[[prompt]]
text = "Jump."
undo = true
[[prompt]]
text = "Open the door."
[[prompt]]
text = "It is locked."
[[prompt]]
branch_at = 2
branch_title = "Glass, another way"
text = "It opens."
[[prompt]]
text = "Light the lamp."
undo = true
[[prompt]]
text = "Go in."
[[prompt]]
branch_at = 3
to = "Joss"
text = "Stay outside."
takes = 2
"""
CHAPTER = [(1, "Who is there?"), (2, "Open the door."), (3, "It is locked.")]
OTHER_WAY = [*CHAPTER[:2], (3, "It opens."), (4, "Go in.")]
OUTSIDE = [*OTHER_WAY[:3], (4, "Stay outside.")]


class StopsError(Exception):
    """What stands for the death of a run."""


class Stopping(Reporter):
    """A reporter that ends the run at its step `last`."""

    def __init__(self, last: int | None = None) -> None:
        super().__init__(Console(quiet=True), is_quiet=True)
        self.steps: list[Step] = []
        self._last = last

    def step(self, step: Step) -> None:
        self.steps.append(step)
        if len(self.steps) == self._last:
            raise StopsError


class Player:
    """An engine on a store in memory, and the script that it plays."""

    def __init__(self, folder: Path, text: str = SCRIPT) -> None:
        self.folder = folder
        self.script: ChapterScript = parse_chapter_script(text)
        self.database = MemoryDatabase()
        self.engine = Engine(
            MemoryStore(self.database), ScriptedProvider(), defaults_for("scripted"), label="here"
        )

    async def run(self, reporter: Stopping, book: str = "") -> Path:
        first, _ = await self.engine.find_or_create(self.script.key)
        return (await play_lines(self.engine, first, self.script, reporter, self.folder, book))[0]

    async def sessions(self) -> list[SessionId]:
        """The chapter and its branches, in the order of the script."""
        return sorted(self.database.sessions)

    async def story(self, session_id: SessionId) -> list[tuple[int, str]]:
        canon = await self.engine.reader(session_id).canon()
        return [(event.prompt_index, event.text) for event in canon if event.role is Role.USER]

    async def played(self) -> list[list[tuple[int, int, str]]]:
        """Every take of every session."""
        return [
            [
                (event.prompt_index, event.take, event.text)
                for event in await self.engine._store.log(one)
                if event.ordinal == 0
            ]
            for one in await self.sessions()
        ]


async def test_a_script_goes_on_in_branches_and_the_last_one_is_written(tmp_path: Path) -> None:
    player = Player(tmp_path)
    written = await player.run(Stopping())
    chapter, other, outside = await player.sessions()
    assert await player.story(chapter) == CHAPTER
    assert await player.story(other) == OTHER_WAY
    assert await player.story(outside) == OUTSIDE
    made = [(await player.engine.reader(one).load()).session for one in (chapter, other, outside)]
    assert [one.state for one in made] == [SessionState.ACTIVE, SessionState.ACTIVE, SessionState.ENDED]
    assert [(one.branched_from, one.branched_at) for one in made] == [(None, 0), (chapter, 2), (other, 3)]
    assert [one.title for one in made] == [
        "Glass",
        "Glass, another way",
        "Glass, another way (branch at prompt 3)",
    ]
    [draft] = await player.engine.reader(outside).drafts()
    assert draft.text in written.read_text(encoding="utf-8")


async def test_of_a_script_that_is_played_the_branch_that_is_played_is_in_its_book(tmp_path: Path) -> None:
    steps = Stopping()
    await Player(tmp_path).run(steps)
    for last in (1, len(steps.steps) // 2, len(steps.steps)):
        player = Player(tmp_path)
        books = player.engine.library.books
        other = await player.engine.create()
        await books.add(await books.create("The Lamp"), other)
        for reporter in (Stopping(last), Stopping()):
            with suppress(StopsError):
                await player.run(reporter, "the lamp")
            [book] = await books.listed()
            branches = ScriptBranches(player.engine, player.script)
            _, played = await branches.furthest((await player.engine.find_or_create(player.script.key))[0])
            assert book.chapters == (other, played)


async def test_takes_and_undone_prompts_stay_in_the_session_before_the_branch(tmp_path: Path) -> None:
    player = Player(tmp_path)
    await player.run(Stopping())
    assert await player.played() == [
        [
            (1, 1, "Who is there?"),
            (1, 2, "Who is there?"),
            (2, 1, "Jump."),
            (2, 2, "Open the door."),
            (3, 1, "It is locked."),
        ],
        [
            (1, 1, "Who is there?"),
            (2, 1, "Open the door."),
            (3, 1, "It opens."),
            (4, 1, "Light the lamp."),
            (4, 2, "Go in."),
        ],
        [
            (1, 1, "Who is there?"),
            (2, 1, "Open the door."),
            (3, 1, "It opens."),
            (4, 1, "Stay outside."),
            (4, 2, "Stay outside."),
        ],
    ]


async def test_a_run_that_stopped_anywhere_goes_on_in_the_last_branch_to_the_same_log(tmp_path: Path) -> None:
    whole, steps = Player(tmp_path), Stopping()
    await whole.run(steps)
    for last in range(1, len(steps.steps) + 1):
        player = Player(tmp_path)
        with pytest.raises(StopsError):
            await player.run(Stopping(last))
        await player.run(Stopping())
        assert await player.played() == await whole.played(), f"stopped at {steps.steps[last - 1].text}"


async def test_a_run_that_stopped_between_a_branch_and_its_first_prompt_uses_that_branch(
    tmp_path: Path,
) -> None:
    player = Player(tmp_path)
    with pytest.raises(StopsError):
        await player.run(Stopping(7))  # the step behind the last prompt of the chapter
    [chapter] = await player.sessions()
    branches = ScriptBranches(player.engine, player.script)
    made = await branches.branch(1, chapter)
    assert await branches.branch(1, chapter) == made, "a branch is made once"
    assert await branches.furthest(chapter) == (1, made)
    await player.run(Stopping())
    assert len(await player.sessions()) == 3


async def test_a_second_run_does_nothing_but_write_the_chapter_again(tmp_path: Path) -> None:
    player = Player(tmp_path)
    first = await player.run(Stopping())
    before = await player.played()
    assert await player.run(Stopping()) == first
    assert await player.played() == before


async def test_another_run_of_the_script_has_branches_of_its_own(tmp_path: Path) -> None:
    player = Player(tmp_path)
    await player.run(Stopping())
    fresh = await player.engine.create(script_key=player.script.key)
    assert await ScriptBranches(player.engine, player.script).furthest(fresh) == (0, fresh)
    await player.run(Stopping())
    assert len(await player.sessions()) == 6


async def test_a_branch_that_was_archived_is_made_anew(tmp_path: Path) -> None:
    player = Player(tmp_path)
    await player.run(Stopping())
    archived = (await player.sessions())[2]
    await player.engine.archive(archived)
    await player.run(Stopping())
    assert await player.story((await player.sessions())[3]) == OUTSIDE


async def test_prompts_before_the_branch_that_were_changed_in_the_script_are_refused(tmp_path: Path) -> None:
    player = Player(tmp_path)
    await player.run(Stopping())
    player.script = parse_chapter_script(SCRIPT.replace("Open the door.", "Break the door."))
    with pytest.raises(ScriptMismatchError, match="Prompt 2 of the script"):
        await player.run(Stopping())


async def test_a_branch_that_another_window_plays_is_left_alone(tmp_path: Path) -> None:
    player = Player(tmp_path)
    await player.run(Stopping())
    last = (await player.sessions())[2]
    elsewhere = Engine(
        MemoryStore(player.database), ScriptedProvider(), defaults_for("scripted"), label="there"
    )
    opened = await elsewhere.open(last)
    with pytest.raises(StoryEngineError, match="played elsewhere"):
        await player.run(Stopping())
    await opened.aclose()
