"""`storyengine export` and `import`: one session as text or JSON, and back into a new session."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from core.config.files.bounded_file import FileTooLargeError, read_bounded
from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError
from core.domain.ids import SessionId
from core.domain.story.transcript import render_all
from core.engine.catalog import SessionCatalog
from core.exchange.chapter_file import write_new
from core.exchange.chats.chapter_of_chat import chapter_of
from core.exchange.chats.chat_log import read_chat
from core.exchange.library.library_files import LARGEST_CHAPTER, refuse_present
from core.exchange.session_export import ImportRefusedError, from_json
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.commands.chapter.sessions import SessionArgument, find_character, find_session
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import cannot_write, one_of, print_bytes

CHAT_SUFFIX = ".jsonl"
MODELS_LEFT_OUT = "Its characters bring models ({}), which were left out; --trust takes them."


class ExportFormat(StrEnum):
    """Content of an export."""

    TRANSCRIPT = "transcript"
    CHAPTER = "chapter"
    JSON = "json"


async def export(
    session: SessionArgument,
    format: Annotated[
        ExportFormat,
        typer.Option(
            **one_of(ExportFormat), help="The transcript, or the newest draft, as text; or everything."
        ),
    ] = ExportFormat.JSON,
    as_: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Only the transcript that this character witnessed.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="The file to write; the terminal's output if not given.")
    ] = None,
) -> None:
    """Write a chapter as text, or everything of it as JSON. An existing file is not written over."""
    if as_ and format is not ExportFormat.TRANSCRIPT:
        raise IllegalCommandError("Only a transcript has --as; add --format transcript to it.")
    async with running_catalog(await unlocked()) as catalog:
        content = await _content(catalog, await find_session(catalog, session), format, as_)
    if out is None:
        print_bytes(content)
        return
    await asyncio.to_thread(_write_new, out, content)
    say(f"Written to {out}")


async def _content(catalog: SessionCatalog, session_id: SessionId, format_: ExportFormat, name: str) -> bytes:
    match format_:
        case ExportFormat.JSON:
            return await catalog.export(session_id)
        case ExportFormat.TRANSCRIPT:
            reader = catalog.reader(session_id)
            chapter = await reader.load()
            known = reader.witnessed_by(find_character(chapter, name)) if name else reader.canon()
            text = render_all(await known, chapter.session).text
            return f"{text}\n".encode() if text else b""
        case ExportFormat.CHAPTER:
            drafts = await catalog.reader(session_id).drafts()
            if not drafts:
                raise IllegalCommandError(
                    "The chapter is not written yet: no narrative was built.",
                    "Export the transcript with --format transcript.",
                )
            return (drafts[-1].text.rstrip() + "\n").encode()


def _write_new(out: Path, content: bytes) -> None:
    try:
        write_new(out, content)
    except OSError as error:
        refuse_present(out)
        raise cannot_write(out, error) from error


async def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="JSON written by `storyengine export`, or a chat of SillyTavern (.jsonl)."
        ),
    ],
    trust: Annotated[
        bool, typer.Option("--trust", help="Take the models that its characters bring, too.")
    ] = False,
) -> None:
    """Read an exported chapter, or a chat, into a new chapter; nothing that exists is touched."""
    configuration = await unlocked()
    document = await asyncio.to_thread(read_file, file)
    if file.suffix.casefold() == CHAT_SUFFIX:
        chat = await asyncio.to_thread(lambda: chapter_of(read_chat(document), file.stem, utc_now()))
        body, lines = chat.body, chat.report
    else:
        body, lines = await asyncio.to_thread(from_json, document), ()
    async with running_catalog(configuration) as catalog:
        session_id = await catalog.import_body(body, is_trusted=trust)
    say(f"Imported as chapter {session_id}")
    brought = [] if trust else [one.model for one in body.tab1.profiles.values() if one.model]
    if brought:
        say(MODELS_LEFT_OUT.format(", ".join(dict.fromkeys(brought))))
    for line in lines:
        say(line)


def read_file(file: Path) -> bytes:
    """Return the content of a file to import; raise ImportRefusedError if it is unreadable or too large."""
    try:
        return read_bounded(file, LARGEST_CHAPTER)
    except FileTooLargeError as error:
        raise ImportRefusedError(f"{file} is larger than {LARGEST_CHAPTER // 1024**2} MB") from error
    except OSError as error:
        raise ImportRefusedError(f"{file} cannot be read ({error.strerror or error})") from error
