"""Every rule that a session from a file has to keep: what just keeps it, and what just breaks it."""

from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any
from uuid import UUID

import pytest

from core.domain.ids import ArtifactId, BlockId, DraftId, RequestId
from core.domain.prompt_range import PromptRange
from core.domain.requests.request import Artifact, Content, Request, RequestRecord, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.limits import LONGEST_TITLE, Limits
from core.domain.session.session import Session, Tab1Inputs
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.domain.story.draft import NarrativeDraft, SourceSnapshot
from core.domain.story.event import Event, Role
from core.domain.story.memory import MemoryBlock, TurnDelta
from core.exchange.integrity.session import (
    problems_of_calls,
    problems_of_drafts,
    problems_of_memory,
    problems_of_play,
    problems_of_requests,
    problems_of_setting,
)
from tests.core.values.sessions import NOW, SESSION_ID, event, play, session
from tests.core.values.sessions import memory as long_memory

LIMITS = Limits()


@dataclass(frozen=True)
class Whole:
    """All that a file holds of one chapter."""

    session: Session
    tab1: Tab1Inputs = field(default_factory=Tab1Inputs)
    unsent: dict[Slot, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    blocks: list[MemoryBlock] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    drafts: list[NarrativeDraft] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    contents: list[Content] = field(default_factory=list)

    def having(self, **changes: Any) -> "Whole":
        """The same chapter with other fields of its session."""
        return replace(self, session=replace(self.session, **changes))


def problems(whole: Whole) -> list[str]:
    return list(
        chain(
            problems_of_setting(whole.session, whole.tab1, whole.unsent),
            problems_of_play(whole.session, whole.events),
            problems_of_memory(whole.session, whole.blocks),
            problems_of_requests(whole.session, whole.requests, whole.events),
            problems_of_drafts(whole.session, whole.drafts, whole.blocks, whole.requests),
            problems_of_calls(whole.artifacts, whole.contents, whole.requests),
        )
    )


def memory(chunks: int) -> list[MemoryBlock]:
    return list(long_memory(chunks, words=5))


LOCK, DELTA, NEXT_DELTA = memory(2)


def at_setup(tab1: Tab1Inputs | None = None, **changes: Any) -> Whole:
    return Whole(session(), tab1 or Tab1Inputs()).having(**changes)


def in_play(prompts: int = 9, **changes: Any) -> Whole:
    """Some prompts, of which all whole chunks are in memory."""
    chunks = prompts // 7
    mine = session(prompts=prompts, boundary=chunks * 7)
    whole = Whole(mine, events=play(1, prompts), blocks=memory(chunks))
    return whole.having(**{"state": SessionState.ACTIVE, "tab1_locked": True, **changes})


def ended(*drafts: NarrativeDraft, prompts: int = 9, **changes: Any) -> Whole:
    """A chapter whose last, shorter chunk is in memory too."""
    blocks = memory(prompts // 7 + 1)
    blocks[-1] = replace(blocks[-1], last=prompts)
    whole = replace(in_play(prompts), blocks=blocks, drafts=list(drafts))
    return whole.having(**{"state": SessionState.ENDED, "boundary": prompts, **changes})


def summarising(*requests: Request) -> Whole:
    """A chapter whose second chunk is due."""
    whole = in_play(14, state=SessionState.SUMMARIZING, boundary=7)
    return replace(whole, blocks=[LOCK, DELTA], requests=list(requests))


def played(prompt: Event | None = None, answer: Event | None = None, **request: Any) -> Whole:
    """One prompt and its reply."""
    usual = play(1, 1)
    return replace(in_play(1), events=[prompt or usual[0], answer or usual[1]], **request)


def remembering(whole: Whole, *blocks: MemoryBlock) -> Whole:
    return replace(whole, blocks=list(blocks))


def asking(*requests: Request, whole: Whole | None = None) -> Whole:
    return replace(whole or in_play(), requests=list(requests))


def call(kind: RequestKind, state: RequestState = RequestState.DONE, number: int = 1, **more: Any) -> Request:
    return RequestRecord(
        id=RequestId(UUID(int=number)),
        session_id=SESSION_ID,
        kind=kind,
        state=state,
        created_at=NOW,
        updated_at=NOW,
        **more,
    ).request()


def reply(state: RequestState = RequestState.FAILED, number: int = 1, **more: Any) -> Request:
    return call(RequestKind.REPLY, state, number, **{"slot": Slot.RED, "text": "And now?", **more})


def summary(first: int, last: int, state: RequestState = RequestState.FAILED) -> Request:
    return call(RequestKind.SUMMARY, state, prompts=PromptRange(first, last))


def draft(version: int = 1, **more: Any) -> NarrativeDraft:
    made = NarrativeDraft(
        id=DraftId(UUID(int=version)),
        session_id=SESSION_ID,
        version=version,
        request_id=None,
        definition="",
        target_words=None,
        source=SourceSnapshot(9, (LOCK.id,)),
        model="small",
        text="It rained.",
        created_at=NOW,
    )
    return replace(made, **more)


PART = Content.of("You play Kara.")
MANIFEST = Content.of(f'[["system", "identity", "{PART.hash}"]]')
ANSWER = Content.of("I dive.")


def artifact(**more: Any) -> Artifact:
    made = Artifact(
        id=ArtifactId(UUID(int=1)),
        session_id=SESSION_ID,
        request_id=RequestId(UUID(int=1)),
        attempt=1,
        call=1,
        agent_id=1,
        provider="scripted",
        model="small",
        prompt_version="1",
        input_hash="0" * 64,
        input_ref=MANIFEST.hash,
        output_ref=ANSWER.hash,
        created_at=NOW,
    )
    return replace(made, **more)


def called(made: Artifact, *contents: Content) -> Whole:
    held = list(contents or (PART, MANIFEST, ANSWER))
    return replace(asking(reply()), artifacts=[made], contents=held)


PROMPT, REPLY = play(1, 1)
FIRST = RequestId(UUID(int=1))
BUILD = call(RequestKind.NARRATIVE)
LONGEST = Tab1Inputs(
    world="w" * LIMITS.world, chapter="c" * LIMITS.chapter, identities={Slot.RED: "i" * LIMITS.identity}
)
RANGE = TurnDelta.model_validate(DELTA.payload).range.model_dump()
COUNTED_IN_TEXT = {**DELTA.payload, "range": {**RANGE, "prompt_count_in_chunk": "7"}}
PENDING, PROCESSING, DONE = RequestState.PENDING, RequestState.PROCESSING, RequestState.DONE
KEPT: dict[str, Whole] = {
    "nothing yet": at_setup(),
    "one character": at_setup(slots=(Slot.RED,)),
    "all characters": at_setup(slots=tuple(Slot), next_slot=Slot.VIOLET),
    "every limit at one": at_setup(limits=Limits(**dict.fromkeys(asdict(LIMITS), 1)), names={Slot.RED: "K"}),
    "the longest texts": at_setup(LONGEST, title="t" * LONGEST_TITLE, definition="d" * LIMITS.definition),
    "the longest name": at_setup(names={Slot.RED: "n" * LIMITS.name}),
    "two names of an older chapter": at_setup(names={Slot.RED: "Zo\u00eb", Slot.BLUE: "Zoe\u0308"}),
    "the longest chapter": at_setup(target_words=LIMITS.draft_words),
    "the shortest chapter": at_setup(target_words=1),
    "a full composer": replace(at_setup(), unsent={Slot.RED: "u" * LIMITS.prompt * 50}),
    "a prompt": in_play(1),
    "the longest prompt, and an empty reply": played(event(1, "p" * LIMITS.prompt), event(1, "", Slot.RED)),
    "one chunk": in_play(7),
    "three chunks and one prompt": in_play(22),
    "a lock at work": asking(call(RequestKind.LOCK, PENDING), whole=at_setup(state=SessionState.LOCKING)),
    "a test call before the lock": asking(call(RequestKind.TEST, RequestState.CANCELLED), whole=at_setup()),
    "a summary at work": summarising(summary(8, 14, PROCESSING), reply(PENDING, 2)),
    "prompts that wait": asking(reply(PROCESSING), reply(PENDING, 2)),
    "the longest prompt that waits": asking(reply(text="p" * LIMITS.prompt)),
    "a prompt that was answered": played(
        replace(event(1, "And now?"), metadata={"request_id": str(FIRST)}),
        replace(REPLY, metadata={"request_id": str(FIRST)}),
        requests=[reply(DONE)],
    ),
    "a summary that was made": asking(summary(1, 7, DONE)),
    "a summary that was stopped": asking(summary(1, 9, RequestState.CANCELLED)),
    "a summary that failed": asking(summary(8, 9)),
    "an ending chapter": in_play(is_ending=True),
    "a chapter at its last summary": asking(
        summary(8, 9, PENDING), whole=in_play(is_ending=True, state=SessionState.SUMMARIZING)
    ),
    "an ended chapter": ended(),
    "an ended chapter with one prompt after its chunks": ended(prompts=8),
    "an ended chapter of whole chunks": replace(in_play(14), requests=[]).having(state=SessionState.ENDED),
    "drafts": ended(draft(), draft(2)),
    "a draft while another is built": asking(
        call(RequestKind.NARRATIVE, PROCESSING), whole=ended(draft(), state=SessionState.NARRATING)
    ),
    "a draft of a call": asking(BUILD, whole=ended(draft(request_id=FIRST))),
    "a draft of nothing played": ended(draft(source=SourceSnapshot(0, ()))),
    "a call": called(artifact()),
    "the first of the calls that are counted from nothing": called(artifact(call=0)),
    "a call that returned nothing": called(artifact(output_ref=None), PART, MANIFEST),
}
# What a problem says, and what has it.
BROKEN: dict[str, dict[str, Whole]] = {
    "limits": {
        "of nothing": at_setup(limits=replace(LIMITS, world=0)),
        "beyond ours": at_setup(limits=replace(LIMITS, world=LIMITS.world + 1)),
    },
    "title": {
        "too long": at_setup(title="t" * (LONGEST_TITLE + 1)),
        "on two lines": at_setup(title="a\nb"),
        "of the script on two lines": at_setup(script_key="a\nb"),
    },
    "a name is not": {
        "empty": at_setup(names={Slot.RED: ""}),
        "too long": at_setup(names={Slot.RED: "n" * (LIMITS.name + 1)}),
        "on two lines": at_setup(names={Slot.RED: "a\nb"}),
    },
    "same name": {"twice": at_setup(names={Slot.RED: "Kara", Slot.BLUE: "KARA"})},
    "gaps": {"a gap": at_setup(slots=(Slot.RED, Slot.YELLOW))},
    "next character": {"absent": at_setup(next_slot=Slot.BLUE)},
    "longer than its field": {
        "world": at_setup(Tab1Inputs(world="w" * (LIMITS.world + 1))),
        "chapter": at_setup(Tab1Inputs(chapter="c" * (LIMITS.chapter + 1))),
        "identity": at_setup(Tab1Inputs(identities={Slot.RED: "i" * (LIMITS.identity + 1)})),
        "definition": at_setup(definition="d" * (LIMITS.definition + 1)),
        "composer": replace(at_setup(), unsent={Slot.RED: "u" * (LIMITS.prompt * 50 + 1)}),
    },
    "target length": {
        "none": at_setup(target_words=0),
        "too many": at_setup(target_words=LIMITS.draft_words + 1),
        "of a draft": ended(draft(target_words=0)),
    },
    "pointer": {
        "too high": in_play(9, prompt_index=10),
        "too low": in_play(9, prompt_index=8),
    },
    "not numbered in order": {"a hole": replace(in_play(2), events=[*play(1, 1), *play(3, 3)])},
    "was not answered": {"a prompt without a reply": replace(in_play(1), events=[PROMPT])},
    "in the middle of a reset": {
        "a chapter that is set aside": ended(state=SessionState.RESETTING),
        "a set-up that is set aside": at_setup(state=SessionState.RESETTING),
    },
    "not by the GM and a character": {
        "a prompt by a character": played(replace(PROMPT, role=Role.AGENT)),
        "a reply by the GM": played(answer=replace(REPLY, role=Role.USER)),
    },
    "by a character of the cast": {
        "a prompt of a character": played(replace(PROMPT, slot=Slot.RED)),
        "a reply of no character": played(answer=replace(REPLY, slot=None)),
        "a reply of one who does not play": played(answer=replace(REPLY, slot=Slot.VIOLET)),
    },
    "empty or too long": {
        "blank": played(event(1, " ")),
        "too long": played(event(1, "p" * (LIMITS.prompt + 1))),
    },
    "its state and its lock": {
        "play without a lock": in_play(tab1_locked=False),
        "a lock before play": at_setup(tab1_locked=True),
        "a lock at work": at_setup(tab1_locked=True, state=SessionState.LOCKING),
    },
    "it is ending": {
        "before play": at_setup(is_ending=True),
        "after the end": ended(is_ending=True),
    },
    "does not begin with its lock": {
        "nothing": remembering(in_play(1)),
        "a lock of prompts": remembering(in_play(1), replace(LOCK, last=1)),
        "a delta": remembering(in_play(7), DELTA),
    },
    "does not reach to its boundary": {
        "too low": in_play(9, boundary=6),
        "beyond play": remembering(in_play(6, boundary=7), LOCK, DELTA),
        "a hole": remembering(in_play(14), LOCK, NEXT_DELTA),
        "two locks": remembering(in_play(7), LOCK, replace(LOCK, first=1, last=7)),
        "backwards": remembering(in_play(9, boundary=0), LOCK, replace(DELTA, last=0)),
    },
    "whole chunks": {
        "in the middle": remembering(in_play(14), LOCK, replace(DELTA, last=5), replace(NEXT_DELTA, first=6)),
    },
    "not all of it is in memory": {
        "ended": in_play(9, state=SessionState.ENDED),
        "being built": in_play(9, state=SessionState.NARRATING),
    },
    "the memory of prompts 1 to 7": {
        "other keys": remembering(in_play(7), LOCK, replace(DELTA, payload={"memory_type": "x"})),
        "a number as text": remembering(in_play(7), LOCK, replace(DELTA, payload=COUNTED_IN_TEXT)),
    },
    "that its state does not know": {
        "a prompt after the end": asking(reply(PENDING), whole=ended()),
        "two summaries": summarising(summary(8, 14, PENDING), summary(8, 14, PENDING)),
    },
    "two calls run at once": {"two replies": asking(reply(PROCESSING), reply(PROCESSING, 2))},
    "before the lock": {"a prompt": asking(reply(), whole=at_setup())},
    "a test call is": {"that may be tried again": asking(call(RequestKind.TEST, RequestState.FAILED))},
    "a sent prompt is empty, too long or without a character": {
        "to one who does not play": asking(reply(slot=Slot.VIOLET)),
        "blank": asking(reply(text=" ")),
        "too long": asking(reply(text="p" * (LIMITS.prompt + 1))),
    },
    "not among its prompts": {"answered": asking(reply(DONE))},
    "a summary is due of prompts that are missing": {
        "made beyond the boundary": asking(summary(1, 8, DONE)),
        "stopped beyond play": asking(summary(1, 10, RequestState.CANCELLED)),
        "failed of what is in memory": asking(summary(7, 9)),
        "failed beyond play": asking(summary(8, 10)),
    },
    "not numbered from 1": {"from 2": ended(draft(2))},
    "and is not ended": {"in play": replace(in_play(), drafts=[draft()])},
    "an invalid definition or model name": {
        "long": ended(draft(definition="d" * (LIMITS.definition + 1))),
        "on two lines": ended(draft(model="a\nb")),
    },
    "draft 1 is empty": {"blank": ended(draft(text=" "))},
    "built from memory or prompts that are missing": {
        "later prompts": ended(draft(source=SourceSnapshot(10, ()))),
        "less than nothing": ended(draft(source=SourceSnapshot(-1, ()))),
        "other memory": ended(draft(source=SourceSnapshot(9, (BlockId(UUID(int=99)),)))),
        "another call": asking(summary(1, 7, DONE), whole=ended(draft(request_id=FIRST))),
    },
    "a call refers to a request that is missing": {
        "no request": called(artifact(request_id=RequestId(UUID(int=2)))),
    },
    "an invalid model name": {"on two lines": called(artifact(model="a\nb"))},
    "the output of a call is missing": {"absent": called(artifact(), PART, MANIFEST)},
    "the input of a call is missing": {
        "the list absent": called(artifact(), PART, ANSWER),
        "a part absent": called(artifact(), MANIFEST, ANSWER),
    },
}
CASES = [(whole, problem) for problem, wholes in BROKEN.items() for whole in wholes.values()]
NAMES = [f"{problem}: {name}" for problem, wholes in BROKEN.items() for name in wholes]
UNREADABLE = {
    "nothing": "",
    "no list": "{}",
    "too deep": "[" * 100_000,
    "a part of one": "[[1]]",
    "a part of two": '[["a", "b"]]',
    "a number": '[["a", 2, "c"]]',
    "a text": '["abc"]',
}


@pytest.mark.parametrize("whole", KEPT.values(), ids=KEPT)
def test_a_session_that_keeps_every_rule_has_no_problem(whole: Whole) -> None:
    assert problems(whole) == []


@pytest.mark.parametrize(("whole", "problem"), CASES, ids=NAMES)
def test_a_session_that_breaks_a_rule_is_told_which(whole: Whole, problem: str) -> None:
    found = problems(whole)
    assert any(problem in one for one in found), found


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_an_input_whose_list_of_parts_cannot_be_read_is_a_problem(text: str) -> None:
    listed = Content.of(text)
    found = problems(called(artifact(input_ref=listed.hash), listed, ANSWER, *map(Content.of, "abc")))
    assert found == ["the input of a call is missing"]
