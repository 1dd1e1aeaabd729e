"""The base of dialogs with several fields: a refusal is shown, and what was typed is not dropped unasked."""

import json
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widget import Widget
from textual.widgets import Button, Select, Static

from core.domain.errors import StoryEngineError
from storyengine_tui.widgets.dialogs.confirm_modal import NOT_STORED, ConfirmModal, ask_first
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.dialogs.stored_text_modal import BEGUN_OVER, Draft
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from storyengine_tui.widgets.fields.tick import Tick
from storyengine_tui.widgets.text_line import show_line

CHOICES_NOT_STORED: Final = "Your choices are not stored, and will be lost; your text is kept."
Typed = TypeVar("Typed")


class FormModal(BoxModal[ScreenResultType], Generic[ScreenResultType, Typed]):
    """Ends with the result of `store`; Esc and the cancel button end it without, after a question if needed.

    `typed` is compared with its initial value, so it is a value with an equality. `kept` has the texts that
    were changed until they are stored or discarded, and the dialog begins with them; it has no choices.
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

    def __init__(self, kept: Draft | None = None) -> None:
        super().__init__()
        self._kept = kept
        self._texts: dict[str, str] = {}
        """The texts of the fields when the dialog opened, by the names of these."""
        self._choices: Sequence[object] = ()
        """The choices when the dialog opened."""

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
        """That what was typed or chosen is not stored, and not kept either."""
        if self._kept is None:
            return NOT_STORED if self.has_changes else ""
        return CHOICES_NOT_STORED if self._choices_now() != self._choices else ""

    @property
    def has_changes(self) -> bool:
        """Whether anything was typed or chosen."""
        return self.typed != self._begun

    def compose(self) -> ComposeResult:
        """Compose the title, the fields, what was refused, and the two answers."""
        with Vertical(classes="dialog--box"):
            yield Static(Content(self.heading), classes="dialog--title")
            yield from self.compose_fields()
            yield from self.compose_answers(self.SAVE, "save")

    def on_mount(self) -> None:
        """Remember the fields as they are."""
        self._begun = self.typed
        self._texts, self._choices = self._texts_now(), self._choices_now()
        before = {} if self._kept is None else read_fields(self._kept)
        for field in self.query(CappedTextArea):
            if field.id in before:
                field.load_text(before[field.id])
        if before:
            show_line(self, "#refused", BEGUN_OVER)

    def on_unmount(self) -> None:
        """Let another window have what is not stored, such as where the program ends."""
        if self._kept is not None:
            self._kept.close()

    def _texts_now(self) -> dict[str, str]:
        return {field.id: field.text for field in self.query(CappedTextArea) if field.id is not None}

    def _choices_now(self) -> list[object]:
        ticked = (checks.ticked for checks in self.query(SlotChecks))
        chosen = (choice.value for choice in self.query(Select))
        return [*ticked, *chosen, *(tick.is_on for tick in self.query(Tick))]

    @on(CappedTextArea.Edited)
    def _keep(self) -> None:
        if self._kept is not None:
            before = self._texts
            texts = {name: text for name, text in self._texts_now().items() if text != before.get(name, text)}
            self._kept.keep(json.dumps(texts, ensure_ascii=False) if texts else "")

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close; what was typed is stored or discarded."""
        if self._kept is not None:
            self._kept.forget()
        return super().dismiss(result)

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
            # The layout that gives it a place comes later.
            self.call_after_refresh(self.query_one("#refused").scroll_visible, animate=False)
        else:
            self.dismiss(result)

    def _set_read_only(self, is_read_only: bool) -> None:
        """Take no keys into the texts while they are stored: they would be lost when the dialog closes."""
        for field in self.query(CappedTextArea):
            field.read_only = is_read_only

    def action_cancel(self) -> None:
        """Leave; if something was typed, ask first. What is being stored closes the dialog itself."""
        if self._is_storing:
            return
        if not self.has_changes:
            self.dismiss(None)
            return
        question = ConfirmModal("Discard the changes?", NOT_STORED, confirm="Discard", cancel="Keep writing")
        ask_first(self.app, question, lambda: self.dismiss(None))


def read_fields(kept: Draft) -> dict[str, str]:
    """Return the texts of a file by the names of their fields; none where it is no such file."""
    try:
        texts = json.loads(kept.read() or "{}")
    except (ValueError, RecursionError):
        texts = {}
    found = texts.items() if isinstance(texts, dict) else ()
    return {name: text for name, text in found if isinstance(text, str)}


def field_row(label: str, field: Widget, *, has_frame: bool = False) -> Horizontal:
    """Return a field behind its label: on a row without a frame, or on three with one."""
    return Horizontal(
        Static(label, classes="dialog--label", markup=False),
        field,
        classes="dialog--field" if has_frame else "dialog--choice",
    )
