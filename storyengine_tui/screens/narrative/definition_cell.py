"""The second cell of tab 3: how the chapter is to be written, how long, and the button that builds it."""

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from core.domain.limits import Limits
from core.domain.session import Session
from core.text.numbers import read_count
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.char_counter import CharCounter
from storyengine_tui.widgets.fields.one_line import FormField

DEFAULT_DEFINITION = (
    "Left empty: third person and past tense, in the tone of your world; scenes with dialogue; game "
    "mechanics shape the story and are not named; nothing is invented that was not played.\n"
    "Your wishes for the writer: voice, style, tone, vocabulary, rules."
)
"""What agent 9 does without a definition: its system prompt, in words for the GM."""


@dataclass(frozen=True, slots=True)
class TypedDefinition:
    """What stands in the cell; `problem` says why the target cannot be stored."""

    text: str
    target_words: int | None
    problem: str = ""

    def differs_from(self, session: Session) -> bool:
        """Whether this is not what is stored."""
        return (self.text, self.target_words) != (session.definition, session.target_words)


def typed_definition(text: str, target: str, limits: Limits) -> TypedDefinition:
    """Return what was typed, the target as a number."""
    if not target.strip():
        return TypedDefinition(text, None)
    words = read_count(target)
    if words is None or not 1 <= words <= limits.draft_words:
        return TypedDefinition(text, None, f"A target is 1 to {limits.draft_words:,} words, or empty.")
    return TypedDefinition(text, words)


class DefinitionCell(Vertical):
    """What was typed, and the wish to build."""

    HELP = (
        "The narrative agent writes the chapter from memory and transcript in the way that is described "
        "here. Everything typed is stored by itself; every build uses the text of that moment."
    )

    class Edited(Message):
        """Definition or target was changed."""

    class BuildRequested(Message):
        """The GM has the chapter written."""

    def __init__(self, limits: Limits, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._limits = limits

    def compose(self) -> ComposeResult:
        """Compose heading, definition, target, button, and the sentence that says why it is dimmed."""
        limit = self._limits.definition
        with Horizontal(classes="line"):
            yield Static("How to write it", classes="label")
            yield Static(classes="gap")
            yield Static("", id="definition-saved", markup=False)
            yield CharCounter(limit, id="definition-counter")
        yield CappedTextArea(limit=limit, placeholder=DEFAULT_DEFINITION, id="definition")
        with Horizontal(classes="line"):
            yield Static("Target ", classes="label")
            yield FormField(
                id="target", compact=True, max_length=5, restrict=r"[0-9]*", placeholder="–", valid_empty=True
            )
            yield Static(f" words (optional, up to {self._limits.draft_words:,})", classes="gap")
            yield Button("Build Narrative (F8)", id="build", compact=True)
        yield Static("", id="why", markup=False)

    @property
    def area(self) -> CappedTextArea:
        """The definition's text area."""
        return self.query_one("#definition", CappedTextArea)

    @property
    def typed(self) -> TypedDefinition:
        """What stands here now."""
        return typed_definition(self.area.text, self.query_one("#target", Input).value, self._limits)

    def show_stored(self, session: Session) -> None:
        """Show what is stored; what is shown already keeps its cursor."""
        self._limits = session.limits
        if self.area.text != session.definition:
            self.area.load_text(session.definition)
        target = self.query_one("#target", Input)
        value = str(session.target_words or "")
        if target.value != value:
            with target.prevent(Input.Changed):
                target.value = value
        self._show_counter()

    def show_access(self, *, is_editable: bool, can_build: bool, why: str) -> None:
        """Enable what is possible, and say why the rest is not."""
        self.area.read_only = not is_editable
        self.query_one("#target", Input).disabled = not is_editable
        self.query_one("#build", Button).disabled = not can_build
        self._why = why
        self._show_why()

    _why = ""

    def _show_why(self) -> None:
        text = self.typed.problem or self._why
        line = self.query_one("#why", Static)
        line.update(Content(text))
        line.display = bool(text)

    def focus_target(self) -> None:
        """Go to the target; at once, so that keys that are on their way go there."""
        self.screen.set_focus(self.query_one("#target", Input))

    def say_saved(self, text: str) -> None:
        """Say whether what was typed is stored."""
        self.query_one("#definition-saved", Static).update(Content(text), layout=False)

    def _show_counter(self) -> None:
        self.query_one("#definition-counter", CharCounter).show(self.area.length, self._limits.definition)

    @on(CappedTextArea.Edited, "#definition")
    def _handle_text(self, event: CappedTextArea.Edited) -> None:
        event.stop()
        self._show_counter()
        self.post_message(self.Edited())

    @on(Input.Changed, "#target")
    def _handle_target(self, event: Input.Changed) -> None:
        event.stop()
        self._show_why()
        self.post_message(self.Edited())

    @on(Button.Pressed, "#build")
    def _build(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.BuildRequested())
