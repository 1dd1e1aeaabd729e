"""One trait or one topic of a character of the library, as fields."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from core.domain.errors import StoryEngineError
from core.library.characters.checks import BOUNDS, LONGEST_TEXT
from core.library.characters.nature import TITLES, Nature, is_number, kind_of, texts_of, typed
from core.library.names import LONGEST_NAME
from core.text.cleaning import clean_line
from storyengine_tui.widgets.dialogs import line_modal
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.dialogs.overlay_screen import OverlayModal
from storyengine_tui.widgets.fields.one_line import LineField

_LONGEST_NUMBER = 24


class NatureModal(OverlayModal[bool]):
    """Ends with True once what was typed is stored; a refusal is shown, and the fields stay."""

    CSS_PATH = Path(line_modal.__file__).with_name("dialog.tcss")
    AUTO_FOCUS = "LineField"
    HELP = (
        "Sentiment says how the character feels about it, from -1 to 1. Strength says how strong a trait is, "
        "exposure how much a topic is talked about: now, and as much as you want it; each from 0 to 1. "
        "Exposure moves with play, by proposals that you take."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+s", "save", "Save", priority=True),
    ]

    def __init__(self, item: Nature, store: Callable[[Nature], Awaitable[None]], *, is_new: bool) -> None:
        super().__init__()
        self._item = item
        self._store = store
        self._is_new = is_new
        self._begun: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """Compose a line for each field, the bounds, and the two answers."""
        item, texts = self._item, texts_of(self._item)
        heading = f"A new {kind_of(item)}" if self._is_new else f"The {kind_of(item)} “{item.name}”"
        with Vertical(classes="dialog--box"):
            yield Static(Content(heading), classes="dialog--title")
            for name, text in texts.items():
                limit = LONGEST_NAME if name == "name" else LONGEST_TEXT
                limit = _LONGEST_NUMBER if is_number(item, name) else limit
                with Horizontal(classes="dialog--field"):
                    yield Static(TITLES[name], classes="dialog--label")
                    yield LineField(clean_line(text), limit=limit, id=name)
            yield Static(Content(BOUNDS[type(item)]), classes="dialog--muted")
            yield Static("", id="refused", classes="dialog--text", markup=False)
            with Horizontal(classes="dialog--buttons"):
                yield Button("Cancel", id="cancel")
                yield Button("Save", id="save", classes="action")

    def on_mount(self) -> None:
        """Nothing has been refused yet."""
        self.query_one("#refused").display = False
        self._begun = self._typed

    @property
    def _typed(self) -> dict[str, str]:
        return {name: self.query_one(f"#{name}", LineField).text for name in texts_of(self._item)}

    @property
    def _changed(self) -> dict[str, str]:
        """What was edited; a text of several lines is shown on one, and otherwise stays as it is."""
        return {name: text for name, text in self._typed.items() if text != self._begun[name]}

    @on(Button.Pressed, "#save")
    def action_save(self) -> None:
        """Store what was typed, behind the keys that came before."""
        self.call_later(
            lambda: self.run_worker(self._save(), group="store", exclusive=True, exit_on_error=False)
        )

    async def _save(self) -> None:
        try:
            await self._store(typed(self._item, self._changed))
        except StoryEngineError as error:
            refused = self.query_one("#refused", Static)
            refused.update(Content(f"Not stored. {error}"))
            refused.display = True
        else:
            self.dismiss(True)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Leave; if something was typed, ask first."""
        if not self._changed:
            self.dismiss(False)
            return

        def leave(is_discarded: bool | None) -> None:
            if is_discarded:
                self.dismiss(False)

        text = "What you typed here is not stored, and will be lost."
        self.app.push_screen(
            ConfirmModal("Discard the changes?", text, confirm="Discard", cancel="Keep writing"), leave
        )
