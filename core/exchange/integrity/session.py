"""Checks the invariants of a session, before it is imported and where the library is verified.

In sessions of this program, commands (`core.engine.decisions.commands`) and transitions keep these
invariants (design 4 to 6); the content of a file has passed neither.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby, pairwise

from pydantic import BaseModel

from core.agents.answers.json_output import MAX_OUTPUT
from core.domain.requests.cost import LONGEST_SOURCE, MOST_FOR_A_CALL, Cost, is_amount
from core.domain.requests.request import (
    Artifact,
    BackgroundRequest,
    Content,
    LockRequest,
    NarrativeRequest,
    ReplyRequest,
    Request,
    RequestState,
    SummaryRequest,
    TestCallRequest,
)
from core.domain.session.carry_over import cleaned_carry_over, problems_of_carry_over
from core.domain.session.limits import (
    EARLIEST_TIME,
    LATEST_TIME,
    LONGEST_CORRECTION,
    LONGEST_CORRECTIONS,
    LONGEST_TITLE,
    Limits,
    is_storable_time,
)
from core.domain.session.profile import cleaned_profile, problems_of_profile
from core.domain.session.prompt_block import PromptBlocks, cleaned_blocks, problems_of_blocks
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot, first_slots
from core.domain.story.draft import NarrativeDraft
from core.domain.story.event import Event, Role
from core.domain.story.memory import (
    BlockType,
    CanonCorrection,
    MemoryBlock,
    TurnDelta,
    WorldChapterLock,
    compact_json,
    corrections_length,
)
from core.exchange.integrity.audiences import are_in_place, problems_of_lines
from core.text.cleaning import clean_line, has_controls, is_blank

_WAITING = 50
"""Maximum length of a composer's text, in prompts: failed ones return to the text typed since."""
_SHAPES: Mapping[BlockType, type[BaseModel]] = {
    BlockType.WORLD_CHAPTER_LOCK: WorldChapterLock,
    BlockType.TURN_DELTA: TurnDelta,
    BlockType.CANON_CORRECTION: CanonCorrection,
}
_GOES_BACK = (LockRequest, ReplyRequest, NarrativeRequest)
"""Requests that go back to the GM as soon as they have failed."""

Problems = Iterator[str]


def problems_of_times(times: Iterable[datetime | None]) -> Problems:
    """Yield a problem for times that cannot be shown."""
    if not all(time is None or is_storable_time(time) for time in times):
        first, last = EARLIEST_TIME.year, LATEST_TIME.year - 1
        yield f"it holds a time without a zone, or one that is not between {first} and {last}"


def problems_of_setting(session: Session, tab1: Tab1Inputs, unsent: Mapping[Slot, str]) -> Problems:
    """Yield problems of names, title, texts, cast and limits."""
    limits, most = session.limits, asdict(Limits())
    if session.state is SessionState.RESETTING:
        yield "it is in the middle of a reset"
    if not all(1 <= value <= most[name] for name, value in asdict(limits).items()):
        yield "its limits are not those of this program"
    if not _is_line(session.title, LONGEST_TITLE) or not _is_line(session.script_key, LONGEST_TITLE):
        yield f"its title is not one line of at most {LONGEST_TITLE} characters"
    if not all(name and _is_line(name, limits.name) for name in session.names.values()):
        yield f"a name is not one line of at most {limits.name} characters"
    # Names that differ only in how accents are written are refused since: older chapters may have them.
    if len({session.name_of(slot).casefold() for slot in Slot}) < len(Slot):
        yield "two characters have the same name"
    if session.slots not in [first_slots(count) for count in Slot]:
        yield "its cast has gaps"
    locks = (*session.pinned, *session.struck)
    if sum(map(len, locks)) > LONGEST_CORRECTIONS or not all(
        _is_line(lock, LONGEST_CORRECTION) for lock in locks
    ):
        yield "its pinned and struck canon is too long, or not of single lines"
    if session.branched_at < 0 or (session.branched_at and session.branched_from is None):
        yield "it was branched from no chapter"
    if session.next_slot not in session.slots:
        yield "its next character does not play"
    fields = [(tab1.world, limits.world), (tab1.chapter, limits.chapter)]
    fields += [(text, limits.identity) for text in tab1.identities.values()]
    fields += [(session.definition, limits.definition)]
    fields += [(text, limits.prompt * _WAITING) for text in unsent.values()]
    if any(len(text) > limit for text, limit in fields):
        yield "a text is longer than its field"
    carried = tab1.carried
    if cleaned_carry_over(carried) != carried or any(problems_of_carry_over(carried)):
        yield "its lines from earlier chapters are not valid"
    profiles = tab1.profiles.values()
    if any(not one or cleaned_profile(one) != one or any(problems_of_profile(one)) for one in profiles):
        yield "the data of its characters from the library is not valid"
    if not _is_length(session.target_words, limits):
        yield f"its target length is not between 1 and {limits.draft_words:,} words"


def problems_of_exported_blocks(prompt_blocks: PromptBlocks) -> Problems:
    """Yield what the GM could not have entered as prompt blocks."""
    if cleaned_blocks(prompt_blocks) != prompt_blocks or any(problems_of_blocks(prompt_blocks)):
        yield "its prompt blocks are not valid"


def problems_of_play(session: Session, events: Sequence[Event], takes: Sequence[int] = ()) -> Problems:
    """Yield problems of the log and the pointers; `takes` is the take that is canon at each prompt.

    A take has the GM's text, then any number of replies and system events, with at least one reply.
    """
    opening = [event for event in events if event.prompt_index == 0]
    yield from problems_of_lines(opening)
    counts: list[int] = []
    played = events[len(opening) :]
    for (index, take), in_take in groupby(played, key=lambda event: (event.prompt_index, event.take)):
        prompt, *others = in_take
        if take == 1:
            counts.append(0)
        is_next = (index, take) == (len(counts), counts[-1] + 1 if counts else 0)
        ordinals = [prompt.ordinal, *(event.ordinal for event in others)]
        if not is_next or ordinals != list(range(len(others) + 1)):
            yield "its prompts and replies are not numbered in order"
            return
        counts[-1] = take
        yield from _problems_of_prompt(session, prompt, others)
    if session.canon_version < 0 or (session.canon_version == 0 and (takes or any(n > 1 for n in counts))):
        yield "it has several takes, and its canon never changed"
    canon = takes if session.canon_version else [1] * len(counts)
    if not all(1 <= take <= count for take, count in zip(canon, counts, strict=False)):
        yield "its canon has a take that is missing"
    elif (
        len(canon) > len(counts)
        or session.prompt_index > len(canon)
        or (session.canon_version == 0 and session.prompt_index != len(canon))
    ):
        yield "its pointer does not count its prompts and replies"


def _problems_of_prompt(session: Session, prompt: Event, others: Sequence[Event]) -> Problems:
    name = f"prompt {prompt.prompt_index}"
    replies = [event for event in others if event.role is Role.AGENT]
    if prompt.role is not Role.USER or any(event.role is Role.USER for event in others):
        yield f"{name} and its replies are not by the GM and a character"
    elif prompt.slot is not None or not replies or any(event.slot not in session.slots for event in replies):
        yield f"{name} was not answered by a character of the cast"
    elif any(event.slot is not None for event in others if event.role is Role.SYSTEM):
        yield f"{name} has an event of the system that names a character"
    if is_blank(prompt.text) or len(prompt.text) > session.limits.prompt:
        yield f"{name} is empty or too long"


def problems_of_ids(ids: Iterable[Sequence[object]]) -> Problems:
    """Yield a problem if two records of one kind have the same id."""
    if any(len(set(same)) < len(same) for same in ids):
        yield "two of its records have the same id"


def problems_of_memory(
    session: Session, blocks: Sequence[MemoryBlock], revisions: Sequence[MemoryBlock] = ()
) -> Problems:
    """Yield problems of memory, boundary and state; `revisions` are blocks that are not canon."""
    state, chunk = session.state, session.limits.chunk_size
    if session.tab1_locked == state.is_unlocked:
        yield "its state and its lock do not belong together"
    if session.is_ending and not state.is_played:
        yield "it is ending, and its state says otherwise"
    corrections = [block for block in blocks if block.type is BlockType.CANON_CORRECTION]
    chain = [block for block in blocks if block.ordinal == 0]
    spans = [(block.type, block.first, block.last) for block in chain]
    if spans[:1] != [(BlockType.WORLD_CHAPTER_LOCK, 0, 0)][: int(session.tab1_locked)]:
        yield "its memory does not begin with its lock"
    deltas = spans[1:]
    ends = [0, *(last for _, _, last in deltas)]
    is_run = all(
        kind is BlockType.TURN_DELTA and begin == before + 1 and begin <= last
        for (kind, begin, last), before in zip(deltas, ends, strict=False)
    )
    if not is_run or session.boundary != ends[-1] or session.boundary > session.prompt_index:
        yield "its memory does not reach to its boundary"
    elif any(before // chunk != (after - 1) // chunk for before, after in pairwise(ends)):
        yield "its memory is not of whole chunks, or of parts of them"
    elif state.has_ended and session.boundary != session.prompt_index:
        yield "it is ended, and not all of it is in memory"
    if not are_in_place(blocks):
        yield "its private memory or its corrections do not follow their blocks, in order"
    if any(is_blank(str(block.payload.get("correction", ""))) for block in corrections):
        yield "a correction of canon has no text"
    if corrections_length(blocks) > LONGEST_CORRECTIONS:
        yield "its corrections of canon are too long together"
    if revisions and not session.canon_version:
        yield "it has several revisions of memory, and its canon never changed"
    known = {None, *(block.id for block in (*blocks, *revisions))}
    if any(block.made_from not in known for block in (*blocks, *revisions)):
        yield "its memory was made from a block that is missing"
    for block in (*blocks, *revisions):
        if not _is_valid(block):
            yield f"the memory of prompts {block.first} to {block.last} is invalid"


def _is_valid(block: MemoryBlock) -> bool:
    """Whether a block has the form of its type, a bounded length, and a text that says the same."""
    try:
        _SHAPES[block.type].model_validate(block.payload)
        if max(len(compact_json(block.payload)), len(block.json_text)) > MAX_OUTPUT:
            return False
        return not block.json_text or bool(json.loads(block.json_text) == block.payload)
    except (ValueError, RecursionError):
        return False


def problems_of_requests(session: Session, requests: Sequence[Request], events: Sequence[Event]) -> Problems:
    """Yield problems of requests."""
    played = {event.request_id: event.text for event in events if event.ordinal == 0}
    replied = {event.request_id: event.slot for event in events if event.role is Role.AGENT}
    last = max((event.prompt_index for event in events), default=0)
    live = [one for one in requests if one.state.is_open and not one.spec.is_background]
    is_alone = sum(not isinstance(request, ReplyRequest) for request in live) <= 1
    if not is_alone or any(session.state not in request.spec.open_in for request in live):
        yield "a call is open that its state does not know"
    beside = [request for request in requests if request.spec.is_background]
    if any(sum(request.is_processing for request in those) > 1 for those in (live, beside)):
        yield "two calls run at once"
    for request in requests:
        if request.state is RequestState.DEAD and isinstance(request, _GOES_BACK):
            yield "a call that goes back to the GM when it fails is a dead letter"
        if request.attempts < 0:
            yield "a call has an invalid number of attempts"
        if not (request.spec.may_precede_lock or session.tab1_locked):
            yield "a call was made before the lock"
        match request:
            case ReplyRequest():
                yield from _problems_of_sent(session, request, played)
                yield from _problems_of_called(session, request, replied)
            case SummaryRequest() if not _is_summary_of(session, request, last):
                yield "a summary is due of prompts that are missing"
            case TestCallRequest() if request.has_failed:
                yield "a test call is neither done nor given up"
            case BackgroundRequest() if not _is_work_of(session, request, last):
                yield "background work is about a character or prompts that are missing"


def _problems_of_sent(session: Session, request: ReplyRequest, played: Mapping[str, str]) -> Problems:
    if (
        request.slot not in session.slots
        or is_blank(request.text)
        or len(request.text) > session.limits.prompt
    ):
        yield "a sent prompt is empty, too long or without a character"
    is_answered = request.state is RequestState.DONE and not request.follows
    if is_answered and played.get(str(request.id)) != request.text:
        yield "a prompt that was answered is not among its prompts"


def _problems_of_called(
    session: Session, request: ReplyRequest, replied: Mapping[str, Slot | None]
) -> Problems:
    """Yield problems of the characters that a prompt calls, and of a further reply to it."""
    called = request.called
    if len(set(called)) < len(called) or not set(called) <= set(session.slots):
        yield "a prompt calls a character twice, or one that does not play"
    if not request.follows:
        return
    is_open = request.state.is_open or request.has_failed
    if request.prompts is None or request.continues:
        yield "a further reply is to no prompt"
    elif is_open and request.prompts.last != session.prompt_index:
        yield "a further reply is to a prompt that is not the newest"
    if request.state is RequestState.DONE and replied.get(str(request.id)) is not request.slot:
        yield "a further reply is not among its replies"


def _is_work_of(session: Session, request: BackgroundRequest, last: int) -> bool:
    is_cast = request.slot is None or request.slot in session.slots
    # A branch of an earlier version may have a reading that goes on after its last prompt; it does nothing.
    is_over = request.state is RequestState.DONE
    return is_cast and (is_over or request.prompts is None or request.prompts.last <= last)


def _is_summary_of(session: Session, request: SummaryRequest, last: int) -> bool:
    if session.canon_version and not request.state.is_open:
        return request.prompts.last <= last  # prompts and memory may have been taken back since
    if request.prompts.last <= session.boundary:
        return True  # a block that is built again
    if request.state is RequestState.DONE:
        return False
    if request.state is RequestState.CANCELLED:
        return request.prompts.last <= session.prompt_index
    return session.boundary + 1 == request.prompts.first and request.prompts.last <= session.prompt_index


def problems_of_drafts(
    session: Session,
    drafts: Sequence[NarrativeDraft],
    blocks: Sequence[MemoryBlock],
    requests: Sequence[Request],
) -> Problems:
    """Yield problems of drafts."""
    memory = {block.id for block in blocks}
    builds = {None, *(request.id for request in requests if isinstance(request, NarrativeRequest))}
    if [draft.version for draft in drafts] != list(range(1, len(drafts) + 1)):
        yield "its drafts are not numbered from 1"
    if drafts and not session.state.has_ended:
        yield "it has drafts, and is not ended"
    for draft in drafts:
        if len(draft.definition) > session.limits.definition or has_controls(draft.model):
            yield f"draft {draft.version} has an invalid definition or model name"
        if is_blank(draft.text):
            yield f"draft {draft.version} is empty"
        is_played = 0 <= draft.source.prompt_index <= session.prompt_index
        is_built = is_played and memory.issuperset(draft.source.block_ids)
        if not is_built or draft.request_id not in builds:
            yield f"draft {draft.version} was built from memory or prompts that are missing"
        if not _is_length(draft.target_words, session.limits):
            yield f"draft {draft.version} has a target length of less than 1 or too many words"


def problems_of_calls(
    artifacts: Sequence[Artifact], contents: Sequence[Content], requests: Sequence[Request]
) -> Problems:
    """Yield problems of calls: missing requests, inputs or outputs, and invalid values."""
    if not {artifact.request_id for artifact in artifacts} <= {request.id for request in requests}:
        yield "a call refers to a request that is missing"
    texts = {content.hash: content.text for content in contents}
    for artifact in artifacts:
        if not (0 <= artifact.agent_id <= 9 and artifact.attempt >= 1 and artifact.call >= 0):
            yield "a call has an invalid agent or attempt"
        if any(map(has_controls, (artifact.provider, artifact.model, artifact.finish_reason))):
            yield "a call has an invalid model name"
        if artifact.cost is not None and not _is_cost(artifact.cost):
            yield "a call has an invalid cost or price"
        if artifact.output_ref is not None and artifact.output_ref not in texts:
            yield "the output of a call is missing"
    for manifest in {artifact.input_ref for artifact in artifacts}:
        if not _is_manifest(texts.get(manifest, ""), texts.__contains__):
            yield "the input of a call is missing"


def _is_cost(cost: Cost) -> bool:
    prices = cost.prices
    listed = () if prices is None else (prices.input, prices.output, prices.cached_input, prices.reasoning)
    return (
        _is_line(cost.source, LONGEST_SOURCE)
        and (cost.amount is None or is_amount(cost.amount, MOST_FOR_A_CALL))
        and all(price is None or is_amount(price) for price in listed)
    )


def _is_manifest(text: str, is_there: Callable[[object], bool]) -> bool:
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(parts, list) and all(
        isinstance(part, list)
        and len(part) == 3
        and all(isinstance(word, str) for word in part)
        and is_there(part[2])
        for part in parts
    )


def _is_line(text: str, limit: int) -> bool:
    return clean_line(text) == text and len(text) <= limit


def _is_length(words: int | None, limits: Limits) -> bool:
    return words is None or 1 <= words <= limits.draft_words
