"""The second cell of tab 3: how the chapter is to be written, how long, and the button (design 10)."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from core.domain.errors import StoryEngineError
from core.domain.session.limits import Limits
from core.domain.session.session import Session
from core.domain.session.state_machine import Command
from core.text.composer_text import resumed
from core.text.numbers import read_count
from storyengine_tui.screens.shared.autosave import Autosave, unstored
from storyengine_tui.screens.shared.kept_fields import Fields
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter, HelpedText
from storyengine_tui.widgets.fields.one_line import FormField
from storyengine_tui.widgets.text_line import show_line

if TYPE_CHECKING:
    from storyengine_tui.screens.narrative.narrative_view import NarrativeView

DEFAULT_DEFINITION = (
    "Left empty: third person and past tense, in the tone of your world; scenes with dialogue; game "
    "mechanics shape the story and are not named; nothing is invented that was not played.\n"
    "Your wishes for the writer: voice, style, tone, vocabulary, rules."
)
"""The default style of agent 9: its system prompt, summarised for the GM."""


@dataclass(frozen=True, slots=True)
class TypedDefinition:
    """The content of the cell; `problem` says why the target cannot be stored."""

    text: str
    target_words: int | None
    problem: str = ""

    def differs_from(self, session: Session) -> bool:
        """Whether this differs from the stored one, apart from an invalid target."""
        has_new_target = not self.problem and self.target_words != session.target_words
        return has_new_target or self.text != session.definition


def typed_definition(text: str, target: str, limits: Limits) -> TypedDefinition:
    """Return what was typed, with the target as a number."""
    if not target.strip():
        return TypedDefinition(text, None)
    words = read_count(target)
    if words is None or not 1 <= words <= limits.draft_words:
        return TypedDefinition(text, None, f"A target is 1 to {limits.draft_words:,} words, or empty.")
    return TypedDefinition(text, words)


class DefinitionCell(Vertical):
    """Fields for the definition and the target, and the button `#build`."""

    HELP = (
        "The narrative agent writes the chapter from memory and transcript as this text asks. It is saved "
        "automatically; each build uses its current state."
    )

    class Edited(Message):
        """Definition or target was changed."""

    area = getters.query_one("#definition", CappedTextArea)
    """The definition's text area."""
    _target = getters.query_one("#target", Input)
    _why = ""
    """Why the chapter cannot be built now."""
    _forecast = ""
    """Maximum cost of a build."""

    def __init__(self, limits: Limits, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._limits = limits

    def compose(self) -> ComposeResult:
        """Compose heading, definition, target, button, and the sentence that says why it is disabled."""
        limit = self._limits.definition
        with Horizontal(classes="line"):
            yield Static("How to write it", classes="label")
            yield Static(classes="gap")
            yield Static("", id="definition-saved", markup=False)
            yield CharCounter(limit, id="definition-counter")
        area = CappedTextArea(limit=limit, placeholder=DEFAULT_DEFINITION, id="definition")
        area.helped = HelpedText("definition", "How to write the chapter")
        yield area
        with Horizontal(classes="line"):
            yield Static("Target ", classes="label")
            yield FormField(
                id="target", compact=True, max_length=5, restrict=r"[0-9]*", placeholder="–", valid_empty=True
            )
            yield Static(f" words (optional, up to {self._limits.draft_words:,})", classes="gap")
            yield Button("Build Narrative (F8)", id="build", compact=True)
        yield Static("", id="why", markup=False)

    @property
    def typed(self) -> TypedDefinition:
        """The values of the fields."""
        return typed_definition(self.area.text, self._target.value, self._limits)

    def show_stored(self, session: Session) -> None:
        """Show the stored definition; an unchanged text keeps its cursor."""
        self._limits = session.limits
        if self.area.text != session.definition:
            self.area.load_text(session.definition)
            self.area.action_document_end(False)
        with self._target.prevent(Input.Changed):
            self._target.value = str(session.target_words or "")
        self._show_counter()

    def put_back(self, typed: TypedDefinition, base: Session) -> None:
        """Put into the fields, which show what is stored, what was made of the definition of `base`."""
        self.area.text = resumed(base.definition, self.area.text, typed.text)
        if not typed.problem and typed.target_words != base.target_words:
            self._target.value = str(typed.target_words or "")
        self._show_counter()

    def show_access(self, *, is_editable: bool, can_build: bool, why: str) -> None:
        """Enable what is possible, and say why the chapter cannot be built."""
        self.area.read_only = not is_editable
        self._target.disabled = not is_editable
        self.query_one("#build", Button).disabled = not can_build
        self._why = why
        self._show_why()

    def show_forecast(self, text: str) -> None:
        """Say what a build costs at most; an empty text says nothing."""
        self._forecast = text
        self._show_why()

    def _show_why(self) -> None:
        show_line(self, "#why", self.typed.problem or self._why or self._forecast)

    def focus_target(self) -> None:
        """Focus the target immediately, so that keys already queued go there."""
        self.screen.set_focus(self._target)

    def say_saved(self, text: str) -> None:
        """Say whether what was typed is stored."""
        self.query_one("#definition-saved", Static).update(Content(text), layout=False)

    def _show_counter(self) -> None:
        self.query_one("#definition-counter", CharCounter).show(self.area.length, self._limits.definition)

    @on(CappedTextArea.Edited, "#definition")
    def _handle_text(self) -> None:
        self._show_counter()
        self.post_message(self.Edited())

    @on(Input.Changed, "#target")
    def _handle_target(self) -> None:
        self._show_why()
        self.post_message(self.Edited())


class DefinitionSaver:
    """Stores what is typed in the `DefinitionCell` of a page."""

    def __init__(self, page: SessionTab) -> None:
        self._page = page
        self.autosave = Autosave(self._save, self._say_unsaved, self._say_saved, page.kept_fields.keep)
        self._base: Session | None = None
        """The session that was edited here when another window began to write; None if all is stored."""

    def show_stored(self, session: Session) -> None:
        """Show the stored definition; an edit that could not be stored returns to it."""
        base, self._base = self._base, None
        typed = self._cell.typed
        self._cell.show_stored(session)
        if base is not None and base.id == session.id:
            self._cell.put_back(typed, base)
            self.touch()
        for text, edited in self._page.take_kept().values():
            kept = TypedDefinition(edited, session.target_words)
            self._cell.put_back(kept, replace(session, definition=text))
            self.touch()

    @property
    def typed_fields(self) -> Fields:
        """The text, if it is not stored."""
        base, typed = self._base or self._page.session.snapshot.session, self._cell.typed.text
        return {} if typed == base.definition else {"definition": (base.definition, typed)}

    def follow(self, before: "NarrativeView | None", view: "NarrativeView") -> None:
        """Show what another window writes, but for an edit that could not be stored: it can be copied."""
        typed = self._cell.typed
        if before is not None and before.is_writer and typed.differs_from(before.session):
            self._base = before.session if typed.differs_from(view.session) else None
        if self._base is None:
            self._cell.show_stored(view.session)

    @property
    def _cell(self) -> DefinitionCell:
        return self._page.query_one(DefinitionCell)

    @property
    def _may_save(self) -> bool:
        return self._page.has_session and self._page.session.can(Command.DEFINE_NARRATIVE)

    def touch(self) -> None:
        """Schedule storing after a change."""
        if self._may_save:
            self._cell.say_saved("storing …")
            self.autosave.touch()

    async def flush(self) -> None:
        """Store what is not stored yet; raises StoryEngineError."""
        if self._base is not None:
            raise unstored("the text of your wishes for the writer")
        if self.has_unsaved:
            self.autosave.touch()
            await self.autosave.flush()

    def focus_invalid(self) -> str:
        """Focus the target if it is invalid, and return what is wrong with it."""
        problem = self._cell.typed.problem if self._may_save else ""
        if problem:
            self._cell.focus_target()
        return problem

    @property
    def has_unsaved(self) -> bool:
        """Whether the definition or the target can be stored and is not yet."""
        return self._may_save and self._cell.typed.differs_from(self._page.session.snapshot.session)

    async def _save(self) -> None:
        if self.has_unsaved:
            typed, session = self._cell.typed, self._page.session
            target = session.snapshot.session.target_words if typed.problem else typed.target_words
            await session.edits.define_narrative(typed.text, target)

    def _say_unsaved(self, error: StoryEngineError) -> None:
        self._cell.say_saved("not stored")
        self._page.say_unsaved(error)

    def _say_saved(self) -> None:
        is_complete = self._base is None and not self._cell.typed.problem
        self._cell.say_saved("stored" if is_complete else "not stored")
        if is_complete:
            self._page.say_saved(is_complete=True)
