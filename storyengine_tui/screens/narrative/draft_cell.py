"""The third cell of tab 3: the chapter, its drafts, and the text that streams in (design 10)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Select, Static

from core.domain.ids import RequestId
from core.domain.story.draft import NarrativeDraft
from core.domain.story.transcript import SEPARATOR, PieceKind
from core.text.cleaning import clean, clean_line
from core.text.numbers import counted
from core.text.prose import word_count
from storyengine_tui.screens.narrative.download_row import CopyRequested
from storyengine_tui.textual_ext.repairs.option_lists import GuardedSelect
from storyengine_tui.widgets.reading.line_view import LineView, StreamedText
from storyengine_tui.widgets.reading.transcript_lines import Paragraph, SourcePos

if TYPE_CHECKING:
    from storyengine_tui.screens.narrative.comparing.comparison_screen import ComparedTexts


class DraftView(LineView):
    """Shows a whole text, which may grow: the first piece is painted at once, later ones at a frame rate."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._streamed = StreamedText(self, self._paint)

    @property
    def text(self) -> str:
        """The text that is shown."""
        return self.lines.text

    def place_at(self, offset: int) -> SourcePos:
        """Return where character `offset` of the text is."""
        parts = self.text[:offset].split(SEPARATOR)
        return SourcePos(len(parts) - 1, len(parts[-1]))

    def show_text(self, text: str, *, from_top: bool) -> None:
        """Show a text, from its beginning or at the current scroll position."""
        self._streamed.forget()
        self.unpin()
        parts = clean(text).split(SEPARATOR) if text else []
        paragraphs = [
            Paragraph(PieceKind.GM, None, part, ("draft", index)) for index, part in enumerate(parts)
        ]
        self.rearrange(lambda: self.lines.show(paragraphs))
        if from_top:
            self.pin(0)
        self.refresh_bindings()

    def grow(self, text: str) -> None:
        """Append to the text; a view at the end follows it."""
        self.unpin()
        self._streamed.add(text)

    def _paint(self, text: str) -> None:
        if not self.lines.paragraphs:
            text = text.lstrip()
            self.extend(lambda: self.lines.add(Paragraph(PieceKind.GM, None, "", ("draft", 0))))
        if text:
            self.extend(lambda: self.lines.grow(text))


class LiveDraft:
    """The text of a build that is being written or has failed: its parts, one after the other."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.is_writing = True

    @property
    def text(self) -> str:
        """The text received so far; while more arrives, a space at its end stands before that."""
        text = "".join(self._pieces).lstrip()
        return text if self.is_writing else text.rstrip()

    def begin_part(self) -> str:
        """Begin another part; return the separator between it and the part before."""
        return self.add(SEPARATOR) if self.text else ""

    def add(self, piece: str) -> str:
        """Append `piece`, and return it."""
        self._pieces.append(piece)
        return piece


LIVE = 0
"""The picker's value for the text that is not stored as a draft."""
UNFINISHED = -2
"""Replaces `LIVE` once nothing more arrives: the picker redraws a label only when its value changes."""
NONE = -1
"""The picker's value while there is nothing to pick."""
NO_DRAFT = ((Content("No draft yet"), NONE),)
EMPTY_TEXT = "Nothing is written yet. Build Narrative writes the chapter here."


class DraftCell(Vertical):
    """Shows one draft, or the text that streams in; the picker lists every draft."""

    HELP = (
        "Every build is a draft of its own, and earlier ones stay; the picker below the text shows "
        "any of them, and = compares two. Download Chapter writes the draft that shows into a text file."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_all", "Copy"),
        Binding("equals_sign", "compare", "Compare", key_display="="),
    ]

    class Chosen(Message):
        """Another draft shows."""

    class ComparisonWanted(Message):
        """The GM compares drafts."""

    view = getters.query_one(DraftView)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.drafts: list[NarrativeDraft] = []
        """Every draft, oldest first."""
        self.live: LiveDraft | None = None
        """The text that is not stored as a draft."""
        self._viewpoints: dict[RequestId, str] = {}
        """Name of the character whose viewpoint a request has, where it is not the GM's."""
        self._chosen: int | None = None
        self._target: int | None = None

    def compose(self) -> ComposeResult:
        """Compose heading, text, and a footer with the picker and the copy button."""
        with Horizontal(classes="line"):
            yield Static("Written chapter", classes="label")
            yield Static(classes="gap")
            yield Static("", id="draft-words", markup=False)
        with Vertical(classes="cell"):
            yield Static(EMPTY_TEXT, id="draft-empty", markup=False)
            yield DraftView(id="draft-view")
            with Horizontal(classes="foot"):
                yield GuardedSelect[int](NO_DRAFT, id="drafts", compact=True, allow_blank=False)
                yield Static("↓ more", id="draft-more", markup=False)
                yield Button("Copy all", id="draft-copy", compact=True)

    def on_mount(self) -> None:
        """Show that nothing is written."""
        self._show_choice(from_top=True)

    @property
    def has_text(self) -> bool:
        """Whether there is something to read."""
        return bool(self.drafts or (self.live and self.live.text))

    @property
    def shown(self) -> NarrativeDraft | None:
        """The draft that shows; None if none does."""
        return next((draft for draft in self.drafts if draft.version == self._chosen), None)

    @property
    def _text(self) -> str:
        """The text that shows, of a draft or of the stream."""
        text = self.shown or self.live
        return text.text if text else ""

    def show_drafts(self, drafts: Sequence[NarrativeDraft], live: LiveDraft | None = None) -> None:
        """Show the drafts of another session: the newest, or `live`, which is being written."""
        self.drafts = list(drafts)
        self._viewpoints = {}
        self.live = live
        self._chosen = LIVE if live is not None else self._newest
        self._show_choice(from_top=True)

    def name_viewpoints(self, viewpoints: Mapping[RequestId, str]) -> None:
        """Name the characters whose viewpoints the drafts have, by the requests of the drafts."""
        if viewpoints:
            self._viewpoints.update(viewpoints)
            self._show_choice(from_top=False)

    def choose(self, version: int) -> bool:
        """Show a draft; return whether it is there."""
        is_there = any(draft.version == version for draft in self.drafts)
        if is_there:
            self._chosen = version
            self._show_choice(from_top=True)
        return is_there

    def set_target(self, words: int | None) -> None:
        """Set the target length of a text that is not stored as a draft."""
        self._target = words
        self._show_words()

    def begin(self) -> None:
        """Begin a new draft; the others stay in the picker."""
        self.live, self._chosen = LiveDraft(), LIVE
        self._show_choice(from_top=True)

    def begin_part(self) -> None:
        """Begin the next part of the draft."""
        if self.live is not None:
            self._grow(self.live.begin_part())

    def stream(self, text: str) -> None:
        """Append text that arrived."""
        if self.live is not None:
            self._grow(self.live.add(text))

    def _grow(self, text: str) -> None:
        if text and self._chosen == LIVE:
            if not self.view.display:
                self._show_choice(from_top=False)
            else:
                self.view.grow(text)
            self._show_words()

    def settle(self, draft: NarrativeDraft) -> None:
        """Show the stored draft in place of the stream, unless the GM reads another draft."""
        if all(known.version != draft.version for known in self.drafts):
            self.drafts.append(draft)
        self.live = None
        if self._chosen in (LIVE, None):
            self._chosen = draft.version
        self._show_choice(from_top=False)

    def fail(self) -> None:
        """End the stream; the text that arrived stays visible, but is not a draft."""
        if self.live is not None and self.live.text:
            self.live.is_writing = False
        else:
            self.live = None
            self._chosen = self._newest if self._chosen == LIVE else self._chosen
        self._show_choice(from_top=False)

    @property
    def _newest(self) -> int | None:
        return self.drafts[-1].version if self.drafts else None

    def _show_choice(self, *, from_top: bool) -> None:
        """Show the chosen text, and the picker with every draft."""
        text = self._text
        empty = self.query_one("#draft-empty", Static)
        empty.display = not text
        empty.update("The first words are still to come …" if self.live else EMPTY_TEXT)
        self.view.display = bool(text)
        self.view.show_text(text, from_top=from_top)
        if not from_top and self.live is not None and self._chosen == LIVE:
            self.view.follow()
        picker = self.query_one("#drafts", Select)
        options = self._options()
        with self.prevent(Select.Changed):
            picker.set_options(options or NO_DRAFT)
            picker.value = self._picked
            # Also where the same draft shows: its name may be another now.
            picker.mutate_reactive(Select.value)  # type: ignore[misc]  # a descriptor, not a variable
        picker.disabled = not options
        self.query_one("#draft-copy").display = bool(text)
        self._show_words()
        self.refresh_bindings()
        self.post_message(self.Chosen())

    def _options(self) -> list[tuple[Content, int]]:
        options = [(Content(self._label(draft)), draft.version) for draft in reversed(self.drafts)]
        if self.live is not None:
            number = (self._newest or 0) + 1
            live = f"Draft {number} · being written" if self.live.is_writing else "Unfinished · no draft"
            options.insert(0, (Content(live), LIVE if self.live.is_writing else UNFINISHED))
        return options

    def _label(self, draft: NarrativeDraft) -> str:
        when = f"{draft.created_at.astimezone():%d %b %H:%M}"
        name = self._viewpoints.get(draft.request_id) if draft.request_id is not None else None
        whose = f" · as {clean_line(name)} sees it" if name else ""
        # The model comes last: a long name is cut at the end of the line.
        model = clean_line(draft.model)
        return f"Draft {draft.version}{whose} · {when} · {counted(draft.words, 'word')} · {model}"

    @property
    def _picked(self) -> int:
        """The picker's value for the chosen text."""
        if self._chosen == LIVE and self.live is not None and not self.live.is_writing:
            return UNFINISHED
        return NONE if self._chosen is None else self._chosen

    def _show_words(self) -> None:
        draft = self.shown
        text = counted(draft.words if draft else word_count(self._text), "word")
        if target := draft.target_words if draft else self._target:
            text += f" of about {target:,}"
        if draft is not None and len(self.drafts) > 1:
            text = f"draft {draft.version} of {len(self.drafts)} · {text}"
        self.query_one("#draft-words", Static).update(Content(text))

    @on(Select.Changed, "#drafts")
    def _handle_choice(self, event: Select.Changed) -> None:
        event.stop()
        if isinstance(event.value, int) and event.value not in (NONE, self._picked):
            self._chosen = LIVE if event.value == UNFINISHED else int(event.value)
            self._show_choice(from_top=self._chosen != LIVE)

    @on(Button.Pressed, "#draft-copy")
    def action_copy_all(self) -> None:
        """Copy the whole text that shows."""
        if text := self._text:
            what = f"Draft {self.shown.version}" if self.shown else "What is written so far"
            self.post_message(CopyRequested(text, what))

    @property
    def can_compare(self) -> bool:
        """Whether there is more than one draft."""
        return len(self.drafts) > 1

    def action_compare(self) -> None:
        """Ask to compare the draft that shows with another one."""
        self.post_message(self.ComparisonWanted())

    @property
    def compared(self) -> "ComparedTexts":
        """The drafts, to compare the one that shows with the one before it."""
        from storyengine_tui.screens.narrative.comparing.compared_drafts import drafts_to_compare

        return drafts_to_compare(tuple(self.drafts), self._viewpoints, self._chosen)

    @on(LineView.MoreBelowChanged, "#draft-view")
    def _show_more(self, event: LineView.MoreBelowChanged) -> None:
        self.query_one("#draft-more").visible = event.has_more_below

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        return {"copy_all": bool(self._text), "compare": self.can_compare}.get(action, True)
