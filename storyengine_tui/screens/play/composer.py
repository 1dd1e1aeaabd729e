"""The bottom cell of tab 2: one panel for each character, one of them shows (design 10)."""

import asyncio
from collections.abc import Iterator, Mapping

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import var

from core.domain.session import Session
from core.domain.slot import Slot, slot_after
from storyengine_tui.screens.play.play_view import PlayView
from storyengine_tui.screens.play.prompt_area import PromptArea
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.panel_switcher import PanelEntry, PanelSwitcher
from storyengine_tui.widgets.slot_entries import SlotEntries


class Composer(Vertical):
    """Holds what waits in every panel. The owner sends, stores, and says what came of it."""

    class Typed(Message):
        """Text of a panel changed; it is to be stored."""

    class Picked(Message):
        """The GM chose another panel."""

    view: var[PlayView | None] = var(None, init=False)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._areas: dict[Slot, PromptArea] = {}
        self._roster: tuple[tuple[Slot, str], ...] = ()
        self._sending_changed = asyncio.Event()
        self.slot = Slot.RED
        """The character whose panel shows."""

    def compose(self) -> ComposeResult:
        """Compose the entries; panels come with a session."""
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
                slot: PromptArea(slot, session.limits, name, unsent.get(slot, ""), leave=self.show_next)
                for slot, name in self._roster
            }
            for area in self._areas.values():
                area.display = area.slot is self.slot
            await self.mount_all(self._areas.values(), before="#prompt-entries")
            self._show_access()
        else:
            for slot, area in self._areas.items():
                area.show_stored(unsent.get(slot, ""))
        self._show_entries()

    async def dismiss_cast(self) -> None:
        """Remove the panels: the chapter is not played yet."""
        for area in self._areas.values():
            await area.remove()
        self._areas, self._roster = {}, ()

    def is_cast_of(self, session: Session) -> bool:
        """Whether the panels are those of the characters of `session`, under their names."""
        return self._roster == session.roster

    def follow(self, slot: Slot, text: str) -> None:
        """Show what another window has stored for a panel."""
        if slot in self._areas:
            self._areas[slot].follow(text)
            self._show_entries()

    def show(self, slot: Slot, *, takes_focus: bool | None = None) -> None:
        """Show the panel of `slot`; it has the focus if the one before had it, or as is said."""
        if slot not in self._areas:
            return
        before = self.shown
        if takes_focus is None:
            takes_focus = before is not None and before.has_focus
        self.slot = slot
        for area in self._areas.values():
            area.display = area.slot is slot
        self.query_one(SlotEntries).active = slot.colour
        if takes_focus:
            # At once: `focus` would wait, and keys that are on their way would still go to the last one.
            self.screen.set_focus(self._areas[slot], scroll_visible=False)

    def show_next(self, after: Slot) -> None:
        """Show the next character's panel, around at the end."""
        self.show(slot_after(after, tuple(self._areas)))

    def watch_view(self, before: PlayView | None, view: PlayView | None) -> None:
        """Let the GM write, or say in the empty panels why not."""
        if _why_read_only(before) != _why_read_only(view):
            self._show_access()

    def _show_access(self) -> None:
        for area in self._areas.values():
            area.set_writable(_why_read_only(self.view))

    async def all_sent(self) -> None:
        """Return when nothing is on its way any more."""
        while any(area.sending for area in self._areas.values()):
            self._sending_changed.clear()
            await self._sending_changed.wait()

    def accepted(self, slot: Slot, text: str, stored: str) -> None:
        """What was sent from a panel is stored as a prompt."""
        self._areas[slot].accepted(text, stored)
        self._sending_changed.set()

    def refused(self, slot: Slot, text: str) -> None:
        """What was sent from a panel is back in it, unless its chapter is gone."""
        area = self._areas.get(slot)
        if area is not None and text in area.sending:
            area.refused(text)
        self._sending_changed.set()

    def _show_entries(self) -> None:
        entries = [
            PanelEntry(
                key=slot.colour,
                number=int(slot),
                name=area.character,
                style=f"$slot-{slot.colour}",
                mark="" if area.is_blank else "✎",
            )
            for slot, area in self._areas.items()
        ]
        self.query_one(SlotEntries).set_entries(entries)

    @on(CappedTextArea.Edited)
    def _handle_text(self, event: CappedTextArea.Edited) -> None:
        event.stop()
        if isinstance(event.text_area, PromptArea):
            event.text_area.show_length()
        self._show_entries()
        self.post_message(self.Typed())

    @on(SlotEntries.Picked)
    def _handle_pick(self, event: PanelSwitcher.Picked) -> None:
        event.stop()
        self.show(Slot[event.key.upper()], takes_focus=not self.query_one(SlotEntries).is_stepping)
        self.post_message(self.Picked())

    @on(SlotEntries.Entered)
    def _enter(self, event: SlotEntries.Entered) -> None:
        event.stop()
        self.show(self.slot, takes_focus=True)


def _why_read_only(view: PlayView | None) -> str:
    return view.why_read_only if view else ""
