"""Base class of the lists of cast and lore: export, archive, restore and purge."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from textual.binding import Binding, BindingType

from core.config.files.paths import expanded
from core.exchange.library.library_files import format_of, refuse_present, write_new
from core.library.cards.card_file import CardFormat
from core.library.cards.writing import WrittenCard
from core.library.characters.character import LibraryCharacter
from core.library.lore.kept import KeptLorebook
from storyengine_tui.screens.library.shelf.shelf_screen import IMPORT, ShelfScreen, shelf_keys
from storyengine_tui.screens.library.shelf.title_modal import ExportModal, NameModal

if TYPE_CHECKING:
    from core.engine.services.library.archive import Archive

Kept = TypeVar("Kept", LibraryCharacter, KeptLorebook)

COPIES_STAY: Final = "Chapters keep the copies that they took."


class KeptShelf(ShelfScreen[Kept]):
    """A list of characters or of lorebooks; subclasses say how each is stored."""

    BINDINGS: ClassVar[list[BindingType]] = shelf_keys(
        "Library", title="Name", files=(IMPORT, Binding("x", "export", "Export"))
    )

    async def reload(self) -> None:
        """Read the list again."""
        engine = self._workspace.require_engine()
        is_archived = self._shows_archived
        rows = await self.read(is_archived=is_archived)
        self.show_shelves(await engine.library.counts())
        self.show_read(rows, is_archived=is_archived)

    def key_of(self, row: Kept) -> object:
        """Return the id, which another name does not change."""
        return row.id

    def title_of(self, row: Kept) -> str:
        """Return the name."""
        return row.name

    @property
    @abstractmethod
    def library(self) -> "Archive[Kept]":
        """The part of the library that stores the rows."""

    async def read(self, *, is_archived: bool) -> Sequence[Kept]:
        """Return the rows."""
        return await self.library.listed(is_archived=is_archived)

    @abstractmethod
    async def export(self, row: Kept, format_: CardFormat) -> WrittenCard:
        """Return a row as a file; raises StorageError."""

    @abstractmethod
    async def make(self, name: str) -> str:
        """Store a new row under a name, and return a sentence about it."""

    @abstractmethod
    async def rename(self, row: Kept, name: str) -> None:
        """Store another name."""

    @abstractmethod
    def forget(self, row: Kept) -> None:
        """Delete what is kept of a row outside of the store."""

    def action_new(self) -> None:
        """Ask for the name of a new row, and make it."""

        async def make(name: str) -> None:
            self._outcome = await self.make(name)

        self.ask(NameModal(""), make)

    def action_export(self) -> None:
        """Ask for a file, and write the row under the cursor into it."""
        if self.chosen is not None:
            self.ask_for_path(ExportModal, partial(self._export, self.chosen))

    async def _export(self, row: Kept, path: str) -> None:
        file = expanded(Path(path))
        format_ = format_of(file)
        await asyncio.to_thread(refuse_present, file)
        # The list may not show yet what was just stored.
        now = next((one for one in await self.read(is_archived=False) if one.id == row.id), row)
        made: WrittenCard = await self.export(now, format_)
        await write_new(file, made.content)
        self._outcome = " ".join((f"Wrote {file}.", *made.notes))

    def action_retitle(self) -> None:
        """Ask for another name."""
        if self.chosen is not None:
            self.ask(NameModal(self.chosen.name), partial(self.rename, self.chosen))

    async def archive(self, row: Kept) -> None:
        """Take it off the list."""
        await self.library.archive(row)

    async def restore(self, row: Kept) -> None:
        """Bring it back."""
        await self.library.restore(row)

    async def purge(self, row: Kept) -> None:
        """Delete it, and what is kept of it outside of the store."""
        await self.library.purge(row)
        self.forget(row)

    def loss_of(self, row: Kept) -> str:
        """Return that chapters keep what they took of it."""
        return f"“{row.name}” is deleted with its file. {COPIES_STAY}"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible with the row under the cursor."""
        if action == "export":
            return self.is_any_listed
        if action == "new":
            return not self._shows_archived
        return super().check_action(action, parameters)
