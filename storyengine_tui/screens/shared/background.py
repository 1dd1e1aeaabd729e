"""Runs work beside the keys, in a worker of Textual."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final
from weakref import finalize

from textual.app import App
from textual.await_remove import AwaitRemove
from textual.dom import DOMNode
from textual.widget import Widget
from textual.worker import Worker, WorkerError

from core.domain.errors import StoryEngineError

COMMANDS: Final = frozenset({"bank", "list", "queue"})
"""Groups of the app's workers that carry out what a key has asked for."""


def run_in_background(
    node: DOMNode,
    work: Coroutine[Any, Any, object],
    *,
    group: str,
    exclusive: bool = False,
    failed: Callable[[StoryEngineError], object] | None = None,
) -> None:
    """Run `work` in a worker of `node`, and tell `failed` of an error that the GM can fix.

    Without `failed` such an error is a bug as any other. With `exclusive` it ends running work of its group.
    """

    async def done() -> None:
        try:
            await work
        except StoryEngineError as error:
            if failed is None:
                raise
            failed(error)

    worker: Worker[None] = node.run_worker(done, group=group, exclusive=exclusive, exit_on_error=False)
    # A worker may be ended before it has begun; Python would warn on the terminal about `work`.
    finalize(worker, work.close)


async def commands_done(app: App[None], within: float) -> None:
    """Wait until what the GM has asked for is done, or has failed, at most `within` seconds."""
    # Each in a task of its own, which is not cancelled: that would cancel the worker.
    ends = [
        asyncio.create_task(_end(one)) for one in app.workers if one.node is app and one.group in COMMANDS
    ]
    if ends:
        await asyncio.wait(ends, timeout=within)


async def _end(worker: Worker[Any]) -> None:
    with suppress(WorkerError):  # a bug of it is told by the app
        await worker.wait()


async def remove(widgets: Iterable[Widget]) -> None:
    """Remove widgets; a worker that is cancelled meanwhile leaves their tasks alone.

    Textual's `remove` waits for these by `gather`, which cancels them with its caller. The app waits for the
    same tasks, and would end with them.
    """

    async def done(removal: AwaitRemove) -> None:
        await removal

    for removal in [widget.remove() for widget in widgets]:
        await asyncio.shield(done(removal))
