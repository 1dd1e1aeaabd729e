"""`storyengine play FILE…`: chapter scripts from set-up to the chapter's text on disk; several are a book."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from core.config.password import delay_in_words
from core.config.sections import ProviderName
from core.context.visibility import names_of
from core.domain.errors import ErrorCode, SessionLockedError, StorageError, StoryEngineError
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.session.limits import LONGEST_NAME
from core.domain.session.session import title_from
from core.domain.story.event import Event, Role
from core.domain.story.memory import BlockType
from core.engine.engine import Engine
from core.engine.scene.scene_commands import notation_of
from core.engine.scripts.player import ScriptPlayer, Step
from core.engine.scripts.sessions import ScriptBranches, attach_lore_of, first_session, join_book
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import (
    CallStarted,
    CanonChanged,
    EventsAppended,
    MemoryAppended,
    QueuePaused,
    QueueResumed,
    RequestFailed,
    StorageRecovered,
    StorageTrouble,
)
from core.engine.sync.subscriptions import Listener
from core.exchange.chapter_file import write_chapter
from core.exchange.scripts.chapter_script import ChapterScript, load_chapter_script
from core.text.graphemes import head
from core.text.numbers import counted
from core.text.prose import word_count
from storyengine_tui.bootstrap import Configuration, running_engine
from storyengine_tui.cli.commands.models.model_catalogue import ask_for_weights
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import console, say, say_wrong
from storyengine_tui.cli.running import cannot_write

PAUSED = "The queue is paused: nothing new begins until `storyengine queue resume`."
STORAGE_WAIT = 600.0
"""Seconds: long enough to make room on a disk or to restart a server; a script must not hang all night."""


async def play(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="The chapter script, a TOML file; several in order are a book.",
            show_default=False,
        ),
    ],
    provider: Annotated[
        ProviderName | None, typer.Option(help="Who answers: local, openai or scripted.", show_default=False)
    ] = None,
    replies: Annotated[
        Path | None, typer.Option(help="The file of replies of the provider scripted.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder or file for the chapter; the downloads folder if not given.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Start over in a new chapter.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only where the chapter was written.")] = False,
) -> None:
    """Play chapter scripts to their written chapters. Run it again to go on where it stopped."""
    configuration = await unlocked(provider=provider, script=replies)
    answering = configuration.settings.active().provider
    if replies is not None and answering != "scripted":
        raise typer.BadParameter(
            f"The provider {answering} reads no --replies; add --provider scripted, or leave --replies out."
        )
    scripts = [await asyncio.to_thread(load_chapter_script, file) for file in files]
    reporter = Reporter(console, is_quiet=quiet)
    reporter.introduce(configuration)
    await ask_for_weights(configuration)
    titles = book_titles(scripts)
    async with running_engine(configuration) as engine:
        for script, book in zip(scripts, titles, strict=True):
            first = await first_session(engine, script, book, is_new=new)
            folder = out or configuration.paths.downloads
            target, _ = await play_lines(engine, first, script, reporter, folder, book)
            say(str(target) if quiet else f"The chapter is in {target}")


def book_titles(scripts: Sequence[ChapterScript]) -> list[str]:
    """Return the title of the book of each script: its own, else for several that of the first script."""
    if len(scripts) == 1:
        return [scripts[0].book]
    first = scripts[0]
    shared = first.book or head(title_from(first.title, first.chapter, first.world), LONGEST_NAME)
    return [script.book or shared for script in scripts]


async def play_lines(
    engine: Engine,
    first: SessionId,
    script: ChapterScript,
    reporter: "Reporter",
    out: Path,
    book_title: str = "",
) -> tuple[Path, SessionId]:
    """Play a script, each branch in a session of its own; return the file and the id of the last chapter.

    The one that is played is in the book of that title, if there is one.
    """
    branches = ScriptBranches(engine, script)
    at, session_id = await branches.furthest(first)
    while True:
        if book_title:
            await join_book(engine, book_title, branches.path)
        session = await _open(engine, session_id)
        is_last = at + 1 == len(branches.lines)
        if engine.queue.is_paused:
            reporter.warn(PAUSED)
        try:
            if script.lore:
                await attach_lore_of(script, session, engine.library)
            await play_and_report(session, branches.lines[at], reporter, is_last=is_last)
            if is_last:
                return await _write(session, out), session.id
            at += 1
            session_id = await branches.branch(at, session_id)
        finally:
            await session.aclose()


async def _open(engine: Engine, session_id: SessionId) -> SessionHandle:
    session = await engine.open(session_id)
    if session.holder is not None:
        label = session.holder.label
        await session.aclose()
        raise SessionLockedError(
            f"This chapter is being played elsewhere ({label}); nothing was changed.",
            "Wait for it to end, or use --new to play the script in a chapter of its own.",
        )
    return session


async def play_and_report(
    session: SessionHandle, script: ChapterScript, reporter: "Reporter", *, is_last: bool = True
) -> None:
    """Play to the stored draft, or to where a branch goes on; raises the error that stops it."""
    with session.listen() as listener, reporter:
        player = ScriptPlayer(session, script, reporter.step, is_last=is_last)
        playing = asyncio.create_task(player.play())
        outage = Outage(playing, reporter.warn)
        telling = asyncio.create_task(_tell(listener, session, reporter, outage))
        try:
            await outage.bounded()
        finally:
            listener.close()
            await asyncio.wait({telling})


async def _tell(listener: Listener, session: SessionHandle, reporter: "Reporter", outage: "Outage") -> None:
    async for notification in listener:
        match notification:
            case EventsAppended(events):
                for event in events:
                    if event.role is not Role.USER:
                        reporter.say(_told(event))
            case CanonChanged(first):
                reporter.say(f"{first}) taken back, or played in another take")
            case MemoryAppended(block) if block.type is BlockType.TURN_DELTA:
                audience, chapter = block.audience, session.snapshot.session
                known = "" if audience.is_everyone else f" for {names_of(audience, chapter)}"
                reporter.say(f"Memory: {PromptRange(block.first, block.last).named} summarised{known}")
            case RequestFailed(_, error):
                reporter.say(error.message)
            case StorageTrouble(error):
                outage.begin(error)
            case StorageRecovered():
                outage.end()
            case QueuePaused():
                reporter.warn(PAUSED)
            case QueueResumed():
                reporter.say("The queue is no longer paused.")
            case CallStarted(left_out=left_out) if left_out:
                reporter.say("Left out of the input: " + "; ".join(left_out))


def _told(event: Event) -> str:
    """Return one line about a reply, or a line of the GM, that was stored."""
    if notation_of(event):
        return event.text
    if event.reveals is not None:
        return f"Secret {event.reveals} revealed"
    words = counted(word_count(event.text), "word")
    if event.role is Role.SYSTEM:
        return f"Line stored, {words}"
    repeated = f"; it repeats {event.repeats}" if event.repeats else ""
    return f"{event.prompt_index}) stored, {words} in reply{repeated}"


async def _write(session: SessionHandle, out: Path) -> Path:
    draft = (await session.reads.drafts())[-1]
    title = session.snapshot.title
    try:
        return await asyncio.to_thread(write_chapter, draft.text, title, out)
    except OSError as error:
        raise cannot_write(out, error) from error


class Reporter:
    """Shows progress: a live bar on a terminal, one line a step elsewhere, nothing when quiet."""

    def __init__(self, console: Console, *, is_quiet: bool) -> None:
        self._console = console
        self._is_quiet = is_quiet
        self._progress = (
            Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            if console.is_terminal and not is_quiet
            else None
        )
        self._bar = self._progress.add_task("Starting", total=None) if self._progress else None

    def __enter__(self) -> "Reporter":
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def introduce(self, configuration: Configuration) -> None:
        """Say who answers, and how to connect a better one."""
        profile = configuration.settings.active()
        if profile.provider == "local":
            self.say(
                "The small local model plays the characters. Its prose is poor; the README says how to "
                "connect a better one."
            )
        else:
            self.say(f"The characters are played by the provider {profile.provider}.")

    def step(self, step: Step) -> None:
        """Show the progress."""
        if self._progress is not None and self._bar is not None:
            self._progress.update(self._bar, description=step.text, completed=step.done, total=step.total)
        else:
            self.say(f"[{step.done}/{step.total}] {step.text}")

    def warn(self, line: str) -> None:
        """Print one line about a problem, even when quiet."""
        if self._is_quiet:
            say_wrong(line)
        else:
            say(line)

    def say(self, line: str) -> None:
        """Print one line above the progress."""
        if not self._is_quiet:
            say(line)


class Outage:
    """Bounds the wait of one task; the engine tries again by itself for as long as it lasts."""

    def __init__(self, task: asyncio.Task[None], say: Callable[[str], None]) -> None:
        self._task = task
        self._say = say
        self._timer: asyncio.TimerHandle | None = None
        self._problem: StoryEngineError | None = None
        self._is_over = False

    def begin(self, problem: StoryEngineError) -> None:
        """Say what is wrong and how long the task waits at most; not where it ends of this problem."""
        if self._timer is not None:
            return
        self._problem = problem
        if isinstance(problem, StorageError) and problem.is_transient:
            self._say(f"{problem.message} {problem.hint}".strip())
            self._say(f"The play waits for it, {delay_in_words(STORAGE_WAIT)} at most.")
        self._timer = asyncio.get_running_loop().call_later(STORAGE_WAIT, self._give_up)

    def end(self) -> None:
        """Say that the database is back."""
        self.close()
        self._say("The database is back, and the play goes on.")

    def close(self) -> None:
        """End the wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def bounded(self) -> None:
        """Return when the task has ended; raise StorageError when the database was away for too long."""
        try:
            await self._task
        except asyncio.CancelledError:
            if not self._is_over:
                raise
            raise StorageError(
                ErrorCode.STORAGE_SAVE_FAILED,
                f"The database took nothing for {delay_in_words(STORAGE_WAIT)}; data stored before is safe.",
                f"{self._problem.hint if self._problem else ''} Then run the same command: it goes on there. "
                "A reply that could not be stored is kept in the data directory.".strip(),
            ) from self._problem
        finally:
            self.close()

    def _give_up(self) -> None:
        self._is_over = True
        self._task.cancel()
