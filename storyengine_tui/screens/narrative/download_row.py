"""The chapter as a file: to the browser where the program is served there, else to the downloads folder."""

import asyncio
from io import StringIO
from pathlib import Path

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Static

from core.domain.errors import ErrorCode, StoryEngineError
from core.exchange.chapter_file import file_name, write_chapter


async def deliver_chapter(app: App[None], text: str, title: str, folder: Path) -> Path | None:
    """Write the chapter and return its path; None when the browser was given it.

    On this machine the file is written by us and not by Textual, which would write over an existing one.
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


class DeliveryRow(Vertical):
    """The button that downloads, and below it where the file is; copies are told of here as well."""

    class DownloadRequested(Message):
        """The GM downloads the version that shows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._path = ""

    def compose(self) -> ComposeResult:
        """Compose the buttons above what there is to say."""
        with Horizontal(id="actions"):
            yield Static(classes="gap")
            yield Button("Copy path", id="copy-path", compact=True)
            yield Button("Download Chapter (F9)", id="download", compact=True, disabled=True)
        yield Static("", id="delivered", markup=False)

    def show_access(self, *, can_download: bool) -> None:
        """Enable what is possible."""
        self.query_one("#download", Button).disabled = not can_download

    def say(self, text: str, *, path: str = "") -> None:
        """Say what was done; a path can be copied."""
        self._path = path
        line = self.query_one("#delivered", Static)
        line.update(Content(text))
        line.display = bool(text)
        self.query_one("#copy-path").display = bool(path)
        if text:
            self.call_after_refresh(line.scroll_visible, animate=False)

    @on(Button.Pressed, "#download")
    def _download(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.DownloadRequested())

    @on(Button.Pressed, "#copy-path")
    def _copy_path(self, event: Button.Pressed) -> None:
        event.stop()
        self.app.copy_to_clipboard(self._path)
