"""Names for the transactions of the engine, by what each makes true: the steps at which the torture kills."""

from core.domain.requests.request import ReplyRequest, Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session
from core.domain.session.session_state import SessionState
from core.domain.story.event import Role
from core.domain.story.memory import BlockType, MemoryBlock
from core.engine.changes.canon import ORIGIN, Origin
from core.engine.scene.scene_commands import ROLL
from core.storage.changes import Changes


def commit_name(changes: Changes) -> str:
    """Name a commit by what it makes true."""
    session = changes.session
    kinds = {request.kind.value: request.state for request in changes.requests}
    if changes.memory_end is not None:
        return "prompt undone, memory withdrawn" if not changes.events else "take stored, memory withdrawn"
    if changes.blocks:
        return _block_name(changes.blocks[0], session)
    if changes.drafts:
        return "draft stored"
    if changes.revisions:
        return f"delta {changes.revisions[0].ordinal + 1} of several stored"
    if changes.events and all(event.role is Role.SYSTEM for event in changes.events):
        return _line_name(changes)
    if changes.events and changes.events[0].ordinal > 1:
        return "addition stored" if changes.events[0].is_afterthought else "further reply stored"
    if any(event.metadata.get(ORIGIN) == Origin.PARTIAL for event in changes.events):
        return "partial reply kept"
    # The first take of a prompt has another number where one with its number was undone.
    if changes.canon_end is None and any(event.take > 1 for event in changes.events):
        return "take stored"
    if changes.events:
        is_due = session is not None and session.state is SessionState.SUMMARIZING
        return "reply stored, summary due" if is_due else "reply stored"
    if session is not None and session.is_ending and RequestState.PENDING in kinds.values():
        return "end of the chapter wanted"
    if session is not None and session.state is SessionState.RESETTING:
        return "reset begun"
    if session is not None and session.archived_at is not None:
        return "reset chapter set aside"
    if session is not None and any(map(_is_new_summary, changes.requests)):
        return "early summary wanted"
    if session is not None and any(map(_is_extraction, changes.requests)):
        return "bank switched on" if session.keeps_bank else "bank switched off"
    if any(isinstance(one, ReplyRequest) and one.follows for one in changes.requests):
        kinds = {"further reply": changes.requests[0].state}
    if any(request.spec.is_background and _is_put_back(request) for request in changes.requests):
        return "work beside the play put back"
    prompts = [one for one in changes.requests if isinstance(one, ReplyRequest)]
    if {RequestState.CANCELLED, RequestState.PENDING} <= {one.state for one in prompts}:
        return "waiting prompt edited"
    if any(_is_put_back(one) and not one.attempts for one in prompts):
        return "waiting prompt moved"
    for kind, state in kinds.items():
        return f"{kind} {'begun' if state is RequestState.PROCESSING else state.value}"
    if changes.prompt_blocks is not None:
        return "prompt blocks stored"
    if changes.lore is not None:
        return "lorebooks stored"
    if changes.artifacts:
        return "call on record"
    if changes.secrets is not None:
        return "secrets stored"
    if changes.statuses:
        return "status stored"
    return "tab 1 stored" if changes.tab1 is not None else "session stored"


def _block_name(block: MemoryBlock, session: Session | None) -> str:
    if block.type is BlockType.CANON_CORRECTION:
        return "correction stored"
    if block.type is BlockType.WORLD_CHAPTER_LOCK:
        return "lock stored"
    if block.is_by_gm:
        return "block edited"
    if session is None or session.state is SessionState.ENDED:
        return "summary stored, chapter ended"
    return "early summary stored" if block.last % session.limits.chunk_size else "summary stored"


def _line_name(changes: Changes) -> str:
    [line] = changes.events
    if line.reveals is None:
        return "roll stored" if ROLL in line.metadata else "line stored"
    return "prompt begun, secret revealed" if changes.requests else "secret revealed"


def _is_put_back(request: Request) -> bool:
    return request.state is RequestState.PENDING and request.updated_at != request.created_at


def _is_new_summary(request: Request) -> bool:
    """Whether a summary is asked for that no prompt made due and that was not tried before."""
    is_new = request.state is RequestState.PENDING and not request.attempts
    return request.kind is RequestKind.SUMMARY and is_new


def _is_extraction(request: Request) -> bool:
    return request.kind is RequestKind.EXTRACTION


class KeptNames:
    """Numbers the changes that are kept on the disk because the database is gone."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[object], int] = {}

    def __call__(self, _: object, changes: Changes, *__: object) -> str:
        calls = frozenset(one.id for one in changes.artifacts)
        return f"answer {self._numbers.setdefault(calls, len(self._numbers) + 1)} kept"
