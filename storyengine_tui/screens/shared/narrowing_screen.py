"""Base class of screens with a list that narrows to the words in a field above it."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from textual import getters, on
from textual.widget import Widget
from textual.widgets import Input

from core.text.letters import folded
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayScreen
from storyengine_tui.widgets.fields.one_line import EntryField

Result = TypeVar("Result")


class NarrowingScreen(OverlayScreen[Result]):
    """Shows a field with the id `find` at its key; Esc hides that first, and then leaves the screen."""

    AUTO_FOCUS = ""
    """Nothing where the list is empty: Textual would focus the hidden field, which would take every key."""

    _field = getters.query_one("#find", EntryField)

    @property
    @abstractmethod
    def rows(self) -> Sequence[Any]:
        """The rows that the list shows."""

    @property
    @abstractmethod
    def list_of_rows(self) -> Widget:
        """The list, which has the focus when the field is left."""

    @abstractmethod
    def narrow(self) -> None:
        """Show the rows that have the words in the field."""

    @abstractmethod
    def leave(self) -> None:
        """Go back to the screen below."""

    @property
    def words(self) -> list[str]:
        """The words that are looked for, whatever their case; none while the field is hidden."""
        return folded(self._field.value).split() if self._field.display else []

    def action_find(self) -> None:
        """Look for words in the list; it narrows with each letter."""
        self._field.display = True
        self._field.focus()

    @on(Input.Changed, "#find")
    def _narrow(self) -> None:
        if self._field.display:
            self.narrow()

    @on(Input.Submitted, "#find")
    def _leave_field(self) -> None:
        if self.rows:
            self.list_of_rows.focus()

    def hide_field(self) -> None:
        """Look for nothing."""
        self._field.display = False
        self._field.value = ""

    def action_close(self) -> None:
        """Show all of the list again; if that is shown, leave the screen."""
        if self._field.display:
            self.hide_field()
            self.narrow()
            self.list_of_rows.focus()
        else:
            self.leave()
