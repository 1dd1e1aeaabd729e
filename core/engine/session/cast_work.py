"""Asks about characters of the library: what one lacks, and what a chapter means for them (design 14 and 17).

Each question is a request of its own in the queue of the chapter, so that work which was interrupted goes on
where it was. What needs no model is proposed in the transaction that begins it.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from core.agents.proposals.asking import Question
from core.domain.agent_role import AgentRole
from core.domain.errors import IllegalCommandError, StoryEngineError
from core.domain.ids import CharacterId, RequestId
from core.domain.proposal import Occasion, Proposal
from core.domain.requests.request import BackgroundRequest, Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.engine.changes.moves import new_work
from core.engine.kinds.cast.handler import Work, sheet_of
from core.engine.queue.background import BackgroundWorker
from core.engine.session.session_reader import SessionReader
from core.engine.sync.session_writer import SessionWriter
from core.gateway.model_gateway import ModelGateway
from core.library.characters.character import LibraryCharacter, Topic
from core.library.proposals.exposure import neglected
from core.library.proposals.making import ProposalMaker
from core.library.proposals.of_chapter import of_exposure, of_fading, of_merging
from core.storage.changes import Changes
from core.text.name_list import name_key

NOT_OVER: Final = "Changes of a chapter are proposed at its end: end it first (End Chapter on tab 2)."
NO_MEMBERS: Final = (
    "No character of this chapter is in the library;"
    " “Keep this character in the library” in the palette of tab 1 adds one."
)
NO_GAPS: Final = "It has a short description, three traits and three topics; nothing is missing."


@dataclass(frozen=True, slots=True)
class Begun:
    """Work that was begun for a chapter."""

    asked: tuple[RequestId, ...] = ()
    """The requests that a model has to answer."""
    left_alone: tuple[str, ...] = ()
    """Characters that the program must not change, each with the reason."""
    answered: int = 0
    """Number of questions that were answered before, and were not asked again."""


@dataclass(eq=False)
class CastWork:
    """Asks about characters for one session, which keeps the record of the calls."""

    _writer: SessionWriter
    _background: BackgroundWorker
    _gateway: ModelGateway
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Held while requests are compared and added: a key pressed twice asks once."""

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._gateway.model_label(self._gateway.choices[AgentRole.CONTEXT_SUMMARY])

    async def fill_gaps(self, character: LibraryCharacter) -> RequestId:
        """Ask for the missing details of a character; return the request.

        Raises IllegalCommandError where nothing is missing, or where the program must not change it.
        """
        self._writer.require_writer()
        if why := _why_not(character, self._writer.clock()):
            raise IllegalCommandError(f"“{character.name}” {why}; nothing was asked.")
        if not sheet_of(character).has_gaps:
            raise IllegalCommandError(NO_GAPS)
        text = Work(Question.GAPS, character.id).to_text()
        async with self._turn:
            for one in self._writer.snapshot.background:
                if (one.kind, one.text) == (RequestKind.GAPS, text):
                    return one.id
            request = self._request(RequestKind.GAPS, text)
            await self._background.add(request)
            return request.id

    async def propose_changes(self, *, with_ceremony: bool = False, again: bool = False) -> Begun:
        """Begin what a chapter that has ended means for its characters; return what was begun.

        With the ceremony also what fades, what says the same, and how neglected topics could come back. With
        `again` also what was answered before is asked; what needs no model is proposed once for a chapter.
        Raises IllegalCommandError before the end of the chapter, or where the library has none of its cast.
        """
        async with self._turn:
            return await self._begun(with_ceremony=with_ceremony, again=again)

    async def _begun(self, *, with_ceremony: bool, again: bool) -> Begun:
        self._writer.require_writer()
        session, now = self._writer.snapshot.session, self._writer.clock()
        if not session.state.has_ended or session.unsummarised:
            raise IllegalCommandError(NOT_OVER)
        members = members_of(
            session, self._writer.snapshot.tab1, await self._writer.store.library.characters()
        )
        if not members:
            raise IllegalCommandError(NO_MEMBERS)
        reader = SessionReader(self._writer.store, session.id)
        requests: list[BackgroundRequest] = []
        proposals: list[Proposal] = []
        left_alone: list[str] = []
        for slot, character in members:
            if why := _why_not(character, now):
                left_alone.append(f"{character.name} {why}")
                continue
            texts = [event.text for event in await reader.witnessed_by(slot) if event.slot is slot]
            known = await self._writer.store.library.proposals(character.id, is_open=False)
            maker = ProposalMaker(character, session.id, now)
            found = _without_model(maker, texts, known, with_ceremony=with_ceremony)
            proposals += await asyncio.to_thread(list, found)  # it reads all texts for each topic
            requests.append(self._asking(Work(Question.CHANGES, character.id), slot))
            topics: Sequence[Topic] = ()
            if with_ceremony:
                topics = await asyncio.to_thread(neglected, character, texts, _touched(known), now)
            if topics:
                names = tuple(topic.name for topic in topics)
                requests.append(self._asking(Work(Question.QUESTIONS, character.id, names), slot))
        asked = await self._add(requests, proposals, again=again)
        return Begun(asked, tuple(left_alone), len(requests) - len(asked))

    async def _add(
        self, requests: Sequence[BackgroundRequest], proposals: Sequence[Proposal], *, again: bool
    ) -> tuple[RequestId, ...]:
        """Store what is new; what has failed is tried again, what was answered is asked only with `again`."""
        session_id = self._writer.snapshot.session.id
        earlier = {
            _subject(one): one
            for one in await self._writer.store.calls.requests(session_id)
            if _is_about_cast(one) and not (again and one.state is RequestState.DONE)
        }
        fresh = [one for one in requests if _subject(one) not in earlier]
        if fresh or proposals:
            changes = Changes(session_id=session_id, requests=tuple(fresh), proposals=tuple(proposals))
            await self._writer.apply(lambda _: changes)
        asked = [one.id for one in fresh]
        for one in requests:
            found = earlier.get(_subject(one))
            if found is not None and found.has_failed:
                await self._background.retry(found.id)
            if found is not None and found.state is not RequestState.DONE:
                asked.append(found.id)
        return tuple(asked)

    def _asking(self, work: Work, slot: Slot) -> BackgroundRequest:
        return self._request(RequestKind.CEREMONY, work.to_text(), slot)

    def _request(self, kind: RequestKind, text: str, slot: Slot | None = None) -> BackgroundRequest:
        new = new_work(kind, self._writer.snapshot.session.id, self._writer.clock())
        return BackgroundRequest(slot=slot, text=text, **new)


def members_of(
    session: Session, tab1: Tab1Inputs, characters: Sequence[LibraryCharacter]
) -> list[tuple[Slot, LibraryCharacter]]:
    """Return the characters of the library that play in a chapter, each with its first slot.

    A slot is of the character that it was taken from; one that was made by hand, of the one with its name.
    Other names do not count: a card from outside brings its own, and would be told what that slot knows.
    """
    by_id = {one.id: one for one in characters}
    by_name = {name_key(one.name): one for one in characters}
    found: dict[CharacterId, tuple[Slot, LibraryCharacter]] = {}
    for slot, name in session.roster:
        taken_from = tab1.profile_of(slot).character_id
        character = by_name.get(name_key(name)) if taken_from is None else by_id.get(taken_from)
        if character is not None:
            found.setdefault(character.id, (slot, character))
    return list(found.values())


def _without_model(
    maker: ProposalMaker, texts: Sequence[str], known: Sequence[Proposal], *, with_ceremony: bool
) -> Iterator[Proposal]:
    """Yield what needs no model and was not proposed for this chapter, or in the same words, before."""
    done = {one.occasion for one in known if one.session_id == maker.session_id}
    if Occasion.EXPOSURE not in done:
        yield from of_exposure(maker, texts)
    if not with_ceremony:
        return
    if Occasion.FADE not in done:
        yield from of_fading(maker, texts)
    merged = [(one.before, one.after) for one in known if one.occasion is Occasion.MERGE]
    for one in of_merging(maker):
        if (one.before, one.after) not in merged:
            yield one


def _touched(known: Sequence[Proposal]) -> dict[str, datetime]:
    """Return when each trait or topic was changed last by a proposal, but for fading."""
    touched: dict[str, datetime] = {}
    for one in known:
        if one.settled_at is not None and one.occasion is not Occasion.FADE:
            for name in map(name_key, one.names):
                touched[name] = max(touched.get(name, one.settled_at), one.settled_at)
    return touched


def _why_not(character: LibraryCharacter, now: datetime) -> str:
    if character.archived_at is not None:
        return "is archived"
    if character.is_static:
        return "is static: only you change it"
    return "is paused" if character.is_paused_at(now) else ""


def _is_about_cast(request: Request) -> bool:
    return request.kind is RequestKind.CEREMONY and request.state is not RequestState.CANCELLED


def _subject(request: Request) -> tuple[Question, object] | None:
    """Return the question of a request, and the character that it is about."""
    if not isinstance(request, BackgroundRequest):
        return None
    with suppress(StoryEngineError):  # from a file: unreadable, so about no character
        work = Work.from_text(request.text)
        return work.question, work.character_id
    return None
