"""Tab 1: world, chapter and cast (design 10)."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Select, Static

from core.domain.errors import StoryEngineError
from core.domain.limits import Limits
from core.domain.request import LockRequest, Request
from core.domain.session import SessionState
from core.domain.slot import Slot, first_slots, following
from core.domain.state_machine import Command
from core.engine.sync.notifications import Notification, RequestFailed, SessionChanged, WriterChanged
from storyengine_tui.screens.setup.agent_panel import AgentPanel
from storyengine_tui.screens.setup.lock_banner import LockBanner
from storyengine_tui.screens.setup.setup_edit import TypedSetup, failed_lock
from storyengine_tui.screens.setup.setup_texts import HELP, INTRO, RESET_KEEPS, RESET_WARNING, intro
from storyengine_tui.screens.shared.autosave import Autosave
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.textual_ext.option_lists import GuardedSelect
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.char_counter import CharCounter
from storyengine_tui.widgets.panel_switcher import PanelSwitcher
from storyengine_tui.widgets.slot_entries import SlotEntries

if TYPE_CHECKING:
    from core.engine.session_handle import SessionHandle

_LIMITS = Limits()


class SetupPane(SessionTab):
    """The page on which a chapter is set up, and read once it is locked."""

    HELP = HELP
    BINDINGS: ClassVar[list[BindingType]] = [
        # At once: what is typed behind it is meant for the next character.
        Binding("ctrl+n", "next_panel", "Next agent", priority=True),
        Binding("ctrl+r", "retry", "Retry", show=False),
    ]

    @dataclass
    class LockRequested(Message):
        """The GM goes on to tab 2: world, chapter and cast are to be locked."""

        is_confirmed: bool = False

    def __init__(self) -> None:
        super().__init__()
        self._world = CappedTextArea(
            id="world",
            limit=_LIMITS.world,
            placeholder="The world in which the story takes place, the kind of story, and its tone.",
        )
        self._chapter = CappedTextArea(
            id="chapter",
            limit=_LIMITS.chapter,
            placeholder="This chapter: where it begins, what is going on, what matters in it.",
        )
        self._count = GuardedSelect(
            [(str(number), number) for number in range(1, len(Slot) + 1)],
            value=3,
            allow_blank=False,
            compact=True,
            id="agent-count",
        )
        self._panels: dict[Slot, AgentPanel] = {}
        self._slot = Slot.RED
        self._autosave = Autosave(self._save, self._say_unsaved, self._say_saved)

    def compose(self) -> ComposeResult:
        """Compose the four cells and what can be done with them."""
        with VerticalScroll(id="page", can_focus=False):
            yield LockBanner(id="lock-banner")
            yield Static(INTRO, id="intro")
            yield from self._cell("World", self._world, _LIMITS.world)
            yield from self._cell("Chapter", self._chapter, _LIMITS.chapter)
            with Horizontal(classes="line"):
                yield Static("Number of agents ", classes="label")
                yield self._count
            yield Vertical(id="cast", classes="grows")
        # Below what scrolls, so that the characters stay visible at every scroll position.
        yield SlotEntries(id="panels")
        with Horizontal(id="actions"):
            yield Static("", id="saved")
            yield Button("Go on to 2 Play", id="go-on", compact=True)
            yield Button("Reset Chapter", id="reset", compact=True)

    def _cell(self, label: str, area: CappedTextArea, limit: int) -> ComposeResult:
        with Vertical(classes="cell grows"):
            with Horizontal(classes="line"):
                yield Static(label, classes="label")
                yield Static(classes="gap")
                yield CharCounter(limit, id=f"{area.id}-counter")
            yield area

    def on_mount(self) -> None:
        """Watch what is typed."""
        self._autosave.start()

    async def on_unmount(self) -> None:
        """Watch no more."""
        await self._autosave.stop()

    async def on_session_attached(self) -> None:
        """Show what is stored, from its end."""
        for panel in self._panels.values():
            await panel.remove()
        self._panels.clear()
        self._slot = Slot.RED
        self.is_from_beginning = False
        self._go_to_top()
        await self._show_stored()
        await self._show_state()
        self._show_lock_failure(failed_lock(self.session.snapshot))

    def on_notification(self, notification: Notification) -> None:
        """Follow the state, and what another window writes."""
        match notification:
            case SessionChanged() | WriterChanged():
                if isinstance(notification, SessionChanged) and self.session.is_read_only:
                    self.call_later(self._show_stored)
                self.call_later(self._show_state)
            case RequestFailed(LockRequest() as request):
                self._show_lock_failure(request)
            case _:
                pass

    async def flush(self) -> None:
        """Store what was typed and is not stored yet."""
        if self._is_editable and self._typed().edit_of(self.session.snapshot) is not None:
            self._autosave.touch()
            await self._autosave.flush()

    async def make_ready(self) -> bool:
        """Store what is typed and return whether it can be locked; say what is missing when it cannot."""
        try:
            await self.flush()
        except StoryEngineError as error:
            self.post_message(self.CommandFailed(error))
            return False
        if double := await self.focus_first_invalid():
            self._say(double)
            return False
        if self.session.snapshot.tab1.is_blank:
            self._say("Write a world or a chapter first; there is nothing to lock yet.")
            self._world.focus()
            return False
        return True

    async def focus_first_invalid(self) -> str:
        """Go to a name that another character has."""
        doubles = self._typed().doubles(self.session.snapshot) if self._is_editable else {}
        for slot, name in doubles.items():
            await self._show_panel(slot)
            self._panels[slot].focus_name()
            return f"Two characters cannot both be called {name}; choose another name."
        return ""

    @property
    def _is_editable(self) -> bool:
        return self.has_session and self.session.can(Command.EDIT_TAB1)

    def _typed(self) -> TypedSetup:
        return TypedSetup(
            world=self._world.text,
            chapter=self._chapter.text,
            agent_count=self._agent_count,
            names={slot: panel.agent_name for slot, panel in self._panels.items()},
            identities={slot: panel.identity for slot, panel in self._panels.items()},
        )

    @property
    def _agent_count(self) -> int:
        return self._count.value if isinstance(self._count.value, int) else 1

    async def _save(self) -> None:
        if not self._is_editable:
            return
        edit = self._typed().edit_of(self.session.snapshot)
        if edit is not None:
            await self.session.edit_tab1(edit)

    def _say_saved(self) -> None:
        has_double = self.has_session and self._typed().doubles(self.session.snapshot)
        self._show_saved("name taken" if has_double else "stored")
        self.post_message(self.Stored(is_whole=not has_double))

    def _say_unsaved(self, error: StoryEngineError) -> None:
        self._show_saved("not stored")
        self.post_message(self.CommandFailed(error))

    def _show_saved(self, text: str) -> None:
        if self.is_mounted:
            self.query_one("#saved", Static).update(text, layout=False)

    async def _show_stored(self) -> None:
        snapshot = self.session.snapshot
        for area, text in ((self._world, snapshot.tab1.world), (self._chapter, snapshot.tab1.chapter)):
            if area.text != text:
                area.load_text(text)
        self._count.value = len(snapshot.session.slots)
        cast = snapshot.cast
        for slot, panel in self._panels.items():
            panel.show_stored(cast[slot])
        self._show_counters()
        await self._show_panel(self._slot)

    def _show_counters(self) -> None:
        for area in (self._world, self._chapter):
            self.query_one(f"#{area.id}-counter", CharCounter).show(area.length)

    async def _show_state(self) -> None:
        """Lay the veil over what cannot be changed any more, and say so."""
        is_editable, state = self._is_editable, self.session.snapshot.session.state
        is_locked = state not in (SessionState.DRAFT_TAB1, SessionState.LOCKING)
        self.set_class(not is_editable, "-veiled")
        for area in (self._world, self._chapter):
            area.read_only = not is_editable
        for panel in self._panels.values():
            panel.set_read_only(not is_editable)
        self._count.disabled = not is_editable
        self.query_one("#intro", Static).update(
            intro(is_locked=is_locked, is_read_only=self.session.is_read_only)
        )
        self.query_one("#saved").display = is_editable
        self.query_one("#go-on").display = is_editable
        self.query_one("#reset").display = is_locked and not self.session.is_read_only
        if is_locked:
            self.query_one(LockBanner).hide()
        self.refresh_bindings()

    async def _show_panel(self, slot: Slot) -> None:
        """Show the panel of `slot`, made when it is first wanted, and hide the others."""
        slots = first_slots(self._agent_count)
        self._slot = slot if slot in slots else slots[-1]
        if self._slot not in self._panels:
            snapshot = self.session.snapshot
            panel = AgentPanel(
                snapshot.session.limits,
                snapshot.cast[self._slot],
                is_read_only=not self._is_editable,
            )
            self._panels[self._slot] = panel
            await self.query_one("#cast").mount(panel)
            if self.is_from_beginning:
                panel.fields[1].action_document_end(False)
        shown, focused = self._panels[self._slot], self.screen.focused
        around = focused.ancestors if focused is not None else []
        is_leaving = any(panel in around for panel in self._panels.values() if panel is not shown)
        for panel in self._panels.values():
            panel.display = panel is shown
        if is_leaving:
            shown.focus_name()
        self._show_entries()

    def _show_entries(self) -> None:
        if not self.has_session:  # It was closed while the panel was made.
            return
        snapshot, typed = self.session.snapshot, self._typed()
        doubles = typed.doubles(snapshot)
        switcher = self.query_one("#panels", PanelSwitcher)
        switcher.set_entries(typed.entries(snapshot))
        switcher.active = self._slot.colour
        for slot, panel in self._panels.items():
            panel.say_clash(doubles.get(slot, ""))

    def _show_lock_failure(self, request: Request | None) -> None:
        self.query_one(LockBanner).show_failure(request)
        if request is not None:
            self._go_to_top()
        self.refresh_bindings()

    def _go_to_top(self) -> None:
        self.query_one("#page").scroll_home(animate=False)

    def _say(self, sentence: str) -> None:
        self.query_one(LockBanner).say(sentence)
        self._go_to_top()

    @on(CappedTextArea.LimitReached)
    def _say_limit(self, event: CappedTextArea.LimitReached) -> None:
        event.stop()
        event.text_area.say_full(event.refused)

    @on(CappedTextArea.Edited)
    def _handle_text(self, event: CappedTextArea.Edited) -> None:
        event.stop()
        self._show_counters()
        self._touch()

    @on(AgentPanel.Edited)
    def _handle_panel(self, event: AgentPanel.Edited) -> None:
        event.stop()
        self._show_entries()
        self._touch()

    @on(Select.Changed, "#agent-count")
    async def _handle_count(self, event: Select.Changed) -> None:
        event.stop()
        if not self.has_session:
            return
        await self._show_panel(self._slot)
        if self._agent_count != len(self.session.snapshot.session.slots):
            self._touch()

    def _touch(self) -> None:
        if self._is_editable:
            if not self._autosave.is_dirty:
                self._show_saved("storing …")
            self._autosave.touch()
            if failed_lock(self.session.snapshot) is None:
                self.query_one(LockBanner).hide()

    @on(PanelSwitcher.Picked, "#panels")
    async def _handle_pick(self, event: PanelSwitcher.Picked) -> None:
        event.stop()
        await self._show_panel(Slot[event.key.upper()])
        if not self.query_one(SlotEntries).is_stepping:
            self._panels[self._slot].focus_name()

    @on(SlotEntries.Entered)
    def _enter_panel(self, event: SlotEntries.Entered) -> None:
        event.stop()
        self._panels[self._slot].focus_name()

    async def action_next_panel(self) -> None:
        """Go to the next character's name, around at the end."""
        await self._show_panel(following(self._slot, first_slots(self._agent_count)))
        self._panels[self._slot].focus_name()

    async def leads_on(self, focused: Widget, step: int) -> bool:
        """From the end of one character to the beginning of the next, and back."""
        slots = first_slots(self._agent_count)
        here = slots.index(self._slot)
        if self._slot not in self._panels or not 0 <= here + step < len(slots):
            return False
        name, identity = self._panels[self._slot].fields
        if focused is not (identity if step > 0 else name):
            return False
        await self._show_panel(slots[here + step])
        panel = self._panels[self._slot]
        (panel.focus_name if step > 0 else panel.focus_identity)()
        return True

    def action_retry(self) -> None:
        """Lock again what could not be locked."""
        self.post_message(self.LockRequested(is_confirmed=True))

    @on(Banner.ActionChosen, "#lock-banner")
    def _do_as_banner_says(self, event: Banner.ActionChosen) -> None:
        event.stop()
        if event.action == "retry":
            self.action_retry()
        else:
            self._world.focus()

    @on(Button.Pressed, "#go-on")
    def _go_on(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.LockRequested())

    def first_field(self) -> Widget | None:
        """Return the world; a banner above it has buttons, but the GM does not start with those."""
        return self._world

    @on(Button.Pressed, "#reset")
    def action_reset(self) -> None:
        """Ask whether the chapter is to be reset."""
        question = ConfirmModal("Reset Chapter", f"{RESET_WARNING}\n\n{RESET_KEEPS}", is_destructive=True)
        self.ask(question, partial(self._reset, self.session))

    def _reset(self, session: "SessionHandle", is_confirmed: bool | None) -> None:
        if is_confirmed:
            self.run_worker(self.perform(session.reset()), group="reset", exit_on_error=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action == "retry":
            return self.has_session and failed_lock(self.session.snapshot) is not None
        if action == "reset":
            return self.has_session and self.session.can(Command.RESET)
        if action == "next_panel":
            return True if self.has_session and self._agent_count > 1 else None
        return True
