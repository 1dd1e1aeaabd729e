"""Runs work beside the keys, in a worker of Textual."""

from collections.abc import Callable, Coroutine
from typing import Any
from weakref import finalize

from textual.dom import DOMNode
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
