"""An app that shows one or a few widgets with the program's own theme, and keeps their messages."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePath
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

import storyengine_tui.widgets
from storyengine_tui.shell.themed_app import ThemedApp

MessageType = TypeVar("MessageType", bound=Message)

_PACKAGE = Path(storyengine_tui.widgets.__file__).parent
WIDGET_STYLES: list[str | PurePath] = [_PACKAGE / "notes.tcss", _PACKAGE / "widgets.tcss"]


class WidgetApp(ThemedApp):
    """Shows what `build` returns."""

    CSS_PATH: ClassVar[list[str | PurePath] | None] = WIDGET_STYLES

    def __init__(self, build: Callable[[], Sequence[Widget]]) -> None:
        super().__init__()
        self._build = build
        self.heard: list[Message] = []
        self.bells = 0
        self.copied: list[str] = []

    def compose(self) -> ComposeResult:
        yield from self._build()

    def running(self, size: tuple[int, int] = (80, 24)) -> AbstractAsyncContextManager[Pilot[None]]:
        """Run without a terminal and keep every message in `heard`."""
        return self.run_test(size=size, message_hook=self._hear)

    def _hear(self, message: Message) -> None:
        # The hook is called at every place that a message passes on its way up.
        if not any(message is known for known in self.heard):
            self.heard.append(message)

    def bell(self) -> None:
        self.bells += 1

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)
        super().copy_to_clipboard(text)

    def heard_of(self, kind: type[MessageType]) -> list[MessageType]:
        return [message for message in self.heard if isinstance(message, kind)]
