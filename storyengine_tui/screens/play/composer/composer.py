"""The bottom cell of tab 2: one panel for each character, of which one shows (design 10)."""

import asyncio
import json
from collections.abc import Iterator, Mapping

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import var

from core.domain.audience import Audience
from core.domain.session.session import Session
from core.domain.slot import Slot, slot_after
from storyengine_tui.screens.play.composer.prompt_area import PromptArea, Send
from storyengine_tui.screens.play.play_view import PlayView, numbered
from storyengine_tui.screens.play.scene.hearing_view import USUAL, Delivery, hearers_text, joined
from storyengine_tui.screens.shared.background import remove
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.panel_switcher import PanelSwitcher, SlotEntries


class Composer(Vertical):
    """Holds the unsent text of every panel. Its owner sends and stores the texts, and reports the outcome."""

    class Typed(Message):
        """The text of a panel changed, and must be stored."""

    class Shown(Message):
        """Another panel shows."""

    view: var[PlayView | None] = var(None, init=False)

    _entries = getters.query_one(SlotEntries)

    def __init__(self, send: Send, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._send = send
        self._areas: dict[Slot, PromptArea] = {}
        self._roster: tuple[tuple[Slot, str], ...] = ()
        self._sending_changed = asyncio.Event()
        self._kept: KeptText | None = None
        """Storage of the choices of hearers for the panels' texts; they are no part of the story."""
        self._chosen: dict[Slot, Audience] = {}
        self.slot = Slot.RED
        """The character whose panel shows."""

    def compose(self) -> ComposeResult:
        """Compose the entries; `set_cast` adds the panels."""
        yield SlotEntries(id="prompt-entries")

    def area(self, slot: Slot) -> PromptArea:
        """Return the panel of a character of this chapter."""
        return self._areas[slot]

    def __iter__(self) -> Iterator[PromptArea]:
        return iter(self._areas.values())

    @property
    def shown(self) -> PromptArea | None:
        """The panel that shows; None before there is a cast."""
        return self._areas.get(self.slot)

    async def set_cast(self, session: Session, unsent: Mapping[Slot, str], *, is_new: bool) -> None:
        """Create a panel for each character of `session`; unsaved texts of the same session stay."""
        if is_new or not self.is_cast_of(session):
            await self.dismiss_cast()
            self._roster = session.roster
            self._areas = {
                slot: PromptArea(slot, session.limits, name, unsent.get(slot, ""), send=self._send)
                for slot, name in self._roster
            }
            for area in self._areas.values():
                area.display = area.slot is self.slot
            await self.mount_all(self._areas.values(), before="#prompt-entries")
            self.watch_view()
        else:
            for slot, area in self._areas.items():
                area.show_stored(unsent.get(slot, ""))
        self._show_entries()

    async def dismiss_cast(self) -> None:
        """Remove the panels: the chapter is not played yet."""
        areas, self._areas, self._roster = self._areas, {}, ()
        self._kept, self._chosen = None, {}
        await remove(areas.values())

    def is_cast_of(self, session: Session) -> bool:
        """Whether the panels are those of the characters of `session`, under their names."""
        return self._roster == session.roster

    def follow(self, slot: Slot, text: str) -> None:
        """Show what another window has stored for a panel."""
        if slot in self._areas:
            self._areas[slot].follow(text)
            self._show_entries()

    def show(self, slot: Slot, *, takes_focus: bool | None = None) -> None:
        """Show the panel of `slot`; by default it takes the focus if the panel before had it."""
        if slot not in self._areas:
            return
        before = self.shown
        if takes_focus is None:
            # The panel itself learns it by an event, and a refusal may come before that.
            takes_focus = before is not None and self.screen.focused is before
        self.slot = slot
        for area in self._areas.values():
            area.display = area.slot is slot
        if before is not self.shown:
            self.post_message(self.Shown())
        self._entries.active = slot.colour
        if takes_focus:
            # Immediately: `focus` is queued, and keys already queued would still go to the last panel.
            self.screen.set_focus(self._areas[slot], scroll_visible=False)

    def show_next(self, after: Slot) -> None:
        """Show the next character's panel; the first follows the last."""
        self.show(slot_after(after, tuple(self._areas)))

    def show_next_present(self, after: Slot) -> None:
        """Show the panel of the next character that is in the scene."""
        self.show(
            self.view.session.speaker_after(after) if self.view else slot_after(after, tuple(self._areas))
        )

    def watch_view(self) -> None:
        """Make the panels writable, or say in the empty ones why they are not."""
        for area in self._areas.values():
            area.set_writable(self.view.why_read_only if self.view else "")
        self._show_delivery()

    # Who hears what is sent, and who answers

    def choose(self, slot: Slot, delivery: Delivery) -> None:
        """Keep with a panel how the next text is sent from it."""
        area = self._areas[slot]
        area.heard_by, area.then = delivery.heard_by, delivery.then
        self._show_delivery()

    def keep_hearers(self, kept: KeptText) -> None:
        """Choose who hears the texts in the panels as it was kept, and keep every choice from now on."""
        for slot, heard_by in read_hearers(kept.read()).items():
            area = self._areas.get(slot)
            if area is not None and area.heard_by is None and not area.is_blank:
                area.heard_by = heard_by
        self._kept = kept
        self._show_delivery()

    def _show_delivery(self) -> None:
        chosen = {slot: area.heard_by for slot, area in self._areas.items() if area.heard_by is not None}
        if self._kept is not None and chosen != self._chosen:
            self._chosen = chosen
            self._kept.keep(hearers_as_text(chosen))
        view = self.view
        if view is None:
            return
        is_used = view.hearing.is_used or bool(chosen)
        for slot, area in self._areas.items():
            then = ", ".join(numbered(view.session, other) for other in area.then)
            who = hearers_text(view.session, slot, area.heard_by, area.then)
            note = view.stage.notes.get(slot)
            is_heard = is_used and not view.session.is_away(slot)  # Nothing is sent to one that is away.
            area.show_delivery(then, *((who,) if is_heard else ()), *((note.text,) if note else ()))
            area.note_mark = note.mark if note else ""
        self._show_entries()

    def put_back(self, slot: Slot, text: str, delivery: Delivery) -> None:
        """Put a text that was sent back into its panel, with how it is sent.

        With text that is there already, who may hear both hears it.
        """
        area, view = self._areas[slot], self.view
        if view is not None and not (area.is_blank and area.delivery == USUAL):
            delivery = joined(view.session, slot, area.delivery, delivery)
        area.put_back(text)
        self.choose(slot, delivery)

    def remove_text(self, slot: Slot, text: str) -> bool:
        """Remove a text that was put back; return whether it was there.

        In a panel that is empty then, those present hear what is sent next.
        """
        area = self._areas[slot]
        was_there = area.remove_text(text)
        if was_there and area.is_blank:
            self.choose(slot, USUAL)
        return was_there

    async def all_sent(self) -> None:
        """Return when no text is being sent any more."""
        while any(area.sending for area in self._areas.values()):
            self._sending_changed.clear()
            await self._sending_changed.wait()

    def accepted(self, slot: Slot, text: str, stored: str) -> None:
        """Note that a text which was sent from a panel is stored as a prompt."""
        self._areas[slot].accepted(text, stored)
        self._sending_changed.set()

    def refused(self, slot: Slot, text: str, delivery: Delivery) -> None:
        """Put a text that was sent back into its panel, unless the chapter was closed."""
        area = self._areas.get(slot)
        if area is not None and text in area.sending:
            area.sending.remove(text)
            self.put_back(slot, text, delivery)
        self._sending_changed.set()

    def _show_entries(self) -> None:
        self._entries.set_entries([area.entry for area in self._areas.values()])

    @on(CappedTextArea.Edited)
    def _handle_text(self, event: CappedTextArea.Edited) -> None:
        if isinstance(event.sender, PromptArea):
            event.sender.show_length()
        self._show_entries()
        self.post_message(self.Typed())

    @on(SlotEntries.Picked)
    def _handle_pick(self, event: PanelSwitcher.Picked) -> None:
        self.show(Slot[event.key.upper()], takes_focus=not self._entries.is_stepping)

    @on(SlotEntries.Entered)
    def _enter(self) -> None:
        self.show(self.slot, takes_focus=True)


def hearers_as_text(chosen: Mapping[Slot, Audience]) -> str:
    """Return the choices of the panels as JSON; empty without any."""
    rows = {str(int(slot)): [int(hearer) for hearer in audience] for slot, audience in chosen.items()}
    return json.dumps(rows) if rows else ""


def read_hearers(text: str) -> dict[Slot, Audience]:
    """Return the choices in a kept text; what cannot be read has none."""
    try:
        rows = json.loads(text)
        return {
            Slot(int(slot)): Audience.of(Slot(hearer) for hearer in hearers) for slot, hearers in rows.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
