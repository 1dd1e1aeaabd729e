"""The lorebooks of the library: where they came from, and how they go into a file again."""

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from core.domain.session.profile import GENERAL
from core.library.cards.card_file import CardFormat
from core.library.cards.writing import WrittenCard
from core.library.lore.kept import KeptLorebook
from storyengine_tui.screens.library.lore.lorebook_screen import LorebookScreen
from storyengine_tui.screens.library.shelf.kept_shelf import KeptShelf
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.list_screen import cut

if TYPE_CHECKING:
    from core.engine.services.library.lorebooks import LoreLibrary


class LoreScreen(KeptShelf[KeptLorebook]):
    """Lists the lorebooks."""

    SHELF = "lore"
    WHAT = "lorebook"
    LISTED = "Your lorebooks, kept across chapters"
    NONE_LISTED = (
        "There is no lorebook yet; n begins one, i imports: from SillyTavern, a card, NovelAI, Agnai or Risu."
    )
    HELP = (
        "Enter edits the entries of a lorebook and tries a text on it, n begins one. i imports lorebooks, a "
        "file or a folder; x writes one: .json in its own format, .png and .charx in a card. t gives one "
        "another name, a archives it, v shows the archive, where r restores and p deletes for good."
    )

    @property
    def columns(self) -> dict[str, int]:
        """The widths of the columns."""
        return {"Name": max(20, self.size.width - 52), "Entries": 8, "Format": 16, "For the groups": 18}

    def cells_of(self, row: KeptLorebook) -> tuple[Text, Text, Text, Text]:
        """Return name, number of entries, format and groups."""
        return (
            cut(row.name),
            Text(f"{row.entry_count:,}", justify="right"),
            cut(row.format),
            cut(", ".join(row.groups) or GENERAL),
        )

    def words_of(self, row: KeptLorebook) -> str:
        """Return name, format and groups."""
        return " ".join((row.name, row.format, *row.groups))

    @property
    def library(self) -> "LoreLibrary":
        """The lorebooks."""
        return self._workspace.require_engine().library.lore

    async def export(self, row: KeptLorebook, format_: CardFormat) -> WrittenCard:
        """Return a lorebook as a file."""
        return await self.library.export(row, format_)

    async def make(self, name: str) -> str:
        """Store an empty lorebook."""
        book = await self.library.create(name)
        return f"Made “{book.name}”; Enter writes its entries"

    async def rename(self, row: KeptLorebook, name: str) -> None:
        """Store another name."""
        await self.library.save(replace(row, name=name))

    def forget(self, row: KeptLorebook) -> None:
        """Delete the text of its entries that was not stored."""
        KeptText.forget_entries_of(row.id, self._workspace.paths.data)

    def action_open(self) -> None:
        """Edit the entries of the lorebook under the cursor."""
        row = self.chosen
        if row is not None and not self._shows_archived and self.is_active:
            self.app.push_screen(LorebookScreen(self._workspace, row), self.read_again)
