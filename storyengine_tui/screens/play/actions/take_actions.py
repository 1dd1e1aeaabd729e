"""The actions of tab 2 that change what counts: takes, undo, branches, moves of typed text (design 12)."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.message import Message

from core.domain.errors import ErrorCode, IllegalCommandError
from core.domain.requests.request import ReplyRequest
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.engine.services.takes.take_commands import called
from core.text.cleaning import clean_line
from storyengine_tui.screens.play.actions.page_actions import PageActions
from storyengine_tui.screens.play.composer.prompt_sender import PromptSender
from storyengine_tui.screens.play.play_view import PlayView, is_played, still_to_keep, with_other_names
from storyengine_tui.screens.play.takes_view import takes_view
from storyengine_tui.screens.shared.background import run_in_background
from storyengine_tui.screens.shared.session_tab import SessionTab

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle
    from core.storage.snapshot import Snapshot

ANOTHER_REPLY: Final = (
    "The newest reply is another one now; nothing was changed. Copy your text, and correct that one instead."
)
GIVEN_UP: Final = "The unfinished reply of {} was not kept as a reply; F7 has its text."


@dataclass(frozen=True)
class _Step:
    """A command that gives up replies that failed; with the title of its question, and the answer yes."""

    title: str
    confirm: str
    take: Callable[[], None]
    gives_up: Callable[[ReplyRequest], bool]
    ends_redo: bool = False


class TakeActions(PageActions):
    """Actions of tab 2. They run one after the other, so that a key pressed twice acts twice."""

    @dataclass
    class BranchWanted(Message):
        """The GM wants a new chapter that begins with prompts 1 to `at` of the open one."""

        at: int

    def __init__(self, page: SessionTab, sender: PromptSender, view: Callable[[], PlayView]) -> None:
        super().__init__(page, sender, view)
        self._steps = 0
        """Number of takes to move on by keys that are not processed yet."""
        self._failed: ReplyRequest | None = None
        """The failed reply of which is known, or being looked up, whether text of it had arrived."""
        self.has_partial = False
        """Whether text of the oldest failed reply had arrived."""

    # Another take

    def action_reroll(self) -> None:
        """Ask for another take of the newest reply."""
        self._ask_again(self.session.takes.reroll)

    def _ask_again(self, ask: Callable[[], Coroutine[object, object, object]]) -> None:
        def go_on() -> None:
            self.page.do(ask())
            self.follow_reply()

        title, confirm = "Ask for another take?", "Another take"
        self._take_step(_Step(title, confirm, go_on, lambda one: not one.is_take, ends_redo=True))

    def _take_step(self, step: "_Step") -> None:
        """Take it; first ask the GM where it would take away what can be had now.

        That is what Redo can bring back, and what came of a reply that the step gives up.
        """
        if any(map(step.gives_up, self.session.snapshot.failed(ReplyRequest))):
            work = self._ask_beside(self.session, step)
            run_in_background(self.page, work, group="take", exclusive=step.ends_redo)
        else:
            self._ask_unless_lost(step)

    async def _ask_beside(self, session: "SessionHandle", step: "_Step") -> None:
        """Take it beside replies that failed, once it is known whether text of them had arrived."""
        broken_off = [one for one in await self.broken_off(session) if step.gives_up(one)]
        if self.page.shows(session):
            self._ask_unless_lost(step, broken_off)

    def _ask_unless_lost(self, step: "_Step", broken_off: Sequence[ReplyRequest] = ()) -> None:
        snapshot = self.session.snapshot
        undone = takes_view(snapshot, self.session.why_not).undone if step.ends_redo else None
        lost = [still_to_keep(snapshot.session, broken_off)] if broken_off else []
        if undone is not None:
            lost.append(
                f"{undone.named.capitalize()} cannot be brought back by Redo once the new take has come."
            )
        if not lost:
            step.take()
            return
        from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal

        text, cancel = "\n\n".join(lost), "Cancel" if broken_off else "Keep Redo"
        question = ConfirmModal(step.title, text, confirm=step.confirm, cancel=cancel)
        self.page.ask(question, lambda is_sure: step.take() if is_sure else None)

    def action_reroll_with(self) -> None:
        """Ask for another take by another model."""
        from storyengine_tui.screens.play.actions.take_modals import ModelOnceModal

        self.page.ask(ModelOnceModal(""), partial(self._reroll_with, self.session))

    def _reroll_with(self, session: "SessionHandle", model: str | None) -> None:
        if model is not None and model.strip():
            self._ask_again(partial(session.takes.reroll, model=model))

    def action_continue_reply(self) -> None:
        """Ask for a take that continues the newest reply."""
        self._ask_again(self.session.takes.continue_reply)

    def action_correct_reply(self) -> None:
        """Write the newest reply as it should be."""
        from storyengine_tui.screens.play.actions.take_modals import ReplyModal

        session = self.session
        reply = _newest_reply(session.snapshot)
        text = "" if reply is None or reply.is_silent else reply.text
        store = partial(self._correct_reply, session, reply)
        key = "" if reply is None else f".{reply.prompt_index}.{reply.take}.{reply.ordinal}"
        kept = self.page.kept_text(f"reply{key}")
        dialog = ReplyModal(store, session.snapshot.session.limits.transcript, text, kept)
        self.page.ask(dialog, lambda _: None)

    async def _correct_reply(self, session: "SessionHandle", reply: Event | None, text: str) -> None:
        if _newest_reply(session.snapshot) != reply:
            raise IllegalCommandError(ANOTHER_REPLY)
        await session.takes.correct_reply(text)

    def action_strike_afterthought(self) -> None:
        """Take what a character added last to the newest prompt out of the story."""
        self.page.do(self.session.takes.strike_afterthought())

    def action_choose_take(self, step: int) -> None:
        """Choose the take before (-1) or after (1) the one that counts."""
        self._steps += step
        self.page.do(self._choose_take(self.session))

    async def _choose_take(self, session: "SessionHandle") -> None:
        """Choose the take that the keys lead to; those that they pass over are not chosen on the way."""
        async with self._one_by_one:
            steps, self._steps = self._steps, 0
            takes = takes_view(session.snapshot, session.why_not)
            wanted = min(max(takes.take + steps, 1), takes.count)
            if wanted != takes.take and self.page.shows(session):
                await session.takes.choose(wanted)

    def look_for_partial(self, snapshot: "Snapshot") -> None:
        """Look whether text of the oldest failed reply had arrived, once for each failure."""
        failed = next(iter(snapshot.failed(ReplyRequest)), None)
        if failed != self._failed:
            if self._failed is not None and self.has_partial:
                self._say_given_up(snapshot, self._failed)
            self._failed, self.has_partial = failed, False
            if failed is not None:
                work = self._look_for_partial(self.session, failed)
                run_in_background(self.page, work, group="partial", exclusive=True)

    async def _look_for_partial(self, session: "SessionHandle", failed: ReplyRequest) -> None:
        has_partial = await self.page.perform(session.takes.has_partial(failed))
        if has_partial and self.page.shows(session) and failed == self._failed:
            self.has_partial = True
            self.page.refresh_view()

    def _say_given_up(self, snapshot: "Snapshot", reply: ReplyRequest) -> None:
        """Say where the text of a reply is that broke off, once a prompt was sent in place of keeping it.

        One that the GM stopped is not told of: it was read, and not wanted.
        """
        known = {str(one.id) for one in snapshot.requests} | {one.request_id for one in snapshot.recent}
        is_stopped = reply.error_code is ErrorCode.LLM_CANCELLED
        if reply.session_id == snapshot.session.id and str(reply.id) not in known and not is_stopped:
            name = clean_line(snapshot.session.name_of(reply.slot))
            self.page.notify(GIVEN_UP.format(name), markup=False)

    def action_keep_partial(self) -> None:
        """Keep what had come of a reply that was stopped or broke off; its prompt leaves its panel."""
        if request := self.view().partial:
            self.page.do(self._keep_partial(request))

    async def _keep_partial(self, request: ReplyRequest) -> None:
        session = self.session
        await session.takes.keep_partial(request.id)
        if self.page.shows(session) and not is_played(request):
            self.sender.remove_restored(request.slot, request.text)

    # Undo

    def action_undo(self) -> None:
        """Take the newest prompt back; its text returns to its panel."""
        session = self.session
        self._take_step(
            _Step("Undo the prompt?", "Undo", lambda: self.page.do(self._undo(session)), is_played)
        )

    async def _undo(self, session: "SessionHandle") -> None:
        async with self._one_by_one:
            await self.sender.flush()
            last = session.snapshot.session.prompt_index
            undone = [event for event in session.snapshot.recent if event.prompt_index == last]
            prompt = next((event for event in undone if event.role is Role.USER), None)
            slots = called(session.snapshot) if prompt is not None else ()
            await session.takes.undo()
            if prompt is not None and self.page.shows(session):
                self.sender.restore(slots[0], prompt.text, prompt.audience, slots[1:])

    def action_redo(self) -> None:
        """Bring back the prompt that was undone last."""
        session = self.session
        self._take_step(
            _Step("Redo the prompt?", "Redo", lambda: self.page.do(self._redo(session)), is_played)
        )

    async def _redo(self, session: "SessionHandle") -> None:
        async with self._one_by_one:
            await self.sender.flush()
            undone = session.snapshot.undone
            again = [event for event in undone if event.prompt_index == undone[0].prompt_index]
            slot = next((event.slot for event in again if event.slot is not None), None)
            await session.takes.redo()
            if slot is not None and self.page.shows(session):
                self.sender.remove_restored(slot, again[0].text)

    # Branches

    def action_branch(self) -> None:
        """Ask where to branch the chapter: at the prompt that is marked, or at the newest."""
        from storyengine_tui.screens.play.actions.take_modals import BranchModal

        last = self.session.snapshot.session.prompt_index
        self.page.ask(BranchModal(self.reading.marked_prompt or last, last), self.branch)

    def action_branch_here(self) -> None:
        """Branch at the prompt that is marked, by a key of the transcript."""
        self.action_branch()

    def branch(self, number: str | None) -> None:
        """Branch at the prompt with this number; None changes nothing."""
        if number is not None:
            self.page.post_message(self.BranchWanted(int(number)))

    # Typed text

    def text_targets(self) -> tuple[tuple[str, str], ...]:
        """Return an action for each panel that the typed text on screen can be moved to, and its name."""
        if not self.page.has_session or self.page.field_for_typing() is None:
            return ()
        snapshot, source = self.session.snapshot, self.typed_slot()
        if source is None:
            return ()
        return tuple(
            (f"move_text({int(slot)})", with_other_names(snapshot, slot))
            for slot in snapshot.session.slots
            if slot is not source
        )

    def typed_slot(self) -> Slot | None:
        """Return whose panel shows, if there is text in it."""
        area = self.composer.shown
        return None if area is None or area.is_blank else area.slot

    def action_move_text(self, number: int) -> None:
        """Move the typed text on screen to the panel of another character."""
        source = self.typed_slot()
        if source is not None:
            self.sender.move_text(source, Slot(number))


def _newest_reply(snapshot: "Snapshot") -> Event | None:
    """Return the newest reply; a line may follow it."""
    return next((event for event in reversed(snapshot.recent) if event.slot is not None), None)
