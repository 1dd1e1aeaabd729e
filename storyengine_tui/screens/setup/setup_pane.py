"""Tab 1: world, chapter and cast (design 10)."""

from dataclasses import dataclass
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Button, Select, Static

from core.domain.errors import StoryEngineError
from core.domain.session.state_machine import NOTHING_TO_LOCK, Command
from core.domain.slot import Slot, first_slots, slot_after
from core.engine.decisions.tab1_commands import DOUBLE_NAME
from storyengine_tui.screens.setup.carried_cell import CarriedCell, show_carried
from storyengine_tui.screens.setup.cast_panels import CharacterPanel
from storyengine_tui.screens.setup.held_edit import HeldEdit, held_edit
from storyengine_tui.screens.setup.secrets.secrets_cell import SecretsCell
from storyengine_tui.screens.setup.secrets.secrets_view import find, first_words, without
from storyengine_tui.screens.setup.setup_fields import SetupFields
from storyengine_tui.screens.setup.setup_view import INTRO, RESET_WARNING, SetupView, setup_view
from storyengine_tui.screens.shared.autosave import Autosave, unstored
from storyengine_tui.screens.shared.kept_fields import Fields
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.widgets.banner import Banner, Tone
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.panel_switcher import PanelSwitcher, SlotEntries


class SetupPane(SessionTab):
    """The page on which a chapter is set up, and read once it is locked."""

    HELP = (
        "World and chapter are locked when you first go to 2 Play. The entries at the bottom switch between "
        "the characters; their number shows or hides panels and forgets nothing."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority: text that is typed after it is meant for the next character.
        Binding("ctrl+n", "next_panel", "Next panel", priority=True),
        Binding("ctrl+r", "retry", "Retry", show=False),
    ]

    @dataclass
    class LockRequested(Message):
        """The GM wants to lock world, chapter and cast, and go on to tab 2."""

        is_confirmed: bool = False

    view: var[SetupView | None] = var(None, init=False)

    _banner = getters.query_one("#lock-banner", Banner)
    _entries = getters.query_one("#panels", SlotEntries)

    def __init__(self) -> None:
        super().__init__()
        self._fields = SetupFields()
        self.autosave = Autosave(self._save, self.say_unsaved, self.say_saved, self.kept_fields.keep)
        self._held: HeldEdit | None = None

    def compose(self) -> ComposeResult:
        """Compose the cells, the entries of the characters, and the buttons."""
        with VerticalScroll(id="page", can_focus=False):
            yield Banner(id="lock-banner")
            yield Static(INTRO, id="intro")
            yield from self._fields.compose()
            yield SecretsCell(id="secrets")
        # Below what scrolls, so that the characters stay visible at every scroll position.
        yield SlotEntries(id="panels")
        with Horizontal(id="actions"):
            yield Static("", id="saved")
            yield Button("Go on to 2 Play", id="go-on", compact=True)
            yield Button("Reset Chapter", id="reset", compact=True)

    async def on_session_attached(self) -> None:
        """Show what is stored, each text from its beginning."""
        await self._fields.cast.clear()
        self._scroll_to_top()
        self.view = None
        self.refresh_view()
        await self._show_stored()
        held, self._held, snapshot = self._held, None, self.session.snapshot
        if held is None and self._is_editable:
            held = HeldEdit.of_fields(self.session.id, self.take_kept())
        if held is not None and held.session_id == self.session.id:
            await self._fields.put_back(held, snapshot)
            self._touch()

    def refresh_view(self) -> None:
        """Show the session as it is now."""
        if self.has_session:
            self.view = setup_view(self.session)

    def watch_view(self, before: SetupView | None, view: SetupView | None) -> None:
        """Veil the cells that cannot be changed, and say why; follow what another window writes."""
        if view is None:
            return
        is_editable = view.is_editable
        self.set_class(not is_editable, "-veiled")
        self._fields.set_read_only(not is_editable)
        self.query_one("#intro", Static).update(view.intro)
        self.query_one("#saved").display = self.query_one("#go-on").display = is_editable
        self.query_one("#reset").display = view.is_locked and view.is_writer
        self.query_one(SecretsCell).show(view)
        show_carried(self.query_one("#page"), view)
        if before is None or before.failed != view.failed:
            self._banner.content = view.failure
            if view.failed is not None:
                self._scroll_to_top()
        if view.is_locked:
            self._banner.hide()
        if before is None or _keys_of(before) != _keys_of(view):
            self.refresh_bindings()
        self._held = self._held or held_edit(lambda: self._fields.typed, before, self.session)
        is_new = before is not None and (before.session, before.stored) != (view.session, view.stored)
        if is_new and not view.is_writer and self._held is None:
            self.call_later(self._show_stored)

    @on(CarriedCell.Marked)
    def _mark_carried(self, event: CarriedCell.Marked) -> None:
        event.stop()
        self.do(self.session.edits.mark_carried(event.change))

    @property
    def typed_fields(self) -> Fields:
        """The texts that are not stored."""
        held = self._held or HeldEdit.of(self._fields.typed, self.session.snapshot)
        return held.fields if held else {}

    @property
    def has_unsaved(self) -> bool:
        """Whether something typed can be stored and is not yet."""
        return self._is_editable and self._fields.typed.edit_of(self.session.snapshot) is not None

    async def flush(self) -> None:
        """Store what is typed and not stored yet."""
        if self._held is not None:
            raise unstored("what you wrote on 1 World")
        if self.has_unsaved:
            self.autosave.touch()
            await self.autosave.flush()

    async def make_ready(self) -> bool:
        """Store what is typed and return whether it can be locked; if it cannot, say what is missing."""
        try:
            await self.flush()
        except StoryEngineError as error:
            self.post_message(self.CommandFailed(error))
            return False
        if double := await self.focus_first_invalid():
            self._say(double)
            return False
        if self.session.snapshot.tab1.is_blank:
            self._say(NOTHING_TO_LOCK)
            self._fields.world.focus()
            return False
        return True

    async def focus_first_invalid(self) -> str:
        """Focus the first name that another character has."""
        doubles = self._fields.typed.doubles(self.session.snapshot) if self._is_editable else {}
        for slot, name in doubles.items():
            await self._show_panel(slot, focus_name=True)
            return DOUBLE_NAME.format(name)
        return ""

    @property
    def _is_editable(self) -> bool:
        return self.has_session and self.session.can(Command.EDIT_TAB1)

    async def _save(self) -> None:
        if self._is_editable and (edit := self._fields.typed.edit_of(self.session.snapshot)) is not None:
            await self.session.edits.edit_tab1(edit)

    def say_saved(self, *, is_complete: bool = True) -> None:
        """Report that what was typed is stored, except for a name that another character has."""
        if self._held is not None:
            return
        has_double = self.has_session and self._fields.typed.doubles(self.session.snapshot)
        self._show_saved("name taken" if has_double else "stored")
        super().say_saved(is_complete=is_complete and not has_double)

    def say_unsaved(self, error: StoryEngineError) -> None:
        """Report that what was typed could not be stored; autosave tries again."""
        self._show_saved("not stored")
        super().say_unsaved(error)

    def _show_saved(self, text: str) -> None:
        if self.is_mounted:
            self.query_one("#saved", Static).update(text, layout=False)

    async def _show_stored(self) -> None:
        self._fields.show_stored(self.session.snapshot)
        await self._show_panel(self._fields.cast.slot)

    async def _show_panel(self, slot: Slot, *, focus_name: bool = False) -> None:
        """Show the panel of `slot`, hide the others, and focus the name if that is wanted."""
        await self._fields.show_panel(slot, self.session.snapshot)
        self._show_entries()
        if focus_name:
            self._focus_name()

    @on(SlotEntries.Entered)
    def _focus_name(self) -> None:
        if self._fields.cast.shown is not None:
            self._fields.cast.shown.focus_name()

    def _show_entries(self) -> None:
        if not self.has_session:  # The chapter was closed while the panel was created.
            return
        snapshot, typed = self.session.snapshot, self._fields.typed
        self._entries.set_entries(typed.entries(snapshot))
        self._entries.active = self._fields.cast.slot.colour
        self._fields.cast.say_clashes(typed.doubles(snapshot))

    def _scroll_to_top(self) -> None:
        self.query_one("#page").scroll_home(animate=False)

    def _say(self, sentence: str) -> None:
        self._banner.show(sentence, tone=Tone.WARNING)
        self._scroll_to_top()

    @on(CappedTextArea.Edited)
    def _handle_text(self) -> None:
        self._fields.show_counters()
        self._touch()

    @on(CharacterPanel.Edited)
    def _handle_panel(self) -> None:
        self._show_entries()
        self._touch()

    @on(Select.Changed, "#character-count")
    async def _handle_count(self) -> None:
        if not self.has_session:
            return
        await self._show_panel(self._fields.cast.slot)
        if self._fields.character_count != len(self.session.snapshot.session.slots):
            self._touch()

    def _touch(self) -> None:
        if self._is_editable:
            if not self.autosave.is_dirty:
                self._show_saved("storing …")
            self.autosave.touch()
            if setup_view(self.session).failed is None:
                self._banner.hide()

    @on(PanelSwitcher.Picked, "#panels")
    async def _handle_pick(self, event: PanelSwitcher.Picked) -> None:
        await self._show_panel(Slot[event.key.upper()], focus_name=not self._entries.is_stepping)

    async def action_next_panel(self) -> None:
        """Go to the next character's name; the first follows the last."""
        slot = slot_after(self._fields.cast.slot, first_slots(self._fields.character_count))
        await self._show_panel(slot, focus_name=True)

    async def step_focus(self, focused: Widget, step: int) -> bool:
        """Go from the end of one character to the beginning of the next, and back."""
        slot = self._fields.cast.neighbour(focused, step, self._fields.character_count)
        if slot is None:
            return False
        await self._show_panel(slot)
        if self._fields.cast.shown is not None:
            name, identity = self._fields.cast.shown.fields
            self.screen.set_focus(name if step > 0 else identity)
        return True

    def action_retry(self) -> None:
        """Lock again after a failure."""
        self.post_message(self.LockRequested(is_confirmed=True))

    @on(Banner.ActionChosen, "#lock-banner")
    def _perform(self, event: Banner.ActionChosen) -> None:
        event.stop()
        if event.action == "retry":
            self.action_retry()
        else:
            self._fields.world.focus()

    @on(Button.Pressed, "#go-on")
    def _request_lock(self) -> None:
        self.post_message(self.LockRequested())

    def on_tab_shown(self) -> None:
        """Focus the world, unless a widget of this page has the focus."""
        if not self.has_focus_within:
            self.page_focus.move_to(self._fields.world)

    @on(Button.Pressed, "#reset")
    def action_reset(self) -> None:
        """Ask whether the chapter is to be reset."""
        question = ConfirmModal("Reset Chapter", RESET_WARNING, is_destructive=True)
        session = self.session
        self.ask_for(question, lambda _: session.reset(), group="reset")

    def action_add_secret(self) -> None:
        """Begin a secret."""
        self.post_message(SecretsCell.Wanted(len(self.session.snapshot.secrets) + 1))

    @on(SecretsCell.DropWanted)
    def _ask_to_drop(self, event: SecretsCell.DropWanted) -> None:
        event.stop()
        session = self.session
        secret = find(session.snapshot, event.number)
        if secret is not None:
            text = f"“{first_words(secret.text)}” is deleted from this chapter."
            question = ConfirmModal(
                f"Delete secret {secret.number}?", text, confirm="Delete", is_destructive=True
            )
            edit = session.scene.edit_secrets
            self.ask_for(question, lambda _: edit(without(session.snapshot.secrets, secret.number)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell the footer what is possible."""
        if action == "next_panel":
            return True if self.has_session and self._fields.character_count > 1 else None
        if action == "add_secret":
            return self.has_session and self.session.can(Command.EDIT_SECRETS)
        if action in ("retry", "reset"):
            view = setup_view(self.session) if self.has_session else None
            return view is not None and (view.can_reset if action == "reset" else view.failed is not None)
        return True


def _keys_of(view: SetupView) -> object:
    """Return what the footer depends on, which is recomposed only on a change: that is expensive."""
    return view.failed, view.can_reset, view.session.slots
