"""`storyengine sessions`, `show`, `context`, `correct`, `archive`, `purge`: managing sessions."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from core.agents.context_builder import Context
from core.agents.role.prompt_file import SEGMENTS, in_place_of_text
from core.config.models.model_config import ModelConfig
from core.context.lore import BANK
from core.context.visibility import names_of
from core.context.window import parts_of, window_text
from core.context.working_memory import working_memory_of, working_memory_text
from core.domain.audience import NOBODY
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.ids import SessionId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import Request, RequestState
from core.domain.session.limits import LONGEST_CORRECTION
from core.domain.session.lore import ChapterLorebook, label_now
from core.domain.session.profile import profile_text
from core.domain.session.session import Session, SessionSummary, absence_text
from core.domain.slot import Slot
from core.domain.story.memory import BlockType
from core.domain.story.secret import label_of
from core.domain.story.transcript import SEPARATOR, render_all
from core.engine.catalog import SessionCatalog
from core.engine.session.closed_session import ClosedSession
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean_line
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog, running_engine
from storyengine_tui.cli.asking import may_delete, read_standard_input
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import console, say
from storyengine_tui.cli.running import START_SECONDS, echo_rows, print_json
from storyengine_tui.screens.play.scene.sent_view import marks_of
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.state_labels import STATE_LABELS, shortened_title

if TYPE_CHECKING:
    from core.engine.engine import Engine
    from core.engine.session.session_handle import SessionHandle

SHORTEST_ID, LONGEST_ID = 13, 36
"""Characters of an id that are shown: the first 13 are the time in milliseconds, 36 are all."""
WIDTH_OF_THE_REST = 64
"""Cells of the table beside id and title."""

WHICH_CHAPTER = "A chapter: its id, the beginning of its id, or `last`."
SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help=WHICH_CHAPTER)]


async def find_session(catalog: SessionCatalog, name: str, *, is_archived: bool = False) -> SessionId:
    """Return the session that `name` means; raise StoryEngineError when no session or several match."""
    return (await _find_summary(catalog, name, is_archived=is_archived)).id


async def find_any_session(catalog: SessionCatalog, name: str) -> SessionId:
    """Return the session that `name` means, also an archived one: what was saved and paid there counts."""
    try:
        return await find_session(catalog, name)
    except StoryEngineError as refused:
        try:
            return await find_session(catalog, name, is_archived=True)
        except StoryEngineError:
            raise refused from None


def _named(summary: SessionSummary) -> str:
    """Return a session in words: a GM knows it by its title, scripts by its id."""
    return f"“{clean_line(summary.title)}” ({summary.id})" if summary.title else str(summary.id)


async def _find_summary(catalog: SessionCatalog, name: str, *, is_archived: bool = False) -> SessionSummary:
    listed = list(await catalog.sessions(is_archived=is_archived))
    if name == "last" and (readable := [summary for summary in listed if summary.is_readable]):
        return readable[0]
    wanted = name.strip().lower()
    found = [summary for summary in listed if wanted and str(summary.id).startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if not (found or is_archived):
        archived = await catalog.sessions(is_archived=True)
        if [one.id for one in archived if wanted and str(one.id).startswith(wanted)]:
            raise IllegalCommandError(
                f"Nothing was done: the chapter “{name}” is archived.",
                f"Bring it back with `storyengine restore {name}`.",
            )
    what = "archived chapter" if is_archived else "chapter"
    reason = f"more than one {what} has an id that begins with" if found else f"there is no {what}"
    raise IllegalCommandError(
        f"Nothing was done: {reason} “{name}”.",
        f"List them with `storyengine sessions{' --archived' if is_archived else ''}`.",
    )


@asynccontextmanager
async def closed_chapter(name: str, elsewhere: str = "change it there") -> AsyncIterator[ClosedSession]:
    """Yield the session that `name` means, to read or change it; see `SessionCatalog.closed`."""
    async with running_catalog(await unlocked()) as catalog:
        yield catalog.closed(await find_session(catalog, name), elsewhere)


@asynccontextmanager
async def open_chapter(
    name: str, check: Callable[[Snapshot], object] | None = None
) -> AsyncIterator[tuple["Engine", "SessionHandle"]]:
    """Yield the engine, and the session that `name` means, which is open until the end of the block.

    `check` may refuse it as it is before: once it is open, what is due begins, and may be paid for.
    """
    async with running_engine(await unlocked()) as engine:
        session_id = await find_session(engine, name)
        if check is not None:
            check(await engine.reader(session_id).load())
        async with aclosing(await engine.open(session_id)) as opened:
            yield engine, opened


def refuse_unanswered(request: Request, hint: str = "") -> None:
    """Raise StoryEngineError unless a settled request was answered; one that was dropped has no error."""
    if request.state is not RequestState.DONE:
        code = request.error_code or ErrorCode.LLM_CANCELLED
        raise StoryEngineError(code, request.error_message, hint)


def find_character(snapshot: Snapshot, name: str) -> Slot:
    """Return the character that a name, another name of it or a slot number means.

    A beginning of a name, or one of its words, is enough where one character alone has it. Raises
    StoryEngineError for any other.
    """
    session, wanted = snapshot.session, clean_line(name)
    slot = snapshot.cast.called(wanted)
    if slot is None:
        slot = next((slot for slot, _ in session.roster if str(slot.value) == wanted), None)
    if slot is not None:
        return slot
    found = snapshot.cast.called_in_part(wanted)
    if len(found) == 1:
        return found[0]
    cast = ", ".join(f"{slot.value} {called}" for slot, called in session.roster)
    which = "more than one character" if found else "no character"
    raise IllegalCommandError(f"“{name}” names {which} of this chapter; the cast is {cast}.")


async def sessions(
    archived: Annotated[bool, typer.Option("--archived", help="List the archived ones.")] = False,
) -> None:
    """List the chapters, last played first."""
    async with running_catalog(await unlocked()) as catalog:
        listed = await catalog.sessions(is_archived=archived)
    if not listed:
        say("There is no archived chapter." if archived else "There is no chapter yet.")
        return
    if not console.is_terminal:
        echo_rows(_cells(summary, str(summary.id)) for summary in listed)
    else:
        _print_table(listed)
    _report_unreadable(listed, is_archived=archived)


def _print_table(listed: Sequence[SessionSummary]) -> None:
    length = distinct_length([str(summary.id) for summary in listed])
    table = Table()
    for heading in ("Chapter", "Title", "State", "Prompts", "Drafts", "Last played"):
        # An id in two lines could not be copied.
        table.add_column(heading, no_wrap=True, min_width=length if heading == "Chapter" else None)
    room = max(10, console.width - length - WIDTH_OF_THE_REST)
    for summary in listed:
        shown, title, *others = _cells(summary, str(summary.id)[:length])
        table.add_row(*(Text(cell) for cell in (shown, shortened_title(title, room), *others)))
    console.print(table)
    say("A command takes the beginning of an id as well, or `last` for the chapter played last.")


def _report_unreadable(listed: Sequence[SessionSummary], *, is_archived: bool) -> None:
    """Say on standard error how to put away a chapter that cannot be read."""
    verb, effect = ("purge", "deletes it") if is_archived else ("archive", "puts it away")
    for line in listed:
        if not line.is_readable:
            typer.echo(f"{line.id} cannot be read; `storyengine {verb} {line.id}` {effect}.", err=True)


def distinct_length(ids: Sequence[str]) -> int:
    """Return how many characters of these ids make them distinct."""
    return next(
        length
        for length in range(SHORTEST_ID, LONGEST_ID + 1)
        if len({one[:length] for one in ids}) == len(ids)
    )


def _cells(summary: SessionSummary, shown_id: str) -> tuple[str, ...]:
    if not summary.is_readable:
        return (shown_id, "", "cannot be read", "", "", "")
    played = summary.updated_at.astimezone().strftime("%Y-%m-%d %H:%M")
    return (
        shown_id,
        summary.title,
        STATE_LABELS[summary.state],
        f"{summary.prompt_index:,}",
        f"{summary.draft_count:,}",
        played,
    )


def away_line(session: Session) -> str:
    """Return who is away and until when; empty if no one is."""
    gone = [
        name + absence_text(session.away[slot]).removeprefix("away")
        for slot, name in session.roster
        if session.is_away(slot)
    ]
    return f"Away: {', '.join(gone)}" if gone else ""


def silence_line(session: Session) -> str:
    """Return who may be silent; empty if no one may."""
    if session.may_be_silent == NOBODY:
        return ""
    return f"May be silent: {names_of(session.may_be_silent, session)}"


def lore_line(book: ChapterLorebook, snapshot: Snapshot) -> str:
    """Return the name of a lorebook of a chapter, how many entries it has, and who may know it."""
    label = label_now(book, snapshot.session, snapshot.tab1.profiles)
    entries = counted(book.entry_count, "entry", "entries")
    return f"“{book.name}”, {entries}, known to {names_of(label, snapshot.session)}"


async def show(session: SessionArgument) -> None:
    """Print a chapter: state, cast, secrets, drafts, memory and transcript."""
    async with closed_chapter(session) as closed:
        reader = closed.reads
        snapshot = await reader.load()
        chapter = snapshot.session
        events = await reader.canon()
        drafts = await reader.drafts()
        blocks = await reader.memory_blocks()
    say(f"Chapter {chapter.id}: {clean_line(snapshot.title)}")
    said = f"{counted(chapter.prompt_index, 'prompt')}, {chapter.boundary} of them in memory"
    say(f"State: {STATE_LABELS[chapter.state]}, {said}")
    say("Cast: " + ", ".join(f"{slot.value} {name}" for slot, name in chapter.roster))
    for one in snapshot.cast.playing:
        if one.profile:
            say(f"{one.name}: {profile_text(one.profile)}")
    if not chapter.here.is_everyone:
        say(f"Present: {names_of(chapter.here, chapter)}")
    for line in filter(None, (away_line(chapter), silence_line(chapter))):
        say(line)
    for secret in snapshot.secrets_now:
        known = names_of(label_of(secret, snapshot.reveals), chapter)
        say(f"Secret {secret.number} (known to: {known}): {secret.text}")
    for book in snapshot.lore:
        say(f"Lorebook {lore_line(book, snapshot)}")
    for draft in drafts:
        words = counted(draft.words, "word")
        written = f"{draft.created_at.astimezone():%Y-%m-%d %H:%M}"
        say(f"Draft {draft.version}: {words} by {draft.model}, {written}")
    for block in blocks:
        is_delta = block.type is BlockType.TURN_DELTA
        span = f" of {PromptRange(block.first, block.last).named}" if is_delta else ""
        known = "" if block.audience.is_everyone else f", known to {names_of(block.audience, chapter)}"
        say(f"\nMemory block {block.type.value}{span}{known}")
        say(json.dumps(block.payload, ensure_ascii=False, indent=2))
    if events:
        window = render_all(events, chapter)
        marks = marks_of(window, chapter, snapshot.statuses)
        shown = (marks.get(one.event and one.event.id, "") + one.text for one in window.pieces)
        say("\n" + SEPARATOR.join(shown))


async def context(
    session: SessionArgument,
    character: Annotated[
        str, typer.Option("--as", "--slot", metavar="NAME", help="The character's name or number.")
    ],
    prompt: Annotated[str, typer.Option(help="The GM's prompt to put at the end.")] = "",
    with_system_prompt: Annotated[
        bool, typer.Option("--with-system-prompt", help="Print the text of the system prompt too.")
    ] = False,
    is_json: Annotated[
        bool, typer.Option("--json", help="Print working memory instead: parts, capacity, order, as JSON.")
    ] = False,
) -> None:
    """Print exactly what would be sent to a character, segment by segment, with token counts."""
    async with running_engine(await unlocked()) as engine:
        session_id = await find_session(engine, session)
        snapshot = await engine.reader(session_id).load()
        slot = find_character(snapshot, character)
        made = await engine.preview(session_id, slot, prompt, start_seconds=START_SECONDS)
        choice = engine.choice_of(snapshot.tab1.profiles, slot)
    if is_json:
        plain = {**working_memory_of(made).as_json(), "left_out": made.left_out}
        print_json(plain)
        return
    _print_context(made, choice, is_whole=with_system_prompt)


def _print_context(made: Context, choice: ModelConfig, *, is_whole: bool) -> None:
    for segment in made.segments:
        head = f"── {segment.name.value} · {segment.role} · about {segment.tokens:,} tokens"
        say(head, style="bold")
        is_shown = is_whole or segment.name not in SEGMENTS
        say(segment.text if is_shown else in_place_of_text(made.prompt_version, segment.text))
    say(
        f"── in all about {made.tokens:,} of {made.max_input_tokens:,} tokens, "
        f"system prompt {made.prompt_version}",
        style="bold",
    )
    temperature = "the service's own" if choice.temperature is None else f"{choice.temperature:g}"
    stop = ", ".join(map(repr, choice.stop)) or "nowhere early"
    say(
        f"── to {choice.model}, at most {choice.max_output_tokens:,} tokens of answer, "
        f"temperature {temperature}, stops at {stop}",
        style="bold",
    )
    say(window_text(parts_of(made), made.left_out, made.max_input_tokens))
    if stays := working_memory_text(made):
        say(stays)
    for note in made.lore:
        if note.book == BANK:
            say(f"{'Recalled' if note.is_in else 'Not recalled'}: “{note.entry}”. {note.why}")


async def correct(
    session: SessionArgument,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help="The correct fact, in your words; - reads it from standard input."
        ),
    ],
) -> None:
    """Correct canon: every later call is given TEXT after the memory so far."""
    if text == "-":
        text = await standard_input(LONGEST_CORRECTION)
    async with closed_chapter(session, "correct it there") as chapter:
        await chapter.edits.correct_canon(text)
    say("Saved. Every later call is given it after the memory so far; finished text stays.")


async def standard_input(longest: int) -> str:
    """Return a text from standard input; one of more than `longest` characters is cut just beyond that.

    Raises StoryEngineError where it is not UTF-8.
    """
    most = longest * 4
    content = await read_standard_input(most + 1)
    try:
        return content.decode("utf-8-sig", errors="strict" if len(content) <= most else "ignore")
    except UnicodeDecodeError as error:
        raise IllegalCommandError("Standard input is not UTF-8 text; nothing was saved.") from error


async def archive(session: SessionArgument) -> None:
    """Take a chapter off every list; it can be restored."""
    async with running_catalog(await unlocked()) as catalog:
        found = await _find_summary(catalog, session)
        await catalog.archive(found.id)
    say(f"Archived {_named(found)}. Bring it back with `storyengine restore`.")


async def restore_chapter(name: str) -> None:
    """Bring an archived chapter back and say so; raise StoryEngineError."""
    async with running_catalog(await unlocked()) as catalog:
        found = await _find_summary(catalog, name, is_archived=True)
        await catalog.restore(found.id)
    say(f"Restored {_named(found)}.")


async def purge(
    session: SessionArgument, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Delete an archived chapter for good."""
    configuration = await unlocked()
    async with running_catalog(configuration) as catalog:
        found = await _find_summary(catalog, session, is_archived=True)
        if not may_delete(_named(found), is_sure=yes):
            return
        await catalog.purge(found.id)
        KeptText.forget_all_of(found.id, configuration.paths.data)
    say(f"Deleted {_named(found)}.")


COMMANDS = (sessions, show, context, correct, archive, purge)
