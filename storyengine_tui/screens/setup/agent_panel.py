"""The panel of one character on tab 1: name and identity, outlined in the colour of its slot (design 10)."""

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from core.domain.cast import Character
from core.domain.limits import Limits
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.char_counter import CharCounter
from storyengine_tui.widgets.fields.one_line import LineField


class AgentPanel(Vertical):
    """Holds what the GM typed for one slot, whether it shows or not."""

    HELP = "A blank name stands for the default. The identity is what only this character is told of itself."

    @dataclass
    class Edited(Message):
        """The name or the identity was changed."""

        panel: "AgentPanel"

    def __init__(self, limits: Limits, stored: Character, *, is_read_only: bool) -> None:
        self.slot = slot = stored.slot
        super().__init__(classes=f"-agent-{slot.colour}")
        self._is_read_only = is_read_only
        self._name_field = LineField(
            stored.given_name, limit=limits.name, placeholder=slot.default_name, classes="name"
        )
        self._name_field.soft_wrap = False
        self._identity_area = CappedTextArea(
            stored.identity,
            limit=limits.identity,
            placeholder="Who this character is: nature, history, voice, wishes, secrets.",
            classes="identity",
        )
        self._counter = CharCounter(limits.identity, length=len(stored.identity))
        self._clash = ""

    def compose(self) -> ComposeResult:
        """Compose the line of the name and the identity below it."""
        with Horizontal(classes="name-line"):
            yield Static(f"{int(self.slot)} Name ", classes="label")
            yield self._name_field
            yield Static(classes="gap")
            yield self._counter
        yield Static(classes="problem", markup=False)
        yield self._identity_area

    def on_mount(self) -> None:
        """Text areas take on the looks of being read only when they become it."""
        self.set_read_only(self._is_read_only)

    @property
    def agent_name(self) -> str:
        """The name as it was typed; blank means the default."""
        return self._name_field.text

    @property
    def identity(self) -> str:
        """The identity as it was typed."""
        return self._identity_area.text

    def show_stored(self, stored: Character) -> None:
        """Show what is stored where it differs, and leave the cursor alone where it does not."""
        if self._name_field.text != stored.given_name:
            self._name_field.load_text(stored.given_name)
        if self._identity_area.text != stored.identity:
            self._identity_area.load_text(stored.identity)
        self._counter.show(self._identity_area.length)

    def set_read_only(self, is_read_only: bool) -> None:
        """Let the text be changed, or only be read and copied."""
        self._name_field.read_only = self._identity_area.read_only = is_read_only

    def say_clash(self, name: str) -> None:
        """Say that another character is called `name`; nothing when it is empty."""
        self._clash = f"Another character is called {name}; choose another name." if name else ""
        self._show_problem()

    def _show_problem(self) -> None:
        """Say what is wrong, in a line of its own: name and identity have no border to say it on."""
        sentences = [self._clash] if self._clash else []
        if self._name_field.says_full:
            sentences.append(
                f"A name has at most {self._name_field.limit} characters; the rest was not taken."
            )
        if self._identity_area.says_full:
            sentences.append(f"{self._identity_area.full_sentence}.")
        line = self.query_one(".problem", Static)
        line.update("\n".join(sentences))
        line.display = bool(sentences)

    @property
    def fields(self) -> tuple[CappedTextArea, CappedTextArea]:
        """The name and the identity, in the order of Tab."""
        return self._name_field, self._identity_area

    def focus_name(self) -> None:
        """Go to the name; at once, so that keys that are on their way go there."""
        self.screen.set_focus(self._name_field)

    def focus_identity(self) -> None:
        """Go to the identity."""
        self.screen.set_focus(self._identity_area)

    @on(CappedTextArea.LimitReached)
    def _say_limit(self, event: CappedTextArea.LimitReached) -> None:
        event.stop()
        self._show_problem()

    @on(CappedTextArea.Edited)
    def _tell(self, event: CappedTextArea.Edited) -> None:
        event.stop()
        self._counter.show(self._identity_area.length)
        self._show_problem()
        self.post_message(self.Edited(self))
