"""Content of tab 3, computed from a session's snapshot alone (design 5 and 10)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.domain.errors import ErrorCode
from core.domain.requests.request import NarrativeRequest, SummaryRequest
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.session.state_machine import Command
from core.engine.decisions.recovery import INTERRUPTED_BUILD
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean
from storyengine_tui.screens.shared.state_labels import reason_of
from storyengine_tui.widgets.banner import DISMISS, BannerAction, BannerText, Tone

if TYPE_CHECKING:
    from core.engine.session.session_handle import SessionHandle

_NOT_YET = {
    SessionState.DRAFT_TAB1: (
        "Nothing to write yet: lock world and cast on 1 World (F2), play on 2 Play (F3), then end it there."
    ),
    SessionState.LOCKING: "World and cast are being locked; then comes the play, on 2 Play (F3).",
    SessionState.ACTIVE: "The chapter is still being played: End Chapter on 2 Play (F3) comes first.",
    SessionState.SUMMARIZING: "A summary is being made. When it is done, End Chapter on 2 Play (F3).",
    SessionState.NARRATING: "The chapter is being written; Esc cancels.",
    SessionState.RESETTING: "The chapter has been reset.",
}
NOTHING_PLAYED = "No prompt was played in this chapter, so there is nothing to write."
READ_ONLY = "Read-only here; the window that writes in this chapter can build it."


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrativeView:
    """Everything that tab 3 shows of a session, except for its memory and the texts of its chapter."""

    session: Session
    running: NarrativeRequest | None
    """The build that is queued or running."""
    rebuilt: SummaryRequest | None
    """The block of memory that is made again now."""
    failed: NarrativeRequest | None
    """The build that failed and may be tried again."""
    draft_count: int
    """Number of stored drafts."""
    is_writer: bool
    """Whether this window may write."""
    can_define: bool
    can_build: bool
    can_correct: bool
    why_no_build: str
    """Why no chapter can be built now; empty when one can."""

    @property
    def is_being_written(self) -> bool:
        """Whether the chapter is being written, in this window or in another."""
        return self.session.state is SessionState.NARRATING

    @property
    def memory_work(self) -> str:
        """Running work on memory, in a few words; usually empty."""
        return "" if self.rebuilt is None else f"rebuilding {self.rebuilt.prompts.named} …"

    @property
    def actions(self) -> dict[str, bool | None]:
        """Whether the footer shows the key of an action as enabled, dimmed (None) or not at all."""
        return {
            "build": self.can_build or None,
            "cancel": self.is_writer and (self.running is not None or self.rebuilt is not None),
            "correct": self.can_correct,
            "retry": self.can_build and self.failed is not None,
        }


def narrative_view(handle: "SessionHandle") -> NarrativeView:
    """Return what tab 3 shows of an open session."""
    snapshot = handle.snapshot
    running = next((one for one in snapshot.open_requests if isinstance(one, NarrativeRequest)), None)
    summaries = (one for one in snapshot.open_requests if isinstance(one, SummaryRequest))
    failed = snapshot.failed(NarrativeRequest)
    return NarrativeView(
        session=snapshot.session,
        running=running,
        rebuilt=next((one for one in summaries if one.prompts.last <= snapshot.session.boundary), None),
        failed=failed[-1] if failed and running is None else None,
        draft_count=snapshot.draft_count,
        is_writer=not handle.is_read_only,
        can_define=handle.can(Command.DEFINE_NARRATIVE),
        can_build=handle.can(Command.BUILD_NARRATIVE) and snapshot.session.prompt_index > 0,
        can_correct=handle.can(Command.CORRECT_CANON),
        why_no_build=why_no_build(snapshot, is_read_only=handle.is_read_only),
    )


def uses_audiences(snapshot: Snapshot) -> bool:
    """Whether somebody is absent, or something is known to some alone, as far as a snapshot tells."""
    audiences = [snapshot.session.here]
    audiences += [event.audience for event in snapshot.recent]
    audiences += [block.audience for block in snapshot.blocks]
    return bool(snapshot.secrets) or not all(audience.is_everyone for audience in audiences)


def why_no_build(snapshot: Snapshot, *, is_read_only: bool) -> str:
    """Return why the narrative cannot be built now; empty when it can."""
    session = snapshot.session
    if session.state is SessionState.SUMMARIZING and session.is_ending:
        return "The chapter is being ended: after the last summary it can be written."
    if session.state in _NOT_YET:
        return _NOT_YET[session.state]
    if is_read_only:
        return READ_ONLY
    return "" if session.prompt_index else NOTHING_PLAYED


def failure_banner(view: NarrativeView) -> BannerText | None:
    """Return why a build failed, what is safe and what the GM can do."""
    request = view.failed
    if request is None:
        return None
    sentence = reason_of(request)
    is_kept = request.error_message != INTERRUPTED_BUILD
    received = "; the received text is kept under Calls (F7)" if is_kept else ""
    hint = f"Retry continues after the finished parts{received}."
    if view.draft_count:
        earlier = "Draft 1 is" if view.draft_count == 1 else f"All {view.draft_count} drafts are"
        hint = f"{earlier} as before. {hint}"
    retry = BannerAction("retry", "Retry", "ctrl+r")
    is_stopped = request.error_code is ErrorCode.LLM_CANCELLED
    return BannerText(
        clean(sentence),
        clean(hint),
        (retry, DISMISS) if view.is_writer else (DISMISS,),
        Tone.INFO if is_stopped else Tone.ERROR,
    )
