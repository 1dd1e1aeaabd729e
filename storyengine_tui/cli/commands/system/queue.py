"""`storyengine queue`: lists and changes the queue of all chapters (design 17)."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from core.domain.errors import IllegalCommandError
from core.domain.ids import RequestId
from core.domain.requests.request import RequestRecord
from core.engine.queue.control import QueueControl
from core.engine.queue.entries import QueueEntry
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_queue
from storyengine_tui.cli.commands.chapter.sessions import (
    SessionArgument,
    distinct_length,
    find_session,
    standard_input,
)
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import console, say, shown
from storyengine_tui.cli.running import command, echo_rows, print_bytes
from storyengine_tui.screens.calls.queue.queue_rows import NOTHING_WAITS, purpose_of, state_of, totals_of

RESUME = "`storyengine queue resume`"
ASKED = "The window that has the chapter open was asked to do it."

app = typer.Typer(help="The queue: all calls that wait, run or have failed, in all chapters.")
Call = Annotated[
    str, typer.Argument(metavar="CALL", help="Its id, or the beginning of it, as `queue list` shows it.")
]


@command(app, "list")
async def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the texts of prompts.")] = False,
) -> None:
    """List the queue in the order of taking: what each call is for, who answers it, and what it waits for."""
    async with running_queue(await unlocked()) as (queue, _):
        entries = await queue.entries()
    if as_json:
        print_bytes(_json(entries, is_paused=queue.is_paused))
        return
    if not console.is_terminal:
        echo_rows((str(entry.request.id), *map(shown, _cells(entry))) for entry in entries)
    elif entries:
        _print_table(entries)
    if queue.is_paused or entries:
        say(totals_of(entries, is_paused=queue.is_paused, resume=RESUME))
    else:
        say(NOTHING_WAITS)


def _print_table(entries: Sequence[QueueEntry]) -> None:
    length = distinct_length([str(entry.request.id) for entry in entries])
    table = Table()
    for heading in ("Call", "Chapter", "What", "Model", "State"):
        # An id in two lines could not be copied.
        table.add_column(heading, no_wrap=heading == "Call", min_width=length if heading == "Call" else None)
    for entry in entries:
        table.add_row(str(entry.request.id)[:length], *(Text(shown(cell)) for cell in _cells(entry)))
    console.print(table)


def _cells(entry: QueueEntry) -> tuple[str, ...]:
    return (entry.session_title, purpose_of(entry.request), entry.lane, state_of(entry))


def _json(entries: Sequence[QueueEntry], *, is_paused: bool) -> bytes:
    document = {"is_paused": is_paused, "calls": [_fields(entry) for entry in entries]}
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def _fields(entry: QueueEntry) -> dict[str, Any]:
    record = RequestRecord.of(entry.request)
    times = {name: getattr(record, name) for name in ("retry_after", "created_at", "updated_at")}
    return {
        "id": str(record.id),
        "session": str(record.session_id),
        "chapter": entry.session_title,
        "kind": record.kind.value,
        "state": record.state.value,
        "level": entry.request.level.value,
        "priority": entry.request.priority,
        "model": entry.lane,
        "waits_for": entry.waits_for,
        "slot": record.slot and record.slot.value,
        "text": record.text,
        "attempts": record.attempts,
        "error_code": record.error_code and record.error_code.value,
        "error_message": record.error_message,
        **{name: time and time.isoformat() for name, time in times.items()},
    }


@command(app)
async def pause() -> None:
    """Begin nothing new, in no window, also after a restart; running calls finish."""
    async with running_queue(await unlocked()) as (queue, _):
        await queue.pause()
    say(f"Paused. Nothing new begins until {RESUME}; running calls finish.")


@command(app)
async def resume() -> None:
    """Let calls begin again."""
    async with running_queue(await unlocked()) as (queue, _):
        await queue.resume()
    say("Resumed.")


@command(app)
async def stop(call: Call) -> None:
    """Stop a call that runs, or a lock, summary or narrative that waits; it has failed then."""
    await _do(call, QueueControl.stop, "Stopped.")


@command(app)
async def clear() -> None:
    """Drop all background work that waits or has failed."""
    async with running_queue(await unlocked()) as (queue, _):
        count = await queue.clear_background()
    dropped = f"Dropped {counted(count, 'call')} of background work."
    say(dropped if count else "There is no background work to drop.")


@command(app)
async def retry(call: Call) -> None:
    """Try a call that failed again; in a chapter that no window has open, only background work."""
    await _do(call, QueueControl.retry, "Queued again; it begins when its chapter is opened.")


@command(app)
async def drop(call: Call) -> None:
    """Take a call out of the queue; the text of a prompt is in its panel."""
    await _do(call, QueueControl.drop, "Dropped; the text of a prompt is in its panel.")


@command(app)
async def edit(
    call: Call,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The new text; - reads it from standard input.")
    ],
) -> None:
    """Change the text of a prompt that waits, in a chapter that no window has open."""
    async with running_queue(await unlocked()) as (queue, catalog):
        request = (await _find(queue, call)).request
        if text == "-":
            chapter = (await catalog.reader(request.session_id).load()).session
            text = await standard_input(chapter.limits.prompt)
        await queue.edit(request.id, text)
    say("The prompt has its new text, and its place.")


@command(app)
async def up(call: Call) -> None:
    """Let a call that waits be taken before the one in front of it in its chapter."""
    await _do(call, QueueControl.move_up, "Moved up.")


async def _do(call: str, change: Callable[[QueueControl, RequestId], Awaitable[bool]], done: str) -> None:
    """Change a request of the queue, and say that it is done, or that another window was asked to."""
    async with running_queue(await unlocked()) as (queue, _):
        is_done = await change(queue, (await _find(queue, call)).request.id)
    say(done if is_done else ASKED)


@command(app)
async def recall(session: SessionArgument) -> None:
    """Take all waiting prompts of a chapter that no window has open back into their panels."""
    async with running_queue(await unlocked()) as (queue, catalog):
        texts = await queue.recall(await find_session(catalog, session))
    if not texts:
        say("No prompt waits in that chapter.")
        return
    say(f"{counted(len(texts), 'prompt is', 'prompts are')} back in their panels, in the order of play.")


async def _find(queue: QueueControl, name: str) -> QueueEntry:
    """Return the call that an id, or its beginning, means; raise StoryEngineError for none or several."""
    wanted = name.strip().lower()
    found = [one for one in await queue.entries() if wanted and str(one.request.id).startswith(wanted)]
    if len(found) == 1:
        return found[0]
    reason = "more than one call begins with" if found else "there is no call"
    raise IllegalCommandError(
        f"Nothing was done: {reason} “{name}”.", "List them with `storyengine queue list`."
    )
