"""Commands that books, cast and lore share: import, archive, restore and purge."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from core.engine.catalog import SessionCatalog
from core.engine.services.library.archive import Archive, Kept
from core.exchange.library.library_files import ENDINGS, NO_FILE, chats_in, files_in, read_file
from core.library.refusal import LARGEST_FILE, FileRefusedError
from core.text.numbers import counted
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.asking import FOR_GOOD, may_delete, read_standard_input
from storyengine_tui.cli.exit_codes import ExitCode
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say, say_error, say_wrong
from storyengine_tui.cli.running import command

if TYPE_CHECKING:
    from core.engine.services.library.characters import CardImport
    from core.engine.services.library.lorebooks import LoreImport

PASTE = "-"
Archived = Annotated[bool, typer.Option("--archived", help="List the archived ones.")]


async def read_any(file: Path) -> bytes:
    """Return the content of a file, or of standard input for `-`; raise FileRefusedError."""
    if str(file) != PASTE:
        return await read_file(file, LARGEST_FILE)
    content = await read_standard_input(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise FileRefusedError(f"Standard input is larger than {LARGEST_FILE // 1024**2} MB.")
    return content


def named_file(name: str) -> Path | None:
    """Return the file that an argument means, if it is a path or has the ending of one; else None."""
    path = Path(name)
    is_path = os.sep in name or path.suffix.lower() in ENDINGS
    return path if is_path or os.path.exists(path) else None  # False for a name that no file can have


Imported = TypeVar("Imported", "CardImport", "LoreImport")


async def import_each(
    names: Sequence[str],
    import_in: Callable[[SessionCatalog], Callable[[bytes, str], Awaitable[Imported]]],
    name_of: Callable[[Imported], str],
) -> None:
    """Import the files, and those in folders; say what became of each; raise typer.Exit when one was refused.

    One that is refused does not keep the others from being imported.
    """
    if "" in names:  # A variable of the shell that is not set; `Path` would make it the current directory.
        raise typer.BadParameter("Name a file or a folder to import.")
    paths = [Path(name) for name in names]
    files = await asyncio.to_thread(files_in, paths)
    refused = 0
    async with running_catalog(await unlocked()) as catalog:
        for file in files:
            try:
                content = await read_any(file)
                name = "The text" if str(file) == PASTE else file.name
                done = await import_in(catalog)(content, name)
            except FileRefusedError as error:
                say_error(error)
                refused += 1
                continue
            say(f"{file}: {'imported' if done.is_new else 'not imported again'}, “{name_of(done)}”.")
            for line in done.report:
                say(f"  {line}")
    if not files:
        say_wrong(NO_FILE)
    if chats := await asyncio.to_thread(chats_in, paths):
        are = "chat (.jsonl) was", "chats (.jsonl) were"
        say(f"{counted(chats, *are)} passed over; `storyengine import` makes a chapter of one.")
    if refused or not files:
        raise typer.Exit(ExitCode.BAD_FILE)


def add_archive_commands(
    app: typer.Typer,
    group: str,
    name_argument: Any,
    archive_in: Callable[[SessionCatalog], Archive[Kept]],
    *,
    noun: str,
    is_kept: str = "",
    is_lost: str = "",
    asked: str = "“{}”",
    effect: str = FOR_GOOD,
    forget: Callable[[Kept, Path], None] = lambda kept, data: None,
) -> None:
    """Add the three commands to `app`, which is `storyengine GROUP`.

    `is_kept` and `is_lost` complete the help of archive and purge; `asked` and `effect` the question before
    something is deleted. `forget` deletes its files.
    """

    async def archive(name: Annotated[str, name_argument]) -> None:
        async with running_catalog(await unlocked()) as catalog:
            found = await archive_in(catalog).find(name)
            await archive_in(catalog).archive(found)
        say(f"Archived “{found.names[0]}”. Bring it back with `storyengine {group} restore`.")

    async def restore(name: Annotated[str, name_argument]) -> None:
        async with running_catalog(await unlocked()) as catalog:
            archived = await archive_in(catalog).find(name, is_archived=True)
            restored = await archive_in(catalog).restore(archived)
        say(f"Restored “{restored.names[0]}”.")

    async def purge(
        name: Annotated[str, name_argument],
        yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    ) -> None:
        configuration = await unlocked()
        async with running_catalog(configuration) as catalog:
            archived = await archive_in(catalog).find(name, is_archived=True)
            if not may_delete(asked.format(archived.names[0]), is_sure=yes, effect=effect):
                return
            await archive_in(catalog).purge(archived)
            forget(archived, configuration.paths.data)
        say(f"Deleted “{archived.names[0]}”.")

    archive.__doc__ = f"Take a {noun} off the list; {is_kept}it can be restored."
    restore.__doc__ = f"Bring an archived {noun} back."
    purge.__doc__ = f"Delete an archived {noun} for good{is_lost}."
    for work in (archive, restore, purge):
        command(app)(work)
