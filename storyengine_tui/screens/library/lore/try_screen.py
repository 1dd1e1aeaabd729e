"""Tries a text on a lorebook while it is typed: which entries it activates, why, and what found no room."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from core.domain.errors import StoryEngineError
from core.engine.services.library.lore_trial import LEFT_OUT, LoreTrialInput, LoreTrials, in_order, not_tried
from core.library.card_lore import LoreFile
from core.library.lore.activation.result import Outcome
from core.text.numbers import read_count
from storyengine_tui.screens.chapter.workspace import Workspace
from storyengine_tui.screens.library.lore.entry_screen import EntryScreen
from storyengine_tui.screens.library.lore.lorebook_editor import LorebookEditor
from storyengine_tui.screens.library.lore.lorebook_editor_screen import LorebookEditorScreen
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.one_line import FormField
from storyengine_tui.widgets.reading.column import Column
from storyengine_tui.widgets.reading.row_list import RowList
from storyengine_tui.widgets.text_line import show_line

log = logging.getLogger(__name__)
LONGEST_TEXT: Final = 100_000
DEBOUNCE_SECONDS: Final = 0.15
"""Seconds without a key after which a text is tried."""
LONGEST_WAIT_SECONDS: Final = 60.0
"""Seconds after which a trial counts as failed: expressions have a limit of their own, far below."""
NOTHING_YET: Final = "Write or paste a text; each paragraph counts as a message, and the last is the newest."
FAILED: Final = "This text could not be tried on this book; the log says why. Another text is tried again."
TOO_SLOW: Final = "It takes too long to try this text on this book; shorten one of them."


class OutcomeList(RowList[Outcome]):
    """The outcomes; the key that edits an entry is in the footer, or shows it in a book that is only read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Edit", key_display="⏎"),
        Binding("enter", "look", "Show", key_display="⏎"),
    ]
    can_write = True
    """Whether an entry can be edited."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer an edit where there is an entry."""
        return action not in ("choose", "look") or (
            bool(self.rows) and (action == "choose") is self.can_write
        )

    def action_look(self) -> None:
        """Show the entry under the cursor."""
        self.action_choose()


class TryScreen(LorebookEditorScreen):
    """A text over what it activates; Enter on an entry edits it, Esc goes back."""

    HELP = (
        "Each paragraph is a message, the last the newest. At the top are the entries that would be given, "
        "in the order of the input, then those that the budget leaves out, then all others with the reason. "
        "A blank depth scans all of the text, unless the book says less. Chance falls the same way for the "
        "same word beside it; another word draws again. Enter edits the entry under the cursor."
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    _list = getters.query_one("#outcomes", OutcomeList)

    def __init__(self, workspace: Workspace, editor: LorebookEditor) -> None:
        super().__init__(workspace)
        self._editor = self.editor = editor
        self._trials = LoreTrials()
        self._asked = asyncio.Event()

    def compose(self) -> ComposeResult:
        """Compose the text and its numbers over the outcome."""
        with Horizontal(id="top"):
            yield Static(Content(f"Try a text · {self._editor.kept.name}"), id="heading")
            yield Static("", id="saved")
        yield CappedTextArea(self._editor.tried, limit=LONGEST_TEXT, placeholder=NOTHING_YET, id="text")
        with Horizontal(classes="line"):
            for name, label, holder in (
                ("depth", "Depth ", "all"),
                ("budget", " Budget in tokens ", "none"),
                ("seed", " Chance ", "any word"),
            ):
                yield Static(label, classes="between")
                yield FormField(compact=True, max_length=9, placeholder=holder, id=name, classes="number")
        yield Static("", id="not-tried", markup=False)
        yield Static(NOTHING_YET, id="sum", markup=False)
        yield OutcomeList(_cells_of, lambda one: not one.is_active, id="outcomes")
        yield from self.compose_foot()

    def on_mount(self) -> None:
        """Begin to try what is typed."""
        self._list.can_write = self._editor.can_write
        self.query_one("#text").focus()
        self.run_worker(self._keep_trying(), group="try", exit_on_error=False)

    def show_again(self) -> None:
        """Try the text again: an entry may have been edited."""
        self._asked.set()

    def say_saved(self) -> None:
        """Say that all is stored, and try again: a uid may be another one now."""
        super().say_saved()
        self._asked.set()

    @on(CappedTextArea.Edited)
    @on(Input.Changed)
    def _ask(self, event: CappedTextArea.Edited | Input.Changed) -> None:
        event.stop()
        self._editor.tried = self.query_one("#text", CappedTextArea).text
        self._asked.set()

    @property
    def _trial(self) -> LoreTrialInput:
        return LoreTrialInput(
            text=self.query_one("#text", CappedTextArea).text,
            depth=read_count(self._value("depth")),
            budget=read_count(self._value("budget")) or None,
            seed=self._value("seed"),
        )

    def _value(self, field: str) -> str:
        return self.query_one(f"#{field}", Input).value

    async def _keep_trying(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            await asyncio.sleep(DEBOUNCE_SECONDS)
            if self._asked.is_set():
                continue
            file = replace(self._editor.file, book=self._editor.book)
            running = asyncio.create_task(asyncio.to_thread(self._outcomes, file, self._trial))
            done, _ = await asyncio.wait({running}, timeout=LONGEST_WAIT_SECONDS)
            if not done:
                self.query_one("#sum", Static).update(TOO_SLOW)
            try:
                self._show(*await running)
            except StoryEngineError as error:
                self.query_one("#sum", Static).update(Content(error.message))
            except Exception:  # Whatever a book from elsewhere breaks, the next text is tried.
                log.exception("a text could not be tried on a lorebook")
                self.query_one("#sum", Static).update(FAILED)

    def _outcomes(self, file: LoreFile, trial: LoreTrialInput) -> tuple[Sequence[Outcome], str]:
        """Return every outcome, and what is not tried; blocking."""
        return in_order(self._trials.activate(file, trial)), not_tried(file)

    def _show(self, outcomes: Sequence[Outcome], note: str) -> None:
        show_line(self, "#not-tried", note)
        active = [one for one in outcomes if one.is_active]
        left_out = sum(one.reason in LEFT_OUT for one in outcomes)
        tokens = sum(one.tokens for one in active)
        said = f"{len(active):,} of {len(outcomes):,} entries, about {tokens:,} tokens"
        said += f"; {left_out:,} left out by the budget" if left_out else ""
        self.query_one("#sum", Static).update(Content(said))
        self._list.show_rows(outcomes, self._columns)
        self.refresh_bindings()

    @property
    def _columns(self) -> Sequence[Column]:
        room = max(40, self.size.width - 16)
        name = max(14, room // 3)
        return (Column("", 3), Column("", name), Column("", room - name), Column("", 7, is_number=True))

    def on_resize(self) -> None:
        """Adapt the widths of the columns."""
        self._list.show_rows(self._list.rows, self._columns)

    @on(RowList.Chosen)
    def _edit(self) -> None:
        outcome = self._list.chosen
        if outcome is not None and self._editor.find(outcome.uid) is not None and self.is_active:
            self.app.push_screen(EntryScreen(self.workspace, self._editor, outcome.uid))


def _cells_of(one: Outcome) -> tuple[str, ...]:
    tokens = f"{one.tokens:,}" if one.is_active else ""
    return ("yes" if one.is_active else "no", one.name or one.uid, one.sentence, tokens)
