"""The text of one composer panel: Enter takes it out at once, and nothing of it is lost on the way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from core.domain.limits import Limits
from core.domain.slot import Slot
from core.text.composer_text import joined, merged, without
from storyengine_tui.theme import slot_class
from storyengine_tui.widgets.fields.capped_text_area import ComposerTextArea

NEARLY_FULL = 0.9
"""The part of the limit from which on a counter shows."""


class PromptArea(ComposerTextArea):
    """What the GM types for the character in `slot`.

    A text that is sent leaves it in the same moment, so that what is typed next stands alone; until the
    owner says `accepted`, it is kept in `sending`, and `refused` puts it back. `leave` is called in that
    moment as well: a message would come behind keys that are on their way already.
    """

    HELP = (
        "Enter sends to the character whose name stands on the panel. Ctrl+N goes to the next panel; in "
        "the entries below, digits pick one. Page Up and Page Down scroll the transcript."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll_transcript('page_up')", show=False),
        Binding("pagedown", "scroll_transcript('page_down')", show=False),
        # The text area would take these from the application.
        Binding("f6", "app.model", "Model"),
        Binding("f7", "app.provenance", "Calls"),
    ]

    @dataclass
    class Sent(Message):
        """The GM sends `text` to the character in `slot`."""

        slot: Slot
        text: str

    @dataclass
    class ScrollRequested(Message):
        """The GM wants to read elsewhere in the transcript: `page_up`, `page_down` or `end`."""

        way: str

    def __init__(
        self, slot: Slot, limits: Limits, name: str, text: str, *, leave: Callable[[Slot], None]
    ) -> None:
        super().__init__(
            text, limit=max(limits.prompt, len(text)), id=f"prompt-{slot.colour}", classes=slot_class(slot)
        )
        self.slot = slot
        self.stored = text
        """What is stored of it, as far as is known here."""
        self.sending: list[str] = []
        self._most = limits.prompt
        self._leave = leave
        self._hint = ""
        self.character = name
        self.border_title = Content(f"To {int(slot)} {name}")

    @property
    def is_stored(self) -> bool:
        """Whether nothing of it is only here."""
        return not self.sending and self.text == self.stored

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing that could be sent."""
        return not self.text.strip()

    def set_writable(self, reason: str) -> None:
        """Take keys, or say, while it is empty, for what `reason` it takes none."""
        hint = reason or (
            f"What happens, what {self.character} sees and hears, what you ask. "
            "Enter sends; Ctrl+J is a new line."
        )
        self.read_only = bool(reason)
        if hint != self._hint:
            self._hint = hint
            self.placeholder = Content(hint)  # A string would be read as markup.

    def action_submit(self) -> None:
        """Take the text out and send it."""
        text = self.text
        if self.read_only or not text.strip():
            return
        self.sending.append(text)
        self.clear()
        self._leave(self.slot)
        self.post_message(self.Sent(self.slot, text))

    async def on_event(self, event: events.Event) -> None:
        """Pass on what was typed for the panel that has followed this one: on a slow line several keys
        come at once, and the ones behind Enter were meant for the next character."""
        focused = self.screen.focused
        if not self.display and isinstance(focused, PromptArea) and focused is not self:
            if isinstance(event, events.Key):
                focused.post_message(events.Key(event.key, event.character))
                return
            if isinstance(event, events.Paste):
                focused.post_message(events.Paste(event.text))
                return
        await super().on_event(event)

    def resend(self, text: str) -> bool:
        """Take a text that came back out, to send it once more; return False when it was edited since."""
        if not self.remove_text(text):
            return False
        self.sending.append(text)
        return True

    def accepted(self, text: str, stored: str) -> None:
        """The text that was sent is stored as a prompt; `stored` still waits for this panel."""
        self.sending.remove(text)
        self.stored = stored

    def refused(self, text: str) -> None:
        """The text that was sent could not be; it is back."""
        self.sending.remove(text)
        self.put_back(text)

    def put_back(self, text: str) -> None:
        """Insert `text` before what was typed since, unless it is there already; the cursor stays."""
        typed = self.text
        if without(typed, text) is not None:
            return
        whole = joined(text, typed)
        self.limit = max(self._most, len(whole))
        if not typed.strip():
            self.replace(whole, (0, 0), self.document.end)
            self.move_cursor(self.document.end)
        else:
            self.insert(whole.removesuffix(typed), (0, 0))

    def remove_text(self, text: str) -> bool:
        """Take `text` out again, as it was put back; return whether it was there."""
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
        """Show what is stored elsewhere; what is only here is kept, and stays in front of nothing."""
        whole = text if self.is_stored else merged(text, self.text)
        self.stored = text
        if whole != self.text:
            self.limit = max(self._most, len(whole))
            self.load_text(whole)

    def follow(self, text: str) -> None:
        """Show what another window has stored, unless something that is only here would be lost by it."""
        if self.is_stored:
            self.show_stored(text)

    def show_length(self) -> None:
        """Say how full it is, once that matters; the limit of a text that came back whole shrinks with it."""
        length = self.length
        self.limit = max(self._most, length)
        if self.says_full:
            return
        is_near = length >= self._most * NEARLY_FULL
        self.border_subtitle = Content(f"{length:,}/{self._most:,}") if is_near else None

    def action_scroll_transcript(self, way: str) -> None:
        """Read elsewhere in the transcript while typing."""
        self.post_message(self.ScrollRequested(way))

    def action_cursor_line_end(self, select: bool = False) -> None:
        """Go to the end of the line; from the end of all, have the transcript go to its own."""
        if not select and self.cursor_location == self.document.end:
            self.post_message(self.ScrollRequested("end"))
        super().action_cursor_line_end(select)


def _location(text: str, index: int) -> tuple[int, int]:
    before = text[:index]
    return before.count("\n"), index - (before.rfind("\n") + 1)
