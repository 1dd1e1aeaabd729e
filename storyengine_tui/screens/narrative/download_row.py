"""Downloading the chapter: to the browser if the program is served there, else to the downloads folder."""

import asyncio
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Button, Static

from core.domain.errors import ErrorCode, StoryEngineError
from core.exchange.chapter_file import file_name, write_chapter
from storyengine_tui.widgets.text_line import show_line


async def deliver_chapter(app: App[None], text: str, title: str, folder: Path) -> Path | None:
    """Write the chapter and return its path; hand it to the browser and return None if there is one.

    A local file is not written by Textual, which would overwrite an existing one.
    Raises StoryEngineError with STORAGE_SAVE_FAILED.
    """
    if app.is_web:
        app.deliver_text(StringIO(text.rstrip() + "\n"), save_filename=f"{file_name(title)}.txt")
        return None
    try:
        return await asyncio.to_thread(write_chapter, text, title, folder)
    except OSError as error:
        raise StoryEngineError(
            ErrorCode.STORAGE_SAVE_FAILED,
            f"The chapter could not be written to {folder} ({error.strerror or error}); it is safe here.",
            "Make room or make the folder writable and download again, or copy the text (y).",
        ) from error


@dataclass
class CopyRequested(Message):
    """The GM copies a whole text; `what` names it."""

    text: str
    what: str


class DeliveryRow(Vertical):
    """The button that downloads, and a line that says where the file is or what was copied."""

    _path = ""

    def compose(self) -> ComposeResult:
        """Compose the buttons and the line below them."""
        with Horizontal(id="actions"):
            yield Static(classes="gap")
            yield Button("Copy path", id="copy-path", compact=True)
            yield Button("Download Chapter (F9)", id="download", compact=True, disabled=True)
        yield Static("", id="delivered", markup=False)

    def say(self, text: str, *, path: str = "") -> None:
        """Say what was done; offer to copy `path`, if there is one."""
        self._path = path
        show_line(self, "#delivered", text)
        self.query_one("#copy-path").display = bool(path)
        if text:
            self.call_after_refresh(self.query_one("#delivered").scroll_visible, animate=False)

    @on(Button.Pressed, "#copy-path")
    def _copy_path(self) -> None:
        self.app.copy_to_clipboard(self._path)
