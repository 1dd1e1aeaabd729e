"""Free what a window leaves once its test is over: looking for it as garbage took a tenth of the time."""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import ref

import pytest
from textual.message_pump import MessagePump


@contextmanager
def taken_apart() -> Iterator[None]:
    """Empty every app, screen and widget of the block at its end, which breaks most cycles between them."""
    made: list[ref[MessagePump]] = []
    begin = MessagePump.__init__

    def begin_and_note(self: MessagePump, parent: MessagePump | None = None) -> None:
        begin(self, parent)
        made.append(ref(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MessagePump, "__init__", begin_and_note)
        yield
    for one in made:
        if (pump := one()) is not None:
            vars(pump).clear()
