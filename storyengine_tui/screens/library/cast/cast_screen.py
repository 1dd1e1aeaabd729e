"""The characters of the library: where they came from, what they are, and how they go into a file again."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from core.domain.clock import utc_now
from core.domain.errors import IllegalCommandError
from core.domain.ids import CharacterId
from core.library.cards.card_file import CardFormat
from core.library.cards.writing import WrittenCard
from core.library.characters.character import LibraryCharacter, pause_text, read_end
from core.text.cleaning import clean_line
from core.text.graphemes import head
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.cast.character_modals import DetailsModal, IdentityModal, PauseModal
from storyengine_tui.screens.library.cast.nature_screen import NatureScreen
from storyengine_tui.screens.library.proposals.proposals_screen import ProposalsScreen
from storyengine_tui.screens.library.proposals.proposing import answered
from storyengine_tui.screens.library.shelf.kept_shelf import KeptShelf
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.screens.shared.list_screen import cut
from storyengine_tui.screens.shared.window_text import DialogText
from storyengine_tui.widgets.dialogs.confirm_modal import ask_first

if TYPE_CHECKING:
    from core.engine.services.library.characters import CharacterLibrary

_SHOWN = 200
ASKED = "{:,} proposed for “{}”: c shows what is proposed"
NO_CHAPTER = "Open a chapter first (F5, then 2): the call is recorded in it."


class CastScreen(KeptShelf[LibraryCharacter]):
    """Lists the characters."""

    SHELF = "cast"
    WHAT = "character"
    LISTED = "Your characters, kept across chapters"
    NONE_LISTED = (
        "There is no character yet; i imports cards, n makes one. "
        "“Keep this character in the library” (Ctrl+P on tab 1) keeps one of a chapter."
    )
    HELP = (
        "Enter edits the identity of a character, t its name. i imports character cards, a file or a folder; "
        "a file that you drop on a list, or the JSON of a card that you paste, is offered too. "
        "x writes one as .json, .png or .charx, in which only your changes differ. a archives, v shows the "
        "archive, where r restores and p deletes for good. d edits its short description, other names, "
        "groups and model; u pauses it until a day, or resumes it. g lets a model propose missing details, "
        "and c shows the proposals. e edits its traits and topics."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "details", "Details"),
        # Without a place in the line of keys, which is full; the row that has proposals names the key.
        Binding("e", "nature", "Traits and topics", show=False),
        Binding("u", "pause", "Pause", show=False),
        Binding("c", "proposals", "Proposals", show=False),
        Binding("g", "gaps", "Fill gaps", show=False),
    ]

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._proposed: Counter[CharacterId] = Counter()
        """Number of proposals for each character."""

    @property
    def columns(self) -> dict[str, int]:
        """The widths of the columns."""
        names = max(16, min(30, self.size.width // 4))
        return {"Name": names, "Group": 10, "What it is": max(20, self.size.width - names - 18)}

    def cells_of(self, row: LibraryCharacter) -> tuple[Text, Text, Text]:
        """Return name, group and description."""
        about = row.short_description or clean_line(head(row.identity, _SHOWN))
        proposed = f"{count:,} proposed (c)" if (count := self._proposed[row.id]) else ""
        about = " · ".join(filter(None, (pause_text(row, utc_now()), proposed, about)))
        return (cut(row.name), cut(row.group), cut(about))

    def words_of(self, row: LibraryCharacter) -> str:
        """Return names, group and description."""
        return " ".join((*row.names, row.group, row.short_description, head(row.identity, _SHOWN)))

    @property
    def library(self) -> "CharacterLibrary":
        """The characters."""
        return self._workspace.require_engine().library.characters

    async def read(self, *, is_archived: bool) -> Sequence[LibraryCharacter]:
        """Return the characters, and count what is proposed for each."""
        listed = await super().read(is_archived=is_archived)
        offered = await self._workspace.require_engine().library.proposals.offered() if listed else []
        self._proposed = Counter(one.character.id for one in offered)
        return listed

    async def export(self, row: LibraryCharacter, format_: CardFormat) -> WrittenCard:
        """Return a character as a file."""
        return await self.library.export(row, format_)

    async def make(self, name: str) -> str:
        """Store a new character."""
        character = await self.library.create(name)
        return f"Made “{character.name}”; Enter writes its identity"

    async def rename(self, row: LibraryCharacter, name: str) -> None:
        """Store another name."""
        await self.library.edit(row, replace(row, name=name))

    def forget(self, row: LibraryCharacter) -> None:
        """Delete what was typed of it and not stored."""
        KeptText.forget_all_of(row.id, self._workspace.paths.data)

    def action_open(self) -> None:
        """Edit the identity of the character under the cursor."""
        row = self.chosen
        if row is None or self._shows_archived:
            return
        self.do(self._edit_identity(row.id))

    async def _edit_identity(self, character_id: CharacterId) -> None:
        """Edit the identity as it is stored now; what was typed before the program ended is there again."""
        now = await self.library.by_id(character_id)
        if not self.is_active:  # Enter came twice.
            return
        kept = self._kept_text("identity", character_id)
        self.app.push_screen(IdentityModal(self.library, now, kept), self.read_again)

    def action_details(self) -> None:
        """Edit what is told of the character under the cursor, its other names and groups."""
        row = self.chosen
        if row is None:
            return

        async def store(changed: LibraryCharacter) -> None:
            await self.library.edit(row, changed)

        kept = self._kept_text("details", row.id)
        ask_first(self.app, DetailsModal(row, store, kept), self.read_again)

    def action_nature(self) -> None:
        """Edit the traits and topics of the character under the cursor."""
        row = self.chosen
        if row is None:
            return

        kept = partial(self._kept_text, of=row.id)
        self.app.push_screen(NatureScreen(self.library, row, kept), self.read_again)

    def _kept_text(self, what: str, of: CharacterId) -> DialogText:
        """Return the file for something of a character that is written in this window."""
        return DialogText(KeptText.of(what, of, self._workspace.paths.data).of_windows)

    def action_pause(self) -> None:
        """Pause the character under the cursor, after asking until when; resume one that is paused."""
        row = self.chosen
        if row is None:
            return
        if row.is_paused_at(utc_now()):
            self.do_to(row, self._resume)
        else:
            self.ask(PauseModal(""), partial(self._pause, row))

    async def _pause(self, row: LibraryCharacter, typed: str) -> None:
        paused = await self.library.pause(row, read_end(typed))
        self._outcome = f"“{paused.name}” is {pause_text(paused, utc_now())}; u resumes it"

    async def _resume(self, row: LibraryCharacter) -> None:
        await self.library.resume(row)
        self._outcome = f"“{row.name}” is no longer paused"
        if self._workspace.session is not None:
            await self._workspace.session.end_pauses()

    def action_proposals(self) -> None:
        """Show what is proposed for the character under the cursor."""
        if self.chosen is not None:
            self._show_proposals(self.chosen)

    def _show_proposals(self, row: LibraryCharacter) -> None:
        library = self._workspace.require_engine().library.proposals
        self.app.push_screen(ProposalsScreen(library, row.id, row.name), self.read_again)

    def action_gaps(self) -> None:
        """Ask a model what the character under the cursor lacks; the open chapter records the call."""
        if self.chosen is not None:
            self.do(self._fill_gaps(self.chosen))

    async def _fill_gaps(self, row: LibraryCharacter) -> None:
        session = self._workspace.session
        if session is None:
            raise IllegalCommandError(NO_CHAPTER)
        asked = await session.cast_work.fill_gaps(row)
        self.say(f"Asking {session.cast_work.model} what “{row.name}” lacks …")
        try:
            await answered(session, [asked])
        finally:
            self.say(self.standing_texts()[0])
        await self.reread()
        if self.is_active and not self._field.has_focus:
            self._show_proposals(row)
        else:
            # Letters that are typed would take and drop them.
            self.say(ASKED.format(self._proposed[row.id], row.name))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible; proposals show once there are some."""
        if action == "proposals":
            return not self._shows_archived and self.chosen is not None and bool(self._proposed)
        if action in ("details", "nature", "pause", "gaps"):
            return self.is_any_listed
        return super().check_action(action, parameters)
