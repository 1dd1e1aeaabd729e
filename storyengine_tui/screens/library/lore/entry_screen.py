"""One entry of a lorebook as it is edited: what is typed is stored by itself (design 10, 14)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Select, Static

from core.domain.errors import StoryEngineError
from core.library.lore.book import LoreEntry
from core.text.graphemes import head
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.lore.lorebook_editor import LorebookEditor
from storyengine_tui.screens.library.lore.lorebook_editor_screen import LorebookEditorScreen
from storyengine_tui.screens.library.lore.typed_entry import LOGICS, POSITIONS, SWITCHES, TypedEntry
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal, ask_first
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, CharCounter
from storyengine_tui.widgets.fields.one_line import FormField
from storyengine_tui.widgets.fields.tick import Tick

LONGEST_CONTENT: Final = 50_000
"""Characters of a text that is edited here; a longer one of a file stays as it is."""
LONGEST_LINE: Final = 10_000
LONGEST_NUMBER: Final = 8
TOO_LONG: Final = "This text is longer than {:,} characters: it is kept as it is, and cannot be edited here."
REST: Final = "Seldom needed"
NOT_ALL_STORED: Final = "not all stored"
LEAVE: Final = "Leave without saving all of it?"
NOT_HERE: Final = "In chapters: tags of the card, kinds normal and continue, of these texts the first two"
MATCHED: Final = (
    ("description", "matches_description"),
    ("personality", "matches_personality"),
    ("scenario", "matches_scenario"),
    ("persona", "matches_persona"),
    ("depth prompt", "matches_depth_prompt"),
    ("notes", "matches_notes"),
)
"""The texts of a card, and of the person who plays, that the keys may be in."""
_OTHER_ROWS: Final = 13
"""Rows that are not the text: at 80 by 24 all fields are in sight."""


class EntryScreen(LorebookEditorScreen):
    """Edits the entry that the editor has open; Esc goes back to the list."""

    HELP = (
        "Keys are separated by commas; /…/ is an expression, and quotation marks hold a key with a comma. "
        "Any key in the text that a character may know activates the entry. Second keys add a condition of "
        "your choice. A higher order goes first for the budget. Further down are rare settings: place, "
        "depths, letters, recursion, groups, waiting times and characters. A blank scan depth means that of "
        "the book or the settings. One entry of an entry group is taken: by weight, by order if you say so, "
        "or by the most keys found. Everything is saved automatically, and only your changes differ in the "
        "file."
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    _text = getters.query_one("#content", CappedTextArea)

    def __init__(self, workspace: Workspace, editor: LorebookEditor, uid: str) -> None:
        super().__init__(workspace)
        self._editor = self.editor = editor
        editor.editing = uid
        self._begun = self._entry
        """The entry as it was when the fields were filled: what is typed is read beside it."""
        self._shown = TypedEntry.of(self._begun)
        self._is_long = len(self._begun.content) > LONGEST_CONTENT
        self._is_open = False

    @property
    def _entry(self) -> LoreEntry:
        return self._editor.find(self._editor.editing) or LoreEntry(uid=self._editor.editing)

    def compose(self) -> ComposeResult:
        """Compose the usual fields, the text, and below it what is seldom needed."""
        shown = self._shown
        with Horizontal(id="top"):
            yield Static(Content(f"Entry · {self._editor.kept.name}"), id="heading")
            yield Static("", id="saved")
        with VerticalScroll(id="form", can_focus=False):
            yield _line("Name", self._field("name"))
            yield _line("Keys", self._field("keys"))
            yield _line("Second keys", self._field("secondary"), self._choice("logic", LOGICS))
            yield _line(
                "",
                self._tick("On", "is_enabled"),
                self._tick("Always active", "is_constant"),
                *_labelled(("order", self._number("order"))),
                *_labelled(("chance in %", self._number("probability"))),
            )
            with Horizontal(classes="line"):
                yield Static("", id="problem", markup=False)
                yield CharCounter(LONGEST_CONTENT, length=len(shown.content), id="counter")
            text = head(shown.content, LONGEST_CONTENT)
            holder = "What a character is told, once the entry is active."
            area = CappedTextArea(text, limit=LONGEST_CONTENT, placeholder=holder, id="content")
            # Now: Textual would scroll to a field in focus that is higher than the page at first.
            area.styles.height = self._rows
            yield area
            yield Static(REST, classes="rest")
            yield from self._compose_rest()
        yield from self.compose_foot()

    def _compose_rest(self) -> Iterable[Widget]:
        yield _line(
            "Place",
            self._choice("position", POSITIONS),
            *_labelled(("depth", self._number("depth")), ("outlet", self._field("outlet"))),
        )
        words = {word: word for word in SWITCHES}
        yield _line(
            "Scan depth",
            self._number("scan_depth"),
            *_labelled(
                ("capitals count", self._choice("case_sensitive", words)),
                ("whole words", self._choice("whole_words", words)),
            ),
        )
        yield _line(
            "Recursion",
            self._tick("not by others", "excludes_recursion"),
            self._tick("activates none", "prevents_recursion"),
            *_labelled(("from level", self._number("delay_until_recursion"))),
        )
        yield _line(
            "One of group", self._field("groups"), *_labelled(("weight", self._number("group_weight")))
        )
        yield _line(
            "",
            self._tick("preferred, by order", "is_group_override"),
            *_labelled(("most keys win", self._choice("group_scoring", words))),
        )
        numbers = (("cooldown", self._number("cooldown")), ("delay", self._number("delay")))
        yield _line("Sticky", self._number("sticky"), *_labelled(*numbers))
        yield _line("Budget", self._tick("given also when it is used up", "ignores_budget"))
        yield _line(
            "For names", self._field("filter_names"), self._tick("for all but these", "filter_excludes")
        )
        yield Static(NOT_HERE, classes="rest")
        yield _line("For tags", self._field("filter_tags"))
        yield _line("For kinds", self._field("triggers"))
        for label, texts in (("Keys also in", MATCHED[:3]), ("", MATCHED[3:])):
            yield _line(label, *(self._tick(text, name) for text, name in texts))

    def _tick(self, label: str, name: str) -> Tick:
        return Tick(label, is_on=getattr(self._shown, name), id=name)

    def _field(self, name: str) -> FormField:
        value = str(getattr(self._shown, name))
        field = FormField(head(value, LONGEST_LINE), compact=True, max_length=LONGEST_LINE, id=name)
        field.disabled = len(value) > LONGEST_LINE
        return field

    def _number(self, name: str) -> FormField:
        value = str(getattr(self._shown, name))
        most = max(LONGEST_NUMBER, len(value))
        return FormField(value, compact=True, max_length=most, id=name, classes="number")

    def _choice(self, name: str, words: Mapping[str, str]) -> GuardedSelect[str]:
        options = [(word, value) for value, word in words.items()]
        value = str(getattr(self._shown, name))
        return GuardedSelect[str](options, value=value, allow_blank=False, compact=True, id=name)

    def on_mount(self) -> None:
        """Begin to take over what is typed; a book that cannot be written is read."""
        can_write = self._editor.can_write
        self._text.read_only = self._is_long or not can_write
        for field in self.query(".line Input, .line Select, .line Tick"):
            field.disabled = field.disabled or not can_write
        self._show_problem("")
        first = self.query_one("#keys" if can_write and not self._shown.keys else "#content")
        # Before the layout Textual would scroll to it, away from the name and the keys.
        self.set_focus(first if not first.disabled else self._text, scroll_visible=False)
        self._is_open = True
        self._editor.collect = self._collect

    def on_resize(self) -> None:
        """Give the text the room that the usual fields leave."""
        self._text.styles.height = self._rows

    @property
    def _rows(self) -> int:
        return max(5, self.app.size.height - _OTHER_ROWS)

    @property
    def _typed(self) -> TypedEntry:
        values: dict[str, str | bool] = {}
        for field in self.query(".line Input"):
            if isinstance(field, Input) and field.id and not field.disabled:
                values[field.id] = field.value
        for tick in self.query(Tick):
            values[str(tick.id)] = tick.is_on
        for choice in self.query(".line Select"):
            if isinstance(choice, Select) and isinstance(choice.value, str):
                values[str(choice.id)] = choice.value
        if not self._is_long:
            values["content"] = self._text.text
        return self._shown.with_values(values)

    def _show_problem(self, problem: str) -> None:
        """Say what is wrong with a field; if nothing is, what cannot be edited at all."""
        standing = TOO_LONG.format(LONGEST_CONTENT) if self._is_long else ""
        if not self._editor.can_write:
            standing = self.READS_ONLY
        self.query_one("#problem", Static).update(Content(problem or standing))

    def _collect(self) -> None:
        """Take over the typed fields; raises StoryEngineError for a text that the book has no room for."""
        if not (self._is_open and self._editor.can_write):
            return
        entry, typed = self._entry, self._typed
        made, problem = typed.put_into(replace(self._begun, uid=entry.uid))
        self._show_problem(problem)
        if made != entry:
            self._editor.put(made, typed)
            self.say_state("storing …")
        elif (problem or self._editor.state == NOT_ALL_STORED) and not self._editor.autosave.is_dirty:
            self.say_saved()

    @on(CappedTextArea.Edited)
    @on(Input.Changed)
    @on(Select.Changed)
    @on(Tick.Changed)
    def _touch(self, event: CappedTextArea.Edited | Input.Changed | Select.Changed | Tick.Changed) -> None:
        event.stop()
        if self._is_open:
            self.query_one(CharCounter).show(self._text.length)
            try:
                self._collect()
            except StoryEngineError as error:
                self.say_unsaved(error)

    @property
    def unsaved(self) -> str:
        """The problem of a field that cannot be stored as it is typed."""
        return self._typed.put_into(self._begun)[1] if self._is_open and self._editor.can_write else ""

    def say_saved(self) -> None:
        """Say whether all that is typed is stored."""
        self.say_state(NOT_ALL_STORED if self.unsaved else "stored")

    def show_again(self) -> None:
        """Stay as typed: the fields are newer than the stored entry."""

    def after_meeting(self) -> None:
        """Go back to the list, which shows the book as it is stored."""
        self._leave()

    def action_close(self) -> None:
        """Go back; what is typed is in the book, and the list says when it is stored.

        A field that cannot be stored is asked about.
        """
        try:
            self._collect()
        except StoryEngineError as error:
            self.say_unsaved(error)
            return
        if not (problem := self.unsaved):
            self._leave()
        elif self.is_active:  # Esc may come twice.
            question = ConfirmModal(LEAVE, problem, confirm="Leave", cancel="Keep writing")
            ask_first(self.app, question, self._leave)

    def _leave(self) -> None:
        self._is_open = False
        if self._editor.collect == self._collect:
            self._editor.collect = lambda: None
        self._editor.editing = ""
        if not self._editor.autosave.is_dirty:
            self._editor.state = "stored" if self._editor.state else ""
        self.dismiss()


def _line(label: str, *fields: Widget) -> Horizontal:
    return Horizontal(Static(label, classes="label"), *fields, classes="line")


def _labelled(*fields: tuple[str, Widget]) -> Iterable[Widget]:
    for label, field in fields:
        yield Static(f" {label} ", classes="between")
        yield field
