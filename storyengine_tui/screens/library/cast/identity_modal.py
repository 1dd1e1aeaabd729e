"""Edits the identity of a character of the library."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from core.domain.errors import ChangedElsewhereError
from core.library.characters.character import LibraryCharacter
from core.library.characters.checks import LONGEST_IDENTITY
from storyengine_tui.screens.library.shelf.kept_shelf import COPIES_STAY
from storyengine_tui.screens.setup.cast_panels import IDENTITY_PLACEHOLDER
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal

if TYPE_CHECKING:
    from core.engine.services.library.characters import CharacterLibrary

BEGUN = "You wrote this before, and did not store it. Cancel and discard it to see the stored identity."
OTHER = "The identity was changed in another window"
OTHER_TEXT = (
    "Your text is still here. Store it over the other one, or read yours again first. The other one is:\n\n"
)


class IdentityModal(StoredTextModal):
    """Ends with True once the identity was stored.

    What else of the character was changed meanwhile stays; where the identity itself was, the GM is asked.
    `kept` holds what is typed until it is stored or discarded, for the program may be killed.
    """

    HELP = f"The identity of a character in the library. {COPIES_STAY}"
    EFFECT = f"{COPIES_STAY} A chapter has room for 5,000 characters."
    PLACEHOLDER = IDENTITY_PLACEHOLDER
    LOSS = ("Discard the changes?", "Your changes of the identity are not stored, and will be lost.")

    def __init__(self, library: "CharacterLibrary", character: LibraryCharacter, kept: KeptText) -> None:
        typed = kept.read()
        super().__init__(self._store_identity, LONGEST_IDENTITY, typed or character.identity)
        self._library = library
        self._character = character
        self._kept = kept
        self._was_typed = bool(typed) and typed != character.identity

    @property
    def heading(self) -> str:
        """The title of the dialog."""
        return f"Who {self._character.name} is"

    @property
    def has_changes(self) -> bool:
        """Whether the text differs from the stored one."""
        return self._area.text != self._character.identity

    @property
    def notes(self) -> Iterable[tuple[str, bool]]:
        """Say that the text was begun before."""
        if self._was_typed:
            yield BEGUN, True

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

        def store(is_over: bool | None) -> None:
            if is_over:
                self._character = now
                self._add()

        self.app.push_screen(
            ConfirmModal(OTHER, OTHER_TEXT + now.identity, confirm="Store mine", cancel="Look again"), store
        )

    def _keep(self, text: str) -> None:
        # As it is stored, there is nothing to keep.
        self._kept.keep("" if text == self._character.identity else text)

    def _forget(self) -> None:
        self._kept.forget()
