"""Edits the identity of a character of the library."""

from collections.abc import Awaitable, Callable

from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal


class IdentityModal(StoredTextModal):
    """Ends with True once the identity was stored."""

    HELP = "The identity of a character in the library. Chapters that took it keep what they took."
    EFFECT = "Chapters that took it keep what they took. A chapter has room for 5,000 characters."
    PLACEHOLDER = "Who this character is: nature, history, voice, wishes, secrets."
    LOSS = ("Discard the changes?", "What you changed of the identity is not stored, and will be lost.")

    def __init__(self, name: str, store: Callable[[str], Awaitable[None]], limit: int, begun: str) -> None:
        super().__init__(store, limit, begun)
        self._character = name

    @property
    def heading(self) -> str:
        """The title of the dialog."""
        return f"Who {self._character} is"

    @property
    def has_changes(self) -> bool:
        """Whether the text differs from what is stored."""
        return self._area.text != self._begun
