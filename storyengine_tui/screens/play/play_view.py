"""Content of tab 2, computed from a session's snapshot alone (design 6 and 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from core.domain.errors import ErrorCode
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import ReplyRequest, SummaryRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.context_status import Statuses
from core.engine.changes.moves import is_rebuilt
from core.engine.kinds.speaking.afterthought import DECISION_CALL
from core.engine.sync.notifications import CallStarted
from core.ledger.sums import dollars
from core.storage.session_store import WriterInfo
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean_line
from core.text.graphemes import head, without_cut_word
from core.text.numbers import counted
from storyengine_tui.screens.play.scene import hearing_view, stage_view
from storyengine_tui.screens.play.scene.hearing_view import HearingView
from storyengine_tui.screens.play.scene.stage_view import StageView
from storyengine_tui.screens.play.takes_view import COMMANDS, TakesView
from storyengine_tui.screens.shared.state_labels import reason_of

_OTHER_NAMES = 60
"""Characters of the other names of one character."""

NOT_LOCKED = (
    "Nothing can be played yet: world, chapter and cast are still being written.\n\n"
    "Write them on 1 World (F2), then come back with F3: you are asked once whether to lock them."
)
NOT_LOCKED_ELSEWHERE = (
    "Nothing can be played yet: another window is still setting up world, chapter and cast.\n\n"
    "1 World (F2) shows what is written there; this page begins when they are locked."
)


@dataclass(frozen=True, kw_only=True)
class PlayView:
    """Everything that tab 2 shows of a session, except for the transcript and the texts in the panels."""

    session: Session
    scene: str
    """The opening scene; empty once something was played."""
    to_do: str
    """The sentence below the opening scene that says what to do; empty once something was played."""
    running: ReplyRequest | SummaryRequest | None
    """The reply or the summary that is running, or about to run."""
    queued: tuple[ReplyRequest, ...]
    """Queued prompts, the next one first."""
    failed_replies: tuple[ReplyRequest, ...]
    failed_summary: SummaryRequest | None
    is_writer: bool
    """Whether this window may write."""
    why_read_only: str
    """Why no prompt can be written now; empty when one can."""
    can_end: bool
    """Whether the chapter can be ended now."""
    takes: TakesView
    hearing: HearingView
    stage: StageView
    statuses: Statuses = ()
    """The GM's statuses of lines: whether models are always or never sent them."""
    has_partial: bool = False
    """Whether text of the oldest failed reply had arrived."""
    spent: str = ""
    """Cost of the chapter's calls so far; empty while no money was spent."""

    @property
    def next_call(self) -> object:
        """The values that the forecast of the next prompt depends on."""
        return (self.session.id, self.spent, self.session.next_slot, self.running is None, self.why_read_only)

    @property
    def is_playable(self) -> bool:
        """Whether tab 1 is locked, so that there is something to show."""
        return not self.session.state.is_unlocked

    @property
    def is_ended(self) -> bool:
        """Whether the chapter has ended, so that no prompt can be sent any more."""
        return self.session.state.has_ended

    @property
    def note(self) -> str:
        """The text that replaces everything else on the page while nothing can be played."""
        if self.is_playable:
            return ""
        return NOT_LOCKED if self.is_writer else NOT_LOCKED_ELSEWHERE

    @property
    def failed(self) -> ReplyRequest | SummaryRequest | None:
        """The request that the retry key retries: a prompt before a summary."""
        return next(iter(self.failed_replies), None) or self.failed_summary

    @cached_property
    def actions(self) -> dict[str, bool | None]:
        """Whether the footer shows the key of an action as enabled, dimmed (None) or not at all."""
        return {
            "cancel": self.is_writer and self.running is not None,
            "retry": self.is_writer and self.failed is not None,
            "take_back": self.is_writer and bool(self.queued),
            "take_back_all": self.is_writer and bool(self.queued),
            "next_panel": self.is_playable and len(self.session.slots) > 1,
            "end_chapter": self.can_end or None,
            "let_add": self._may_write and not self.is_ended,
            "leave_out": self.is_writer and any(one.follows for one in self.failed_replies),
            "choose_called": self._may_write and len(self.session.slots) > 1 and not self.why_read_only,
            "keep_partial": self.is_writer and self.partial is not None,
            "send": self._may_write,
            "mark_here": self._may_write,
            "branch": self.session.prompt_index > 0,
            "next_input": self.is_playable and not self.is_ended,
            "view_as": self.is_playable and len(self.session.slots) > 1,
            **{action: self._may_write and self.takes.is_offered(action) for action in COMMANDS},
            **{
                action: self._may_write and self.hearing.is_offered(action)
                for action in hearing_view.COMMANDS
            },
            **{action: self._may_write and self.stage.is_offered(action) for action in stage_view.COMMANDS},
        }

    @property
    def may_change_takes(self) -> bool:
        """Whether the story goes on in this window, so that another take may count."""
        return self.is_writer and not self.is_ended

    @property
    def _may_write(self) -> bool:
        """Whether anything of the story may change in this window."""
        return self.is_playable and self.is_writer

    @property
    def is_stopped(self) -> bool:
        """Whether the GM stopped the reply to the oldest prompt without one."""
        return bool(self.failed_replies) and self.failed_replies[0].error_code is ErrorCode.LLM_CANCELLED

    @property
    def partial(self) -> ReplyRequest | None:
        """The oldest prompt without a reply, if its reply had begun when it was stopped or failed."""
        return next(iter(self.failed_replies), None) if self.has_partial else None


def play_view(
    snapshot: Snapshot,
    *,
    holder: WriterInfo | None = None,
    is_writer: bool = True,
    can_end: bool = False,
    takes: TakesView | None = None,
    hearing: HearingView | None = None,
    stage: StageView | None = None,
    has_partial: bool = False,
) -> PlayView:
    """Return what tab 2 shows of `snapshot` in a window that writes, or only reads while `holder` writes."""
    is_summarising = snapshot.session.state is SessionState.SUMMARIZING
    running: list[ReplyRequest | SummaryRequest] = [
        one for one in snapshot.open_prompts if one.is_processing or one.follows
    ]
    if is_summarising:
        running += [one for one in snapshot.open_requests if isinstance(one, SummaryRequest)]
    failed = snapshot.failed(SummaryRequest)
    scene, to_do = _opening_scene(snapshot)
    return PlayView(
        session=snapshot.session,
        scene=scene,
        to_do=to_do,
        running=next(iter(running), None),
        queued=tuple(one for one in snapshot.open_prompts if not (one.is_processing or one.follows)),
        failed_replies=snapshot.failed(ReplyRequest),
        failed_summary=None if is_summarising else next(iter(failed), None),
        is_writer=is_writer,
        why_read_only=why_not_writable(snapshot.session, holder, is_writer=is_writer),
        can_end=can_end,
        takes=takes or TakesView(),
        spent=dollars(snapshot.spent) if snapshot.spent else "",
        hearing=hearing or HearingView(),
        stage=stage or StageView(),
        statuses=snapshot.statuses,
        has_partial=has_partial,
    )


def is_played(request: ReplyRequest) -> bool:
    """Whether the transcript has the text of a request: it is for another take, or for a further reply."""
    return request.prompts is not None


def adds(started: CallStarted) -> bool:
    """Whether a call has what a character adds unasked; the one before it decides whether there is one."""
    return started.request.kind is RequestKind.AFTERTHOUGHT and started.call != DECISION_CALL


def numbered(session: Session, slot: Slot) -> str:
    """Return a character as its entry shows it, such as `2 Mira`."""
    return f"{int(slot)} {session.name_of(slot)}"


def with_other_names(snapshot: Snapshot, slot: Slot) -> str:
    """Return a character as its entry shows it, and the other names by which one may look for it."""
    others = ", ".join(snapshot.cast[slot].profile.aliases)
    entry = numbered(snapshot.session, slot)
    return f"{entry} ({head(others, _OTHER_NAMES)})" if others else entry


def progress_text(view: PlayView) -> str:
    """Return who is doing what now, in one short line; empty if nothing is running."""
    running = view.running
    if running is None:
        return ""
    if isinstance(running, SummaryRequest):
        if view.session.is_ending:
            # Short, with the purpose first: in 80 columns it shares the line with the time and the counter.
            return f"Ending; summary of {running.prompts}"
        return f"Summarising {running.prompts.named}"
    first, *following = [_short(view.session.name_of(slot), 24) for slot in running.called]
    if not following:
        return f"{first} is writing"
    return f"{first} is writing, then {following[0] if len(following) == 1 else f'{len(following)} more'}"


def queue_line(view: PlayView, request: ReplyRequest) -> str:
    """Return the line of a queued prompt: its recipient, its reason for waiting, and its text."""
    if view.failed_replies:
        why = "waits behind the prompt that failed"
    elif isinstance(view.running, SummaryRequest):
        why = "waits for the summary"
    else:
        why = "waits its turn"
    called = ", then ".join([numbered(view.session, request.slot), *_names(view.session, request.then)])
    return f"To {called}, {why}: {' '.join(request.text.split())}"


def reply_failure(view: PlayView) -> tuple[str, str]:
    """Return what happened to the oldest prompt that failed, and where its text is now."""
    request = view.failed_replies[0]
    name = numbered(view.session, request.slot)
    is_stopped = request.error_code is ErrorCode.LLM_CANCELLED
    what = (
        f"The reply of {name} was stopped." if is_stopped else f"{name} did not answer. {reason_of(request)}"
    )
    if request.follows:
        following = "".join(f" {one} would answer next." for one in _names(view.session, request.then))
        hint = f"The replies before it are kept.{following}"
    elif is_played(request):
        hint = "The take that you had still counts."
    else:
        hint = f"Your text is back in the panel of {name}."
    others = len(view.failed_replies) - 1
    if others:
        hint += f" {counted(others, 'later prompt is', 'later prompts are')} back as well."
    # The sentence about too many calls says itself how long to wait.
    says_when = request.error_code is ErrorCode.LLM_RATE_LIMITED
    if request.retry_after is not None and request.retry_after > request.updated_at and not says_when:
        hint += f" The service asks to wait until {request.retry_after.astimezone():%H:%M:%S}."
    return what, hint


def _names(session: Session, slots: Sequence[Slot]) -> list[str]:
    """Return the characters as one text in a list; none without any."""
    return [", ".join(numbered(session, slot) for slot in slots)] if slots else []


def summary_failure(view: PlayView, request: SummaryRequest) -> tuple[str, str]:
    """Return what happened to the summary, and what that means for the play."""
    what = f"The summary of {request.prompts.named} was not made. {reason_of(request)}"
    if view.session.is_ending:
        return what, "Retry ends the chapter; a new prompt goes on with it."
    if is_rebuilt(view.session, request):
        what = f"Memory of {request.prompts.named} was not made again. {reason_of(request)}"
        when = "Retry asks for it once more" if request.retry_after is None else "it is tried again by itself"
        return what, f"The revision before counts as it did; {when}."
    if request.retry_after is None:
        return what, "You can play on; it is made with the next summary, or by Retry now."
    if view.running is not None:
        return what, "It is tried again after this reply."
    return what, "You can play on; the memory catches up later."


def has_short_chunk(session: Session) -> bool:
    """Whether the last chunk has fewer prompts than the others, or nothing was played at all."""
    return session.prompt_index == 0 or session.unsummarised % session.limits.chunk_size > 0


def _opening_scene(snapshot: Snapshot) -> tuple[str, str]:
    """Return the opening scene, and what to do; both are empty once a prompt was sent."""
    session = snapshot.session
    if session.prompt_index or any(isinstance(one, ReplyRequest) for one in snapshot.requests):
        return "", ""
    scene = clean_line(snapshot.tab1.chapter or snapshot.tab1.world)
    first = numbered(session, session.next_slot)
    return f"The scene: {scene}", f"Write the first prompt to {first} in the panel below."


def ending_consequences(
    session: Session, waiting: Sequence[Slot], new_items: int = 0, broken_off: Sequence[ReplyRequest] = ()
) -> str:
    """Return what End Chapter will do. `waiting` are the slots whose panels hold text; `new_items` of the
    memory bank are to be confirmed; replies that have `broken_off` can be kept as far as they came."""
    left = session.unsummarised
    if left:
        calls = counted(-(-left // session.limits.chunk_size), "summary", "summaries")
        span = PromptRange(session.boundary + 1, session.prompt_index)
        first = f"{counted(left, 'prompt')} to summarise into memory first ({span.named}, {calls})."
    elif session.prompt_index == 0:
        first = "Nothing has been played yet: there will be nothing to write a chapter from."
    else:
        first = "Everything is in memory already; nothing is left to summarise."
    lines = [first, "Then no more prompts can be sent, and tab 3 opens, where the chapter is written."]
    if waiting:
        names = ", ".join(numbered(session, slot) for slot in waiting)
        lines.append(f"Text that is not sent yet stays where it is: {names}.")
    if broken_off:
        lines.append(still_to_keep(session, broken_off))
    if new_items:
        what = counted(new_items, "item of the memory bank is new", "items of the memory bank are new")
        them = "it" if new_items == 1 else "them"
        lines.append(f"{what}: you can confirm {them} on tab 3, also after the end.")
    return "\n\n".join(lines)


def still_to_keep(session: Session, broken_off: Sequence[ReplyRequest]) -> str:
    """Return what is no longer possible after a command that gives up replies that broke off."""
    names = " and ".join(dict.fromkeys(session.name_of(one.slot) for one in broken_off))
    return f"The unfinished reply of {names} can be kept now, but not afterwards."


def _short(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    return without_cut_word(head(name, length - 1), name).rstrip() + "…"


def why_not_writable(session: Session, holder: WriterInfo | None, *, is_writer: bool) -> str:
    """Return why no prompt can be written now; empty when one can."""
    if not is_writer:
        if session.archived_at is not None:
            return "This chapter was set aside in another window; here it can only be read."
        if holder is None:
            return "The window that wrote in this chapter has closed; take over (Ctrl+T) to write here."
        # The banner below says which window.
        return "Read-only here while another window writes in this chapter."
    if session.state.has_ended:
        return "The chapter has ended. Go on with 3 Chapter (F4)."
    if session.state is SessionState.SUMMARIZING and session.is_ending:
        return "The chapter is ending; its last prompts are summarised."
    return ""
