"""The base of dialogs that store what was typed: a refusal is shown, and nothing typed is dropped unasked."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

from textual import on
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ScreenResultType
from textual.widgets import Button, Select

from core.domain.errors import StoryEngineError
from storyengine_tui.widgets.dialogs.confirm_modal import NOT_STORED, ConfirmModal, ask_first
from storyengine_tui.widgets.dialogs.overlay_screen import BoxModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from storyengine_tui.widgets.fields.tick import Tick
from storyengine_tui.widgets.text_line import show_line

CHOICES_NOT_STORED: Final = "Your choices are not saved, and will be lost; your text is kept."


class UnstoredText(Protocol):
    """A file for a text until it is stored or discarded: the program may be killed before."""

    def read(self) -> str:
        """Return the text, or an empty one."""

    def keep(self, text: str) -> None:
        """Replace the text; an empty one deletes it."""

    def forget(self) -> None:
        """Delete the text."""

    def close(self) -> None:
        """Let another window have the file, and the text in it."""


class StoringModal(BoxModal[ScreenResultType]):
    """Ends with the result of `store_typed`; Esc ends it without one, after a question if needed.

    `#refused` has the reason of a refusal. `kept` has what was typed until it is stored or discarded.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]
    REFUSED: ClassVar = "Not saved. "
    """Words before the reason of a refusal."""
    LOSS: ClassVar[tuple[str, str]] = ("Discard the changes?", NOT_STORED)
    """The question before something is discarded, and what would be lost."""

    _is_storing = False

    def __init__(self, kept: UnstoredText | None = None) -> None:
        super().__init__()
        self._kept = kept
        self._choices: Sequence[object] = ()
        """The choices when the dialog opened."""

    @abstractmethod
    async def store_typed(self) -> ScreenResultType:
        """Store what was typed and return the result; raises StoryEngineError where it is refused."""

    @property
    def has_changes(self) -> bool:
        """Whether anything was typed or chosen that would be lost."""
        return False

    @property
    def unsaved(self) -> str:
        """The loss of changes that are in no file: all of them, or the choices beside a kept text."""
        if not self.has_changes:
            return ""
        if self._kept is None:
            return self.LOSS[1]
        return CHOICES_NOT_STORED if self._choices_now() != self._choices else ""

    def on_mount(self) -> None:
        """Remember the choices as they are."""
        self._choices = self._choices_now()

    def _choices_now(self) -> list[object]:
        ticked = (checks.ticked for checks in self.query(SlotChecks))
        chosen = (choice.value for choice in self.query(Select))
        return [*ticked, *chosen, *(tick.is_on for tick in self.query(Tick))]

    def on_unmount(self) -> None:
        """Let another window have what is not stored, such as where the program ends."""
        if self._kept is not None:
            self._kept.close()

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close; what was typed is stored or discarded."""
        if self._kept is not None:
            self._kept.forget()
        return super().dismiss(result)

    @on(Button.Pressed, ".action")
    def action_store(self) -> None:
        """Store what was typed, once, behind the keys that came before."""
        if not self._is_storing:
            self._is_storing = True
            self.call_later(lambda: self.run_worker(self._store_once(), group="store", exit_on_error=False))

    async def _store_once(self) -> None:
        self._set_storing(True)
        try:
            result = await self.store_typed()
        except Exception as error:  # a bug too: the text can be stored again
            self._set_storing(False)
            if not isinstance(error, StoryEngineError):
                raise
            self.show_refusal(f"{self.REFUSED}{error}")
        else:
            self.dismiss(result)

    def _set_storing(self, is_storing: bool) -> None:
        """Take no keys into the texts while they are stored: they would be lost when the dialog closes."""
        self._is_storing = is_storing
        for field in self.query(CappedTextArea):
            field.read_only = is_storing

    def show_refusal(self, text: str) -> None:
        """Show why nothing was stored."""
        show_line(self, "#refused", text)

    def action_cancel(self) -> None:
        """Leave; if something was typed, ask first. What is being stored closes the dialog itself."""
        if self._is_storing:
            return
        if not self.has_changes:
            self.dismiss(None)
            return
        title, loss = self.LOSS
        question = ConfirmModal(title, loss, confirm="Discard", cancel="Keep writing")
        ask_first(self.app, question, lambda: self.dismiss(None))
