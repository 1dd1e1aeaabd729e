"""The question before text leaves this machine, asked once for each address (design 8)."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from core.text.cleaning import clean_line
from storyengine_tui.widgets.dialogs.overlay_screen import TextDialog

WHAT_IS_SENT = (
    "What is sent there when you play, and for the abilities you use:\n"
    "  • world, chapter, cast, secrets, lore and prompt blocks\n"
    "  • prompts, lines and replies, and texts you want help with\n"
    "  • structured memory, memory bank and narrative definition\n\n"
    "Nothing else leaves this machine. The service may store what it receives.\n"
    "To withdraw your consent at any time: storyengine consent revoke."
)

LOOKING = "Looking up which key is sent with it …"


class ConsentModal(TextDialog):
    """Ends with whether the GM grants that text goes to `address`; granting is the caller's."""

    CSS_PATH = "../../../widgets/dialogs/dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "not_now", "Not now")]

    def __init__(self, address: str, models: str, describe_key: Callable[[], Awaitable[str]]) -> None:
        """Make the question; `models` are those called there.

        `describe_key` says in a sentence which key goes along, never what it is.
        """
        super().__init__()
        self._models = clean_line(models)
        self._address = clean_line(address)
        self._describe_key = describe_key

    def compose(self) -> ComposeResult:
        """Compose address, what is sent, and the two answers."""
        with Vertical(classes="dialog--box"):
            yield Static("Send your text to this address?", classes="dialog--title")
            with VerticalScroll(classes="dialog--scroll", can_focus=False):
                yield Static(Content(self._address), classes="dialog--text", id="address")
                yield Static(Content(f"Called there: {self._models}."), classes="dialog--text", id="called")
                yield Static(LOOKING, classes="dialog--text", id="key", markup=False)
                yield Static(Content("\n" + WHAT_IS_SENT), classes="dialog--text")
            with Horizontal(classes="dialog--buttons"):
                yield Button("Not now", id="cancel")
                yield Button("Allow", id="confirm", classes="action")

    def on_mount(self) -> None:
        """Look for the key; a keyring may take its time, and ask for its own password."""
        self.run_worker(self._show_key(), group="key", exit_on_error=False)

    async def _show_key(self) -> None:
        sentence = await self._describe_key()
        self.query_one("#key", Static).update(Content(clean_line(sentence)))

    @on(Button.Pressed)
    def _answer(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "confirm")

    def action_not_now(self) -> None:
        """Send nothing."""
        self.dismiss(False)
