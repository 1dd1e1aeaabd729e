"""The base of dialogs whose text is stored before they close: a refusal is shown, and the text stays."""

from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.widgets import Button, Static

from core.text.cleaning import is_blank
from storyengine_tui.widgets.dialogs.overlay_screen import STORE_KEY, TextDialog
from storyengine_tui.widgets.dialogs.storing_modal import StoringModal, UnstoredText
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter

BEGUN: Final = "You wrote this before, and did not save it."
_TALL: Final = 36
"""Rows of a screen with room for a larger dialog."""
BEGUN_OVER: Final = f"{BEGUN} Cancel and discard it to see what is saved."


class StoredTextModal(StoringModal[bool], TextDialog):
    """Ends with True once `store` has accepted the text.

    `limit` is how many characters the text may have; one that was begun is never cut, however long. It begins
    with the text of `kept`, or else with the `stored` one.
    """

    HELP = TextDialog.HELP
    IS_FINAL = False
    AUTO_FOCUS = "CappedTextArea"
    heading: str
    """The title of the dialog."""
    EFFECT: ClassVar[str]
    PLACEHOLDER: ClassVar = ""
    SAVE = "Save"
    SAVE_ACTION = "store"

    _area = getters.query_one(CappedTextArea)

    def __init__(
        self,
        store: Callable[[str], Awaitable[None]],
        limit: int,
        stored: str = "",
        kept: UnstoredText | None = None,
    ) -> None:
        super().__init__(kept)
        self._store = store
        self._stored = stored
        self._begun = (kept.read() if kept is not None else "") or stored
        self._limit = limit

    @property
    def effect(self) -> str:
        """Effect of the text once it is stored."""
        return self.EFFECT

    @property
    def has_changes(self) -> bool:
        """Whether the GM wrote something: it can be stored, and would be lost."""
        return self._area.text != self._stored

    @property
    def notes(self) -> Iterable[tuple[str, bool]]:
        """Yield the lines about this text, each with whether it is above the field."""
        if self._begun != self._stored:
            yield (BEGUN_OVER if self._stored else BEGUN), True

    def compose(self) -> ComposeResult:
        """Compose what the text does, the field with its counter, and the two answers."""
        self._fit_height()
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
            yield Static("", id="refused", classes="dialog--text", markup=False)
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button(self.SAVE, id="add", classes="action", disabled=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim the key that stores while there is nothing to store."""
        if action == "store":
            return True if self._can_store else None
        return super().check_action(action, parameters)

    def on_key(self, event: Key) -> None:
        """Store by a key that was dimmed as it came: the field has what was typed before it by now."""
        if event.key == STORE_KEY:
            event.stop()
            if self._can_store:
                self.action_store()

    @property
    def _can_store(self) -> bool:
        # The key line asks already while the dialog is composed.
        is_there = bool(self.query(CappedTextArea))
        return is_there and not self._is_storing and not is_blank(self._area.text) and self.has_changes

    def compose_choices(self) -> ComposeResult:
        """Compose what is chosen beside the text; usually nothing."""
        yield from ()

    def on_mount(self) -> None:
        """Nothing has been refused yet."""
        self.query_one("#refused").display = False
        self._place_cursor()
        self._show_length()

    def on_resize(self) -> None:
        """Use the rows that there are now; the base, which Textual calls as well, measures the fields."""
        self._fit_height()

    def _fit_height(self) -> None:
        # Not by Textual's breakpoints: they hold after the first picture, and a click would miss a button
        # that moves away.
        self.set_class(self.app.size.height >= _TALL, "-tall")

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
        button = self.query_one("#add", Button)
        if button.disabled == self._can_store:
            button.disabled = not self._can_store
            self.refresh_bindings()

    def show_refusal(self, text: str) -> None:
        """Show it, and let the GM edit the text."""
        super().show_refusal(text)
        self._show_length()
        self._area.focus()

    async def store_typed(self) -> bool:
        """Store the text."""
        await self._store(self._area.text)
        return True
