"""The base of dialogs with several fields: a refusal is shown, and what was typed is not dropped unasked."""

import json
from abc import abstractmethod
from typing import Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widget import Widget
from textual.widgets import Static

from storyengine_tui.widgets.dialogs.stored_text_modal import BEGUN_OVER
from storyengine_tui.widgets.dialogs.storing_modal import StoringModal, UnstoredText
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.text_line import show_line

Typed = TypeVar("Typed")


class FormModal(StoringModal[ScreenResultType], Generic[ScreenResultType, Typed]):
    """Ends with the result of `store`; Esc and the cancel button end it without, after a question if needed.

    `typed` is compared with its initial value, so it is a value with an equality. `kept` has the texts that
    were changed until they are stored or discarded, and the dialog begins with them; it has no choices.
    """

    begun: Typed
    """The contents of the fields when the dialog opened."""
    SAVE = "Save"
    SAVE_ACTION = "store"
    heading: str
    """The title of the dialog."""

    def __init__(self, kept: UnstoredText | None = None) -> None:
        super().__init__(kept)
        self._texts: dict[str, str] = {}
        """The texts of the fields when the dialog opened, by the names of these."""

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
    def has_changes(self) -> bool:
        """Whether anything was typed or chosen."""
        return self.typed != self.begun

    def compose(self) -> ComposeResult:
        """Compose the title, the fields, what was refused, and the two answers."""
        with Vertical(classes="dialog--box"):
            yield Static(Content(self.heading), classes="dialog--title")
            yield from self.compose_fields()
            yield from self.compose_answers(self.SAVE, "save")

    def on_mount(self) -> None:
        """Remember the fields as they are."""
        self.begun = self.typed
        self._texts = self._texts_now()
        before = {} if self._kept is None else read_fields(self._kept)
        for field in self.query(CappedTextArea):
            if field.id in before:
                field.load_text(before[field.id])
        if before:
            self.show_restored()
            show_line(self, "#refused", BEGUN_OVER)

    def show_restored(self) -> None:
        """Show fields with restored texts, where some are hidden at first."""

    def _texts_now(self) -> dict[str, str]:
        return {field.id: field.text for field in self.query(CappedTextArea) if field.id is not None}

    @on(CappedTextArea.Edited)
    def _keep(self) -> None:
        if self._kept is not None:
            before = self._texts
            texts = {name: text for name, text in self._texts_now().items() if text != before.get(name, text)}
            self._kept.keep(json.dumps(texts, ensure_ascii=False) if texts else "")

    async def store_typed(self) -> ScreenResultType:
        """Store the contents of the fields."""
        return await self.store(self.typed)

    def show_refusal(self, text: str) -> None:
        """Show it, and scroll to it."""
        super().show_refusal(text)
        # The layout that gives it a place comes later.
        self.call_after_refresh(self.query_one("#refused").scroll_visible, animate=False)


def read_fields(kept: UnstoredText) -> dict[str, str]:
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
