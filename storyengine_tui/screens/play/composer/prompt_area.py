"""The text area of one composer panel: Enter empties it at once, and a text that is not accepted returns."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content

from core.domain.audience import Audience
from core.domain.session.limits import Limits
from core.domain.slot import Slot
from core.text.composer_text import joined, resumed, without
from storyengine_tui.screens.play.scene.hearing_view import Delivery
from storyengine_tui.theme import slot_class
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea, HelpedText
from storyengine_tui.widgets.panel_switcher import PanelEntry
from storyengine_tui.widgets.widget_message import ActionRequested

Send = Callable[[Slot, str, Delivery], None]
"""Sends a text to a character; it was removed from its panel."""
NEARLY_FULL = 0.9
"""The fraction of the limit from which on a counter shows."""


class PromptArea(CappedTextArea):
    """The GM's next text for the character in `slot`. Enter sends; Ctrl+J, or Shift+Enter where it arrives,
    is a new line.

    A text that is sent is removed at once, so that later typing begins a new text. It is kept in `sending`
    until the owner calls `accepted`, or `refused`, which puts it back. `send` is called at once: a message
    would arrive after keys that are queued already.
    """

    HELP = (
        "Enter sends to the character named on the panel. Ctrl+N goes to the next panel, Alt+1 to Alt+7 to "
        "any other; digits do so in the entries below. Page Up and Page Down scroll the transcript."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send"),
        Binding("ctrl+j,shift+enter", "new_line", "New line", key_display="^j"),
        Binding("pageup", "scroll_transcript('page_up')", show=False),
        Binding("pagedown", "scroll_transcript('page_down')", show=False),
        # Bindings of the text area would hide those of the application.
        Binding("f6", "app.model", "Model"),
        Binding("f7", "app.provenance", "Calls"),
    ]

    def __init__(self, slot: Slot, limits: Limits, name: str, text: str, *, send: Send) -> None:
        super().__init__(
            text, limit=max(limits.prompt, len(text)), id=f"prompt-{slot.colour}", classes=slot_class(slot)
        )
        self.slot = slot
        self.helped = HelpedText("prompt", f"Prompt to {name}", slot)
        self.stored = text
        """The stored text of this panel, as far as this window knows."""
        self.sending: list[str] = []
        """Texts that were sent and are neither accepted nor refused yet."""
        self.heard_by: Audience | None = None
        """The others that hear the next text that is sent from here; None for those present."""
        self.then: tuple[Slot, ...] = ()
        """Those who answer that text after the panel's character, in this order."""
        self._max_length = limits.prompt
        self._send = send
        self.character = name
        self._notes: tuple[str, ...] = ("",)
        self.note_mark = ""
        """Mark of the entry beside an unsent text: the character is away, or was silent for long."""
        self.border_title = Content(f"To {int(slot)} {name}")

    @property
    def is_stored(self) -> bool:
        """Whether all of its text is stored."""
        return not self.sending and self.text == self.stored

    @property
    def is_blank(self) -> bool:
        """Whether there is no text to send."""
        return not self.text.strip()

    @property
    def entry(self) -> PanelEntry:
        """The entry that switches to this panel; `✎` marks a text that is not sent yet."""
        colour, mark = self.slot.colour, f"{self.note_mark}{'' if self.is_blank else '✎'}"
        return PanelEntry(colour, int(self.slot), self.character, style=f"$slot-{colour}", mark=mark)

    @property
    def delivery(self) -> Delivery:
        """Delivery of the next text from here."""
        return Delivery(self.heard_by, self.then)

    def show_delivery(self, then: str, *notes: str) -> None:
        """Say in the title who answers next, who hears it, and whether it is away or was silent for long."""
        if (then, *notes) != self._notes:
            self._notes = then, *notes
            to = f"To {int(self.slot)} {self.character}{f', then {then}' if then else ''}"
            self.border_title = Content(" · ".join((to, *notes)))

    def set_writable(self, reason: str) -> None:
        """Make it writable, or with a `reason` read-only; the placeholder says which."""
        hint = (
            f"What happens, what {self.character} sees and hears, what you ask. "
            "Enter sends; Ctrl+J is a new line."
        )
        self.read_only = bool(reason)
        self.placeholder = Content(reason or hint)  # A string would be read as markup.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what is possible: nothing is sent from a text that is only read."""
        return not (self.read_only and action in ("submit", "new_line"))

    def action_new_line(self) -> None:
        """Break the line at the cursor, or replace the selection by a break."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_submit(self) -> None:
        """Remove the text and send it."""
        text = self.text
        if self.read_only or not text.strip():
            return
        self.sending.append(text)
        self.clear()
        self._send(self.slot, text, self.delivery)

    async def on_event(self, event: events.Event) -> None:
        """Pass on keys to the panel that has replaced this one: on a slow line several keys arrive together,
        and those after Enter are meant for the next character."""
        focused = self.screen.focused
        if not self.display and isinstance(focused, PromptArea) and focused is not self:
            if isinstance(event, events.Key):
                focused.post_message(events.Key(event.key, event.character))
                return
            if isinstance(event, events.Paste):
                focused.post_message(events.Paste(event.text))
                return
        await super().on_event(event)

    def accepted(self, text: str, stored: str) -> None:
        """Note that a text which was sent is stored as a prompt; `stored` is the unsent text in the store."""
        self.sending.remove(text)
        self.stored = stored

    def put_back(self, text: str) -> None:
        """Insert `text` before what was typed since, unless it is there already; the cursor does not move."""
        typed = self.text
        if without(typed, text) is not None:
            return
        whole = joined(text, typed)
        self.limit = max(self._max_length, len(whole))
        if not typed.strip():
            self.replace(whole, (0, 0), self.document.end)
            self.move_cursor(self.document.end)
        else:
            self.insert(whole.removesuffix(typed), (0, 0))

    def remove_text(self, text: str) -> bool:
        """Remove a `text` that was put back; return whether it was there."""
        rest = without(self.text, text)
        if rest is None:
            return False
        if not rest:
            self.clear()
        elif self.text.startswith(rest):
            self.delete(_location(self.text, len(rest)), self.document.end)
        else:
            self.delete((0, 0), _location(self.text, len(self.text) - len(rest)))
        return True

    def show_stored(self, text: str) -> None:
        """Show the text in the store, merged with text of this panel that is not stored yet."""
        whole = text if self.is_stored else resumed(self.stored, text, self.text)
        self.stored = text
        self._show(whole)

    def resume(self, base: str, typed: str) -> None:
        """Go on with a text that was `typed` over `base` and could not be stored."""
        self._show(resumed(base, self.stored, typed))

    def _show(self, whole: str) -> None:
        if whole != self.text:
            self.limit = max(self._max_length, len(whole))
            self.load_text(whole)

    def follow(self, text: str) -> None:
        """Show what another window has stored, unless this panel has text that is not stored yet."""
        if self.is_stored:
            self.show_stored(text)

    def show_length(self) -> None:
        """Show a counter when it is nearly full; lower a limit that was raised for a returned text."""
        length = self.length
        self.limit = max(self._max_length, length)
        if self.says_full:
            return
        is_near = length >= self._max_length * NEARLY_FULL
        self.border_subtitle = Content(f"{length:,}/{self._max_length:,}") if is_near else None

    def action_scroll_transcript(self, way: str) -> None:
        """Scroll the transcript while typing: `page_up`, `page_down` or `end`."""
        self.post_message(ActionRequested(f"read('{way}')"))

    def action_cursor_left(self, select: bool = False) -> None:
        """Move the cursor; in an empty panel, ask for the take before."""
        self._step_take(-1)
        super().action_cursor_left(select)

    def action_cursor_right(self, select: bool = False) -> None:
        """Move the cursor; in an empty panel, ask for the take after."""
        self._step_take(1)
        super().action_cursor_right(select)

    def _step_take(self, step: int) -> None:
        if not self.text:
            self.post_message(ActionRequested(f"choose_take({step})"))

    def action_cursor_line_end(self, select: bool = False) -> None:
        """Go to the end of the line; at the end of the text, scroll the transcript to its end."""
        if not select and self.cursor_location == self.document.end:
            self.action_scroll_transcript("end")
        super().action_cursor_line_end(select)


def _location(text: str, index: int) -> tuple[int, int]:
    before = text[:index]
    return before.count("\n"), index - (before.rfind("\n") + 1)
