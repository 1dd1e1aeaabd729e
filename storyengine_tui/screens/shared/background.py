"""Runs work beside the keys, in a worker of Textual."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any
from weakref import finalize

from textual.await_remove import AwaitRemove
from textual.dom import DOMNode
from textual.widget import Widget
from textual.worker import Worker

from core.domain.errors import StoryEngineError


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


async def remove(widgets: Iterable[Widget]) -> None:
    """Remove widgets; a worker that is cancelled meanwhile leaves their tasks alone.

    Textual's `remove` waits for these by `gather`, which cancels them with its caller. The app waits for the
    same tasks, and would end with them.
    """

    async def done(removal: AwaitRemove) -> None:
        await removal

    for removal in [widget.remove() for widget in widgets]:
        await asyncio.shield(done(removal))
