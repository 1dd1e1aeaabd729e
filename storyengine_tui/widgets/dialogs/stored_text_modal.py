"""The base of dialogs whose text is stored before they close: a refusal is shown, and the text stays."""

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import ClassVar, Final, Protocol

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from core.domain.errors import StoryEngineError
from core.text.cleaning import is_blank
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first
from storyengine_tui.widgets.dialogs.overlay_screen import TextDialog
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter
from storyengine_tui.widgets.text_line import show_line

BEGUN: Final = "You wrote this before, and did not store it."
BEGUN_OVER: Final = f"{BEGUN} Cancel and discard it to see what is stored."


class Draft(Protocol):
    """A file for a text until it is stored or discarded: the program may be killed before."""

    def read(self) -> str:
        """Return the text, or an empty one."""

    def keep(self, text: str) -> None:
        """Replace the text; an empty one deletes it."""

    def forget(self) -> None:
        """Delete the text."""

    def close(self) -> None:
        """Let another window have the file, and the text in it."""


class StoredTextModal(TextDialog):
    """Ends with True once `store` has accepted the text, else with False.

    `limit` is how many characters the text may have; one that was begun is never cut, however long. It begins
    with the text of `kept`, or else with the `stored` one.
    """

    IS_FINAL = False
    AUTO_FOCUS = "CappedTextArea"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-tall")]  # noqa: RUF012  # declared for instances by Textual
    # Absolute: a subclass may be elsewhere, and Textual would look beside it.
    CSS_PATH = Path(__file__).with_name("dialog.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]
    heading: str
    """The title of the dialog."""
    EFFECT: ClassVar[str]
    PLACEHOLDER: ClassVar = ""
    ADD: ClassVar = "Store"
    LOSS: ClassVar[tuple[str, str]]
    """The question before a text is discarded, and what would be lost."""

    _area = getters.query_one(CappedTextArea)

    def __init__(
        self, store: Callable[[str], Awaitable[None]], limit: int, stored: str = "", kept: Draft | None = None
    ) -> None:
        super().__init__()
        self._store = store
        self._stored = stored
        self._kept = kept
        self._begun = (kept.read() if kept is not None else "") or stored
        self._limit = limit
        self._is_storing = False

    @property
    def effect(self) -> str:
        """Effect of the text once it is stored."""
        return self.EFFECT

    @property
    def has_changes(self) -> bool:
        """Whether the GM wrote something: it can be stored, and would be lost."""
        return self._area.text != self._stored

    @property
    def unsaved(self) -> str:
        """The loss of a text that no file has."""
        return self.LOSS[1] if self.has_changes and self._kept is None else ""

    @property
    def notes(self) -> Iterable[tuple[str, bool]]:
        """Yield the lines about this text, each with whether it is above the field."""
        if self._begun != self._stored:
            yield (BEGUN_OVER if self._stored else BEGUN), True

    def compose(self) -> ComposeResult:
        """Compose what the text does, the field with its counter, and the two answers."""
        with Vertical(classes="dialog--box"):
            with Horizontal(classes="dialog--line"):
                yield Static(self.heading, classes="dialog--title", markup=False)
                yield CharCounter(self._limit, id="text-counter")
            yield Static(self.effect, classes="dialog--text")
            for note, is_above in self.notes:
                if is_above:
                    yield Static(note, classes="dialog--muted", markup=False)
            limit = max(self._limit, len(self._begun))
            yield CappedTextArea(self._begun, limit=limit, placeholder=self.PLACEHOLDER, id="text")
            for note, is_above in self.notes:
                if not is_above:
                    yield Static(note, classes="dialog--muted", markup=False)
            yield from self.compose_choices()
            yield Static("", id="text-refused", classes="dialog--text", markup=False)
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button(self.ADD, id="add", classes="action", disabled=True)

    def compose_choices(self) -> ComposeResult:
        """Compose what is chosen beside the text; usually nothing."""
        yield from ()

    def on_mount(self) -> None:
        """Nothing has been refused yet."""
        self.query_one("#text-refused").display = False
        self._place_cursor()
        self._show_length()

    def on_unmount(self) -> None:
        """Let another window have what is not stored, such as where the program ends."""
        if self._kept is not None:
            self._kept.close()

    def _place_cursor(self) -> None:
        """Put the cursor at the end of a text that was begun."""
        self._area.move_cursor(self._area.document.end)

    @on(CappedTextArea.Edited)
    def _handle_edit(self) -> None:
        if self._kept is not None:
            self._kept.keep(self._area.text if self.has_changes else "")
        self._show_length()

    def _show_length(self) -> None:
        self.query_one(CharCounter).show(self._area.length)
        is_empty = is_blank(self._area.text) or not self.has_changes
        self.query_one("#add", Button).disabled = self._is_storing or is_empty

    @on(Button.Pressed, "#add")
    def _add(self) -> None:
        if not self._is_storing:
            # What is typed from now on would be lost when the dialog closes.
            self._is_storing = self._area.read_only = True
            self.run_worker(self._save(self._area.text), group="store", exit_on_error=False)

    async def _save(self, text: str) -> None:
        """Store the text and close; if it is refused, say why and let the GM edit it."""
        try:
            await self._store(text)
        except Exception as error:
            self._is_storing = self._area.read_only = False
            self._show_length()
            if not isinstance(error, StoryEngineError):
                raise
            show_line(self, "#text-refused", f"Not stored. {error}")
            self._area.focus()
        else:
            self._close(is_stored=True)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Leave; if a text would be lost, ask first. What is being stored closes the dialog itself."""
        if self._is_storing:
            return
        if not self.has_changes:
            self._close(is_stored=False)
            return
        title, loss = self.LOSS
        question = ConfirmModal(title, loss, confirm="Discard", cancel="Keep writing")
        ask_first(self.app, question, lambda: self._close(is_stored=False))

    def _close(self, *, is_stored: bool) -> None:
        if self._kept is not None:
            self._kept.forget()
        self.dismiss(is_stored)
