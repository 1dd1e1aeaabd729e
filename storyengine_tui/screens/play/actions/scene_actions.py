"""The actions of tab 2 about the scene: who hears what, lines of the GM, a view (design 13)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from core.domain.audience import Audience
from core.domain.ids import SessionId
from core.domain.slot import Slot
from core.domain.story.event import Event
from core.domain.story.transcript import render_event
from core.engine.scene.scene_commands import ROLL
from core.engine.services.speaking.hints import Hint
from core.storage.snapshot import Snapshot
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.composer.prompt_sender import PromptSender
from storyengine_tui.screens.play.play_view import PlayView
from storyengine_tui.screens.play.scene.hearing_view import Delivery, choice_of
from storyengine_tui.screens.play.scene.stage_view import hinted_by
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle
    from storyengine_tui.screens.play.scene.line_modals import AddedLineModal
    from storyengine_tui.screens.play.scene.slot_modals import Adders, Hearers

USUAL_DICE = "d20"


class SceneActions(PageActions):
    """Actions of tab 2 about the scene."""

    @dataclass
    class NextInputWanted(Message):
        """The GM wants to see what a character is given next."""

        session_id: SessionId
        slot: Slot
        text: str

    def __init__(
        self,
        page: SessionTab,
        sender: PromptSender,
        view: Callable[[], PlayView],
        show_forecast: Callable[[], None],
    ) -> None:
        super().__init__(page, sender, view)
        self._show_forecast = show_forecast
        self.hints: Sequence[Hint] = ()
        """Those who were silent for long, as far as it was looked for."""
        self._hinted_by: object = None
        self._reading_as: tuple[Slot | None] | None = None
        """The viewpoint from which the story is being read."""

    # Who hears what

    def action_choose_hearers(self) -> None:
        """Choose who hears the next prompt from this panel, or who is in the scene from now on."""
        from storyengine_tui.screens.play.scene.slot_modals import HearersModal

        area = self.composer.shown
        if area is not None:
            session = self.session.snapshot.session
            ticked = session.hearers_of(area.slot, area.heard_by, *area.then)
            dialog = HearersModal(session, area.slot, ticked)
            self.page.ask(dialog, partial(self._choose_hearers, self.session, area.slot))

    def _choose_hearers(self, session: "SessionHandle", slot: Slot, chosen: "Hearers | None") -> None:
        if chosen is None or not self.page.shows(session):
            return
        then = self.composer.area(slot).then
        if chosen.lasts:
            self.composer.choose(slot, Delivery(None, then))
            self.page.do(session.scene.set_present(chosen.slots))
        else:
            stored = session.snapshot.session
            audience = stored.hearers_of(slot, Audience(chosen.slots), *then)
            self.composer.choose(slot, Delivery(choice_of(stored, slot, audience, then), then))

    # Who answers

    def action_choose_called(self) -> None:
        """Choose who answers the next prompt from this panel after its character."""
        from storyengine_tui.screens.play.scene.slot_modals import CalledModal

        area = self.composer.shown
        if area is not None:
            dialog = CalledModal(self.session.snapshot.session, area.slot, area.then)
            self.page.ask(dialog, partial(self._choose_called, self.session, area.slot))

    def _choose_called(self, session: "SessionHandle", slot: Slot, then: tuple[Slot, ...] | None) -> None:
        if then is not None and self.page.shows(session):
            self.composer.choose(slot, Delivery(self.composer.area(slot).heard_by, then))
            self._show_forecast()

    def action_let_add(self) -> None:
        """Choose which characters may add something unasked."""
        from storyengine_tui.screens.play.scene.slot_modals import AddersModal

        dialog = AddersModal(self.session.snapshot.session, self.session.afterthoughts.most)
        self.page.ask(dialog, partial(self._let_add, self.session))

    def _let_add(self, session: "SessionHandle", chosen: "Adders | None") -> None:
        if chosen is not None and self.page.shows(session):
            self.page.do(self._choose_adders(session, chosen))

    async def _choose_adders(self, session: "SessionHandle", chosen: "Adders") -> None:
        """Store who may add something, and say so: nothing else on the page shows it."""
        from storyengine_tui.screens.play.scene.slot_modals import said_of_adders

        await session.afterthoughts.choose_speakers(chosen.slots, is_on=chosen.is_on)
        self.page.notify(said_of_adders(session.snapshot.session, chosen), timeout=4, markup=False)

    def action_leave_out(self) -> None:
        """Leave the further reply out that failed."""
        self.leave_out(with_rest=False)

    def leave_out(self, *, with_rest: bool) -> None:
        """Leave it out, and with `with_rest` also those that were to come after it."""
        further = self.session.snapshot.further_reply
        if further is not None:
            self.page.do(self.session.takes.leave_out(further.id, with_rest=with_rest))

    # Lines of the GM

    def action_add_line(self) -> None:
        """Write a line to which no character answers."""
        from storyengine_tui.screens.play.scene.line_modals import NarrationModal

        self._ask(NarrationModal(self.session, self.page.kept_text("line")))

    def action_begin_scene(self) -> None:
        """Begin a new scene, with a line if the GM writes one."""
        from storyengine_tui.screens.play.scene.line_modals import SceneModal

        self._ask(SceneModal(self.session, self.page.kept_text("scene")))

    def action_roll_dice(self) -> None:
        """Roll dice; those that were rolled last are offered."""
        from storyengine_tui.screens.play.scene.line_modals import DiceModal

        self._ask(DiceModal(self.session, last_dice(self.session.snapshot.recent)))

    def action_reveal(self) -> None:
        """Reveal a secret."""
        from storyengine_tui.screens.play.scene.line_modals import RevealModal

        self._ask(RevealModal(self.session))

    def _ask(self, dialog: "AddedLineModal") -> None:
        self.page.ask(dialog, lambda _: self.follow_reply())

    # Who is away, silent, or was silent for long

    def action_choose_away(self) -> None:
        """Choose who leaves the scene for a while, or is back."""
        from storyengine_tui.screens.play.scene.stage_modals import AwayModal

        self.page.ask(AwayModal(self.session))

    def action_let_be_silent(self) -> None:
        """Choose who may act without words or say nothing."""
        from storyengine_tui.screens.play.scene.stage_modals import SilenceModal

        self.page.ask(SilenceModal(self.session))

    def action_hint_after(self) -> None:
        """Choose after how many prompts a silent character is pointed out."""
        from storyengine_tui.screens.play.scene.stage_modals import HintModal

        now = self.session.snapshot.session.hint_after
        self.page.ask_for(HintModal(str(now) if now else ""), partial(set_hint, self.session))

    def look_for_hints(self, snapshot: Snapshot) -> None:
        """Look again who was silent for long, if anything has changed on which that depends."""
        wanted = hinted_by(snapshot)
        if wanted != self._hinted_by:
            self._hinted_by, self.hints = wanted, ()
            if wanted is not None:
                work = self._look_for_hints(self.session)
                run_in_background(self.page, work, group="hints", exclusive=True)

    async def _look_for_hints(self, session: "SessionHandle") -> None:
        hints = await self.page.perform(session.heartbeats.hints())
        if hints and self.page.shows(session):
            self.hints = hints
            self.page.refresh_view()

    def action_why_silent(self) -> None:
        """Show the reason of the reply without words that is marked, or of the newest one."""
        from storyengine_tui.screens.play.scene.stage_modals import ReasonModal

        reply = self.reading.reasoned
        if reply is not None:
            line = render_event(reply, self.session.snapshot.session)
            self.page.ask(ReasonModal(line, reply.reason))

    def action_why_here(self) -> None:
        """Do the same by a key of the transcript."""
        self.action_why_silent()

    # A character's view

    def action_view_as(self) -> None:
        """Show what the first character witnessed, then the next one, and after the last everything."""
        slots = [slot for slot, _ in self.session.snapshot.session.roster]
        seen = self._viewpoint
        following = slots.index(seen) + 1 if seen in slots else 0
        self.read_story(slots[following] if following < len(slots) else None)

    def action_view_all(self) -> None:
        """Show everything again."""
        self.read_story(None)

    @property
    def _viewpoint(self) -> Slot | None:
        """The viewpoint that was asked for last, also where its story is still being read."""
        return self._reading_as[0] if self._reading_as is not None else self.reading.viewpoint

    def reread_story(self) -> None:
        """Show the story as it is stored now, from the same viewpoint."""
        self.read_story(self._viewpoint)

    def read_story(self, viewpoint: Slot | None) -> None:
        """Show the story as it is stored now, or what a character has witnessed of it."""
        reading_as = self._reading_as = (viewpoint,)
        work = self._read_story(self.session, reading_as)
        run_in_background(self.page, work, group="canon", exclusive=True)

    async def _read_story(self, session: "SessionHandle", reading_as: tuple[Slot | None]) -> None:
        try:
            await self._show_story(session, reading_as[0])
        finally:
            if self._reading_as is reading_as:
                self._reading_as = None

    async def _show_story(self, session: "SessionHandle", viewpoint: Slot | None) -> None:
        recent: Sequence[Event] | None = None
        played: Sequence[Event] | None = None
        while recent != session.snapshot.recent:
            # Again, if something was stored meanwhile: its notice may have been handled already.
            recent = session.snapshot.recent
            played = await self.page.perform(session.newest_canon(known_to=viewpoint))
            if played is None or not self.page.shows(session):
                return
        self.reading.switch_view(played or (), session.snapshot.session, viewpoint)
        self.page.refresh_view()

    # What is given next

    def action_next_input(self) -> None:
        """Show the exact input of the character of this panel, with the text that is in it."""
        area = self.composer.shown
        if area is not None:
            self.page.post_message(self.NextInputWanted(self.session.id, area.slot, area.text))


async def set_hint(session: "SessionHandle", typed: str) -> None:
    """Store after how many prompts a silent character is pointed out, as it was typed."""
    from storyengine_tui.screens.play.scene.stage_modals import read_number

    await session.scene.set_hint(read_number(typed))


def last_dice(recent: Sequence[Event]) -> str:
    """Return the notation of the last roll among these events, or the usual one."""
    rolls = [event.metadata[ROLL] for event in reversed(recent) if ROLL in event.metadata]
    notation = rolls[0].get("notation") if rolls and isinstance(rolls[0], dict) else None
    return notation if isinstance(notation, str) else USUAL_DICE
