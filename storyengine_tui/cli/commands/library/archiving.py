"""The commands archive, restore and purge, which every kind of the library has."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import typer

from core.engine.catalog import SessionCatalog
from storyengine_tui.bootstrap import running_catalog
from storyengine_tui.cli.asking import FOR_GOOD, may_delete
from storyengine_tui.cli.gate import unlocked
from storyengine_tui.cli.printing import say
from storyengine_tui.cli.running import command

Kept = TypeVar("Kept")


class Archive(Protocol[Kept]):
    """The books, characters or lorebooks of the library."""

    async def find(self, name: str, /, *, is_archived: bool = False) -> Kept:
        """Return the one with this name."""

    async def archive(self, one: Kept, /) -> None:
        """Take it off the list."""

    async def restore(self, one: Kept, /) -> Kept:
        """Bring it back, under another name where its own is taken."""

    async def purge(self, one: Kept, /) -> None:
        """Delete it for good."""


def add_archive_commands(
    app: typer.Typer,
    group: str,
    name_argument: Any,
    archive_in: Callable[[SessionCatalog], Archive[Kept]],
    name_of: Callable[[Kept], str],
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
        say(f"Archived “{name_of(found)}”. Bring it back with `storyengine {group} restore`.")

    async def restore(name: Annotated[str, name_argument]) -> None:
        async with running_catalog(await unlocked()) as catalog:
            archived = await archive_in(catalog).find(name, is_archived=True)
            restored = await archive_in(catalog).restore(archived)
        say(f"Restored “{name_of(restored)}”.")

    async def purge(
        name: Annotated[str, name_argument],
        yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    ) -> None:
        configuration = await unlocked()
        async with running_catalog(configuration) as catalog:
            archived = await archive_in(catalog).find(name, is_archived=True)
            if not may_delete(asked.format(name_of(archived)), is_sure=yes, effect=effect):
                return
            await archive_in(catalog).purge(archived)
            forget(archived, configuration.paths.data)
        say(f"Deleted “{name_of(archived)}”.")

    archive.__doc__ = f"Take a {noun} off the list; {is_kept}it can be restored."
    restore.__doc__ = f"Bring an archived {noun} back."
    purge.__doc__ = f"Delete an archived {noun} for good{is_lost}."
    for work in (archive, restore, purge):
        command(app)(work)
