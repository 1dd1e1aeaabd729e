"""The chapter as a file: to the browser where the program is served there, else to the downloads folder."""

import asyncio
from io import StringIO
from pathlib import Path

from textual.app import App

from core.chapter_file import file_name, write_chapter
from core.errors import ErrorCode, StoryEngineError


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
