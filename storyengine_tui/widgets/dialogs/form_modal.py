"""The base of dialogs with several fields: a refusal is shown, and what was typed is not dropped unasked."""

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widget import Widget
from textual.widgets import Button, Static

from core.domain.errors import StoryEngineError
from storyengine_tui.widgets.dialogs.confirm_modal import NOT_STORED, discard_first
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.text_line import show_line

Typed = TypeVar("Typed")


class FormModal(BoxModal[ScreenResultType], Generic[ScreenResultType, Typed]):
    """Ends with the result of `store`; Esc and the cancel button end it without, after a question if needed.

    `typed` is compared with its initial value, so it is a value with an equality.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+s", "save", "Save", priority=True),
    ]

    _begun: Typed
    _is_storing = False

    SAVE: ClassVar[str] = "Save"
    heading: str
    """The title of the dialog."""

    @abstractmethod
    def compose_fields(self) -> ComposeResult:
        """Compose the fields, each in a `field_row`."""

    @property
    @abstractmethod
    def typed(self) -> Typed:
        """The contents of the fields."""

    @abstractmethod
    async def store(self, typed: Typed) -> ScreenResultType:
        """Store it and return the result; raises StoryEngineError where it is refused."""

    @property
    def begun(self) -> Typed:
        """The contents of the fields when the dialog opened."""
        return self._begun

    @property
    def unsaved(self) -> str:
        """That what was typed is not stored."""
        return NOT_STORED if self.typed != self._begun else ""

    def compose(self) -> ComposeResult:
        """Compose the title, the fields, what was refused, and the two answers."""
        with Vertical(classes="dialog--box"):
            yield Static(Content(self.heading), classes="dialog--title")
            yield from self.compose_fields()
            yield Static("", id="refused", classes="dialog--text", markup=False)
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button(self.SAVE, id="save", classes="action")

    def on_mount(self) -> None:
        """Remember the fields as they are; nothing has been refused yet."""
        self.query_one("#refused").display = False
        self._begun = self.typed

    @on(Button.Pressed, "#save")
    def action_save(self) -> None:
        """Store what was typed, once, behind the keys that came before."""
        if not self._is_storing:
            self._is_storing = True
            self.call_later(lambda: self.run_worker(self._save(), group="store", exit_on_error=False))

    async def _save(self) -> None:
        self._set_read_only(True)
        try:
            result = await self.store(self.typed)
        except Exception as error:
            self._is_storing = False
            self._set_read_only(False)
            if not isinstance(error, StoryEngineError):
                raise
            show_line(self, "#refused", f"Not stored. {error}")
            self.query_one("#refused").scroll_visible(animate=False)
        else:
            self.dismiss(result)

    def _set_read_only(self, is_read_only: bool) -> None:
        """Take no keys into the texts while they are stored: they would be lost when the dialog closes."""
        for field in self.query(CappedTextArea):
            field.read_only = is_read_only

    def action_cancel(self) -> None:
        """Leave; if something was typed, ask first. What is being stored closes the dialog itself."""
        if not self._is_storing:
            discard_first(self, None, is_changed=bool(self.unsaved))


def field_row(label: str, field: Widget, *, has_frame: bool = False) -> Horizontal:
    """Return a field behind its label: on a row without a frame, or on three with one."""
    return Horizontal(
        Static(label, classes="dialog--label", markup=False),
        field,
        classes="dialog--field" if has_frame else "dialog--choice",
    )
