"""The third cell of tab 3: the chapter, its versions, and the text that streams in (design 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Select, Static

from core.domain.draft import NarrativeDraft
from core.text.cleaning import clean_line
from storyengine_tui.screens.narrative.draft_view import DraftView, LiveDraft
from storyengine_tui.textual_ext.option_lists import GuardedSelect
from storyengine_tui.widgets.reading.line_view import LineView

LIVE = 0
"""Stands in the picker for the text that is no version yet."""
UNFINISHED = -2
"""Replaces it once nothing more arrives: the picker redraws a label only for another value."""
NONE = -1
"""Stands in the picker while there is nothing to pick."""
NO_VERSION = ((Content("No version yet"), NONE),)
EMPTY_TEXT = "Nothing is written yet. Build Narrative writes the chapter here."


class DraftCell(Vertical):
    """Shows one version, or what streams in; every version stays in the picker."""

    HELP = (
        "Every build is a version of its own, and earlier ones stay; the picker below the text shows "
        "any of them. Download Chapter writes the version that shows into a text file."
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy_all", "Copy")]

    @dataclass
    class CopyRequested(Message):
        """The GM copies the whole text that shows."""

        text: str
        what: str

    class Chosen(Message):
        """Another version shows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drafts: list[NarrativeDraft] = []
        self._live: LiveDraft | None = None
        self._chosen: int | None = None
        self._target: int | None = None

    def compose(self) -> ComposeResult:
        """Compose heading, text, and a foot with the picker and the copy."""
        with Horizontal(classes="line"):
            yield Static("Written chapter", classes="label")
            yield Static(classes="gap")
            yield Static("", id="draft-words", markup=False)
        with Vertical(classes="cell"):
            yield Static(EMPTY_TEXT, id="draft-empty", markup=False)
            yield DraftView(id="draft-view")
            with Horizontal(classes="foot"):
                yield GuardedSelect[int](NO_VERSION, id="versions", compact=True, allow_blank=False)
                yield Static("↓ more", id="draft-more", markup=False)
                yield Button("Copy all", id="draft-copy", compact=True)

    def on_mount(self) -> None:
        """Show that nothing is written."""
        self._show_choice(from_top=True)

    @property
    def view(self) -> DraftView:
        """The text."""
        return self.query_one(DraftView)

    @property
    def drafts(self) -> Sequence[NarrativeDraft]:
        """Every version, oldest first."""
        return self._drafts

    @property
    def live(self) -> LiveDraft | None:
        """The text that is no version yet."""
        return self._live

    @property
    def has_text(self) -> bool:
        """Whether there is something to read."""
        return bool(self._drafts) or (self._live is not None and bool(self._live.text))

    @property
    def shown(self) -> NarrativeDraft | None:
        """The version that shows; None where none does."""
        return next((draft for draft in self._drafts if draft.version == self._chosen), None)

    def show_drafts(self, drafts: Sequence[NarrativeDraft], *, is_being_written: bool) -> None:
        """Show the versions of another session, the newest one, or the one that is being written."""
        self._drafts = list(drafts)
        self._live = LiveDraft() if is_being_written else None
        self._chosen = LIVE if is_being_written else self._newest
        self._show_choice(from_top=True)

    def set_target(self, words: int | None) -> None:
        """Measure what has no target of its own against this many words."""
        self._target = words
        self._show_words()

    def begin(self) -> None:
        """A new version begins; the others stay in the picker."""
        self._live, self._chosen = LiveDraft(), LIVE
        self._show_choice(from_top=True)

    def begin_call(self) -> None:
        """The next part begins."""
        if self._live is not None:
            self._grow(self._live.begin_call())

    def stream(self, text: str) -> None:
        """Show what came in."""
        if self._live is not None:
            self._grow(self._live.add(text))

    def _grow(self, text: str) -> None:
        if text and self._chosen == LIVE:
            if not self.view.display:
                self._show_choice(from_top=False)
            else:
                self.view.grow(text)
            self._show_words()

    def restart(self) -> None:
        """What streamed is void."""
        if self._live is not None:
            self.begin()

    def settle(self, draft: NarrativeDraft) -> None:
        """A version is stored: it takes the place of what streamed; who reads another one stays there."""
        if all(known.version != draft.version for known in self._drafts):
            self._drafts.append(draft)
        was_watching = self._chosen in (LIVE, None)
        self._live = None
        if was_watching:
            self._chosen = draft.version
        self._show_choice(from_top=False)

    def fail(self) -> None:
        """Nothing more comes in; what has is kept in sight, as no version."""
        if self._live is not None and self._live.text:
            self._live.is_writing = False
        else:
            self._live = None
            self._chosen = self._newest if self._chosen == LIVE else self._chosen
        self._show_choice(from_top=False)

    @property
    def _newest(self) -> int | None:
        return self._drafts[-1].version if self._drafts else None

    def _show_choice(self, *, from_top: bool) -> None:
        """Show what is chosen, and the picker with all there is."""
        draft = self.shown
        text = draft.text if draft else self._live.text if self._live else ""
        empty = self.query_one("#draft-empty", Static)
        empty.display = not text
        empty.update("The first words are still to come …" if self._live else EMPTY_TEXT)
        self.view.display = bool(text)
        self.view.show_text(text, from_top=from_top)
        if not from_top and self._live is not None:
            self.view.follow()
        picker = self.query_one("#versions", Select)
        options = self._options()
        with self.prevent(Select.Changed):
            picker.set_options(options or NO_VERSION)
            picker.value = self._picked
        picker.disabled = not options
        self.query_one("#draft-copy").display = bool(text)
        self._show_words()
        self.refresh_bindings()
        self.post_message(self.Chosen())

    def _options(self) -> list[tuple[Content, int]]:
        options = [(Content(_label(draft)), draft.version) for draft in reversed(self._drafts)]
        if self._live is not None:
            number = (self._newest or 0) + 1
            live = f"Version {number} · being written" if self._live.is_writing else "Unfinished · no version"
            options.insert(0, (Content(live), LIVE if self._live.is_writing else UNFINISHED))
        return options

    @property
    def _picked(self) -> int:
        """What is chosen, as the picker knows it."""
        if self._chosen == LIVE and self._live is not None and not self._live.is_writing:
            return UNFINISHED
        return NONE if self._chosen is None else self._chosen

    def _show_words(self) -> None:
        draft = self.shown
        if draft is not None:
            words, target = draft.words, draft.target_words
        elif self._live is not None:
            words, target = self._live.words, self._target
        else:
            words, target = 0, self._target
        text = f"{words:,} words" if words != 1 else "1 word"
        if target:
            text += f" of about {target:,}"
        if draft is not None and len(self._drafts) > 1:
            text = f"version {draft.version} of {len(self._drafts)} · {text}"
        self.query_one("#draft-words", Static).update(Content(text))

    @on(Select.Changed, "#versions")
    def _handle_choice(self, event: Select.Changed) -> None:
        event.stop()
        if isinstance(event.value, int) and event.value not in (NONE, self._picked):
            self._chosen = LIVE if event.value == UNFINISHED else int(event.value)
            self._show_choice(from_top=self._chosen != LIVE)

    def action_copy_all(self) -> None:
        """Copy the whole text that shows."""
        draft = self.shown
        if draft is not None:
            self.post_message(self.CopyRequested(draft.text, f"Version {draft.version}"))
        elif self._live is not None and self._live.text:
            self.post_message(self.CopyRequested(self._live.text, "What is written so far"))

    @on(Button.Pressed, "#draft-copy")
    def _copy(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_copy_all()

    @on(LineView.MoreBelowChanged, "#draft-view")
    def _show_more(self, event: LineView.MoreBelowChanged) -> None:
        event.stop()
        self.query_one("#draft-more").visible = event.has_more_below

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action == "copy_all":
            return self.shown is not None or (self._live is not None and bool(self._live.text))
        return True


def _label(draft: NarrativeDraft) -> str:
    words = f"{draft.words:,} word" + ("" if draft.words == 1 else "s")
    when = f"{draft.created_at.astimezone():%d %b %H:%M}"
    # The model comes last, for its name may be long: what has no room is cut there.
    return f"Version {draft.version} · {when} · {words} · {clean_line(draft.model)}"
