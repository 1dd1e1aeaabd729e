"""Dialogs about a character of the library: its identity, its names and groups, and a pause."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from core.domain.errors import ChangedElsewhereError
from core.domain.session.limits import LONGEST_NAME
from core.domain.session.profile import LONGEST_MODEL, LONGEST_SHORT_DESCRIPTION, MOST_ALIASES, MOST_GROUPS
from core.library.characters.character import LibraryCharacter, read_end
from core.library.characters.checks import LONGEST_IDENTITY
from core.text.name_list import shown_names, typed_names
from storyengine_tui.screens.library.shelf.kept_shelf import COPIES_STAY
from storyengine_tui.screens.setup.cast_panels import IDENTITY_PLACEHOLDER
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first
from storyengine_tui.widgets.dialogs.form_modal import FormModal, field_row
from storyengine_tui.widgets.dialogs.line_modal import LineModal, refusal_of
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal
from storyengine_tui.widgets.dialogs.storing_modal import UnstoredText
from storyengine_tui.widgets.fields.one_line import LineField

if TYPE_CHECKING:
    from core.engine.services.library.characters import CharacterLibrary

OTHER = "The identity was changed in another window"
OTHER_TEXT = (
    "Your text is still here. Save it over the other one, or read yours again first. The other one is:\n\n"
)


class IdentityModal(StoredTextModal):
    """Ends with True once the identity was stored.

    What else of the character was changed meanwhile stays; where the identity itself was, the GM is asked.
    """

    HELP = f"The identity of a character in the library. {COPIES_STAY}"
    EFFECT = f"{COPIES_STAY} A chapter has room for 5,000 characters."
    PLACEHOLDER = IDENTITY_PLACEHOLDER
    LOSS = ("Discard the changes?", "Your changes of the identity are not saved, and will be lost.")

    def __init__(self, library: "CharacterLibrary", character: LibraryCharacter, kept: UnstoredText) -> None:
        super().__init__(self._store_identity, LONGEST_IDENTITY, character.identity, kept)
        self._library = library
        self._character = character
        self.heading = f"Who {character.name} is"

    async def _store_identity(self, text: str) -> None:
        begun = self._character
        try:
            await self._library.edit(begun, replace(begun, identity=text))
        except ChangedElsewhereError:
            now = await self._library.by_id(begun.id)
            if now.identity != begun.identity:
                self._ask(now)
            raise

    def _ask(self, now: LibraryCharacter) -> None:
        """Ask what holds, the other identity or this one."""

        def store() -> None:
            self._character, self._stored = now, now.identity
            self.action_store()

        text = OTHER_TEXT + now.identity
        ask_first(self.app, ConfirmModal(OTHER, text, confirm="Save mine", cancel="Look again"), store)


CHANGED_BY = (("you, and proposals that you take", False), ("you alone", True))


class PauseModal(LineModal):
    """Ends with the end of a pause as it was typed."""

    HEADING = "Pause until"
    PLACEHOLDER = "2030-05-31 or 2030-05-31 18:00"
    NOTE = "Leave it blank to pause until you resume the character. It is away in chapters locked meanwhile."
    LIMIT = 40
    SAVE = "Pause"

    def refusal(self, line: str) -> str:
        """Refuse what is no day."""
        return refusal_of(read_end, line)


class DetailsModal(FormModal[bool, LibraryCharacter]):
    """Ends with True once what was typed is stored."""

    AUTO_FOCUS = "LineField"
    HELP = (
        "The others on stage are told the short description. Other names find the character wherever you "
        "type a name. A secret or a lorebook for a group is for those who belong to it or see it; without a "
        "group it is for General. Separate several names or groups by semicolons. The model "
        "plays this character in every chapter that takes it, unless F6 sets another one for its slot."
    )

    def __init__(
        self,
        character: LibraryCharacter,
        store: Callable[[LibraryCharacter], Awaitable[None]],
        kept: UnstoredText,
    ) -> None:
        super().__init__(kept)
        self.heading = f"What is told of {character.name}"
        self._character = character
        self._store = store

    def compose_fields(self) -> ComposeResult:
        """Compose a line for each field."""
        one, several = self._character, LONGEST_NAME + len("; ")
        for name, label, text, limit in (
            ("short", "Short description", one.short_description, LONGEST_SHORT_DESCRIPTION),
            ("aliases", "Other names", shown_names(one.aliases), MOST_ALIASES * several),
            ("group", "Group", one.group, LONGEST_NAME),
            ("sees", "Sees groups", shown_names(one.groups_visible), MOST_GROUPS * several),
        ):
            yield field_row(label, LineField(text, limit=limit, id=name), has_frame=True)
        yield field_row("Model", LineField(one.model, limit=LONGEST_MODEL, id="model"))
        choice = GuardedSelect(CHANGED_BY, value=one.is_static, allow_blank=False, compact=True, id="static")
        yield field_row("Changed by", choice)

    @property
    def typed(self) -> LibraryCharacter:
        """The character with the values of the fields."""

        def text(name: str) -> str:
            return self.query_one(f"#{name}", LineField).text

        return replace(
            self._character,
            short_description=text("short"),
            aliases=typed_names(text("aliases"), self._character.aliases),
            group=text("group"),
            groups_visible=typed_names(text("sees"), self._character.groups_visible),
            model=text("model"),
            is_static=self.query_one("#static", GuardedSelect).value is True,
        )

    async def store(self, typed: LibraryCharacter) -> bool:
        """Store the character."""
        await self._store(typed)
        return True
