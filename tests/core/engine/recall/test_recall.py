"""What a character recalls of the memory bank: in its input, beside its reply, and as the GM sees it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.agents.context_builder import ContextBuilder
from core.config.models.accounts import accounts_of
from core.config.models.embedding import choose_embedding
from core.config.sections import EmbeddingSettings, ProfileSettings
from core.domain.audience import EVERYONE, Audience
from core.domain.bank.details import Aspect, FactDetails, QuoteDetails, StateDetails
from core.domain.bank.item import Item, Validation
from core.domain.bank.pieces import pieces_of
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import ItemId, new_uuid
from core.domain.requests.request import BackgroundRequest, Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.domain.story.event import Role
from core.domain.story.reply_uses import RECALLED, recalled_in
from core.engine.kinds.bank.embedding import all_texts_of
from core.engine.kinds.bank.nearest import MOST_NEAR, Neighbours, earlier_bank
from core.engine.kinds.base import Job
from core.engine.kinds.on_record import AnswersOnRecord
from core.engine.kinds.test_call import new_test_call
from core.engine.queue.jobs import _Calls
from core.engine.recall.reading import BankReader
from core.engine.services.bank.item_changes import NewItem
from core.engine.session.session_handle import SessionHandle
from core.engine.sync.notifications import Notification
from core.gateway.cancellation import Cancellation
from core.gateway.embedding_service import Embedded, EmbeddingPlan
from core.ledger import sums
from core.providers.base import ProviderError
from core.providers.embedding.base import Embedding
from core.providers.embedding.scripted import ScriptedEmbedder
from core.providers.scripted.script import Entry
from core.storage.changes import Changes
from core.storage.snapshot import Snapshot
from core.text.delimiters import SegmentName
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import done, play, room
from tests.core.values.bank import fact
from tests.core.values.sessions import NOW

pytestmark = pytest.mark.anyio
RED, ORANGE = Slot.RED, Slot.ORANGE
FERRY = NewItem("The ferry", "It runs at low tide.", FactDetails())
OLD = [f"Nothing happens here, says number {number}." for number in range(7)]


def keeping(*entries: Entry, is_kept: bool = True, makes_vectors: bool = False) -> Room:
    scene = room(*entries)
    snapshot = scene.store.snapshot
    session = replace(snapshot.session, keeps_bank=is_kept)
    scene.store = type(scene.store)(replace(snapshot, session=session))
    if makes_vectors:
        choice = choose_embedding(EmbeddingSettings(), accounts_of(ProfileSettings(provider="scripted")))
        assert choice is not None
        scene.embedding = EmbeddingPlan(choice, ScriptedEmbedder)
    return scene


def remembered(session: SessionHandle, number: int = 1, **changes: object) -> Item:
    item = fact(number, session_id=session.id, prompt_index=1)
    return replace(item, **{"text": "Kara hid the brass key under the hearth.", **changes})  # type: ignore[arg-type]


@asynccontextmanager
async def played(scene: Room, *items: Item) -> AsyncIterator[SessionHandle]:
    async with scene.opened() as session:
        await play(session, *OLD)
        await scene.store.bank.put([replace(one, session_id=session.id) for one in items])
        yield session


async def section_of(session: SessionHandle, section: SegmentName = SegmentName.RECALLED) -> str:
    """Return a section of the newest reply's input."""
    newest = [one for one in await session.reads.artifacts() if one.agent_id == RED and one.call == 1][-1]
    stored = await session._store.calls.contents(session.id, [newest.input_ref])
    manifest = json.loads(stored[newest.input_ref])
    [*found] = [part for _, name, part in manifest if name == section]
    texts = await session._store.calls.contents(session.id, found)
    return "".join(texts.values())


async def test_a_reply_has_what_its_character_recalls_and_says_so_in_its_metadata() -> None:
    scene = keeping()
    proof = replace(fact(2).evidence[0], words="A boat rots", prompt_index=1)
    boat = replace(fact(2, prompt_index=1, name="Boats", text="A boat rots."), evidence=(proof,))
    async with played(scene, fact(1, prompt_index=1), boat) as session:
        await play(session, "Where did you put the brass key?")
        section = await section_of(session)
        assert "Kara hid the brass key. (prompt 1)" in section
        assert "A boat" not in section
        reply = [event for event in await session.reads.canon() if event.role is Role.AGENT][-1]
        assert recalled_in(reply.metadata) == ((ItemId(fact(1).id), 0),)
        await play(session, "And the brass key now?")
        access = (await scene.store.bank.accesses(session.id))[ItemId(fact(1).id)]
        assert (access.access_count, access.last_accessed) == (2, session.snapshot.session.prompt_index)


async def test_nothing_is_recalled_that_another_alone_may_know() -> None:
    private = fact(1, prompt_index=1, label=Audience.of((ORANGE,)))
    async with played(keeping(), private) as session:
        await play(session, "Where did you put the brass key?")
        assert await section_of(session) == ""


async def test_a_chapter_without_a_bank_asks_no_bank_and_has_the_same_replies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = keeping(is_kept=False, makes_vectors=True)
    monkeypatch.setattr(scene.store, "bank", None)
    async with scene.opened() as session:
        await play(session, *OLD, "Where did you put the brass key?")
        assert await section_of(session) == ""
        assert not [one for one in await session.reads.requests() if isinstance(one, BackgroundRequest)]
        assert not any(RECALLED in event.metadata for event in await session.reads.canon())


async def settled(session: SessionHandle) -> None:
    """Wait until nothing is open beside the play; what was drawn from it is another test's."""
    while session.snapshot.background:
        await session.wait(session.snapshot.background[0].id)


async def embeddings(session: SessionHandle) -> list[Request]:
    return [one for one in await session.reads.requests() if one.kind is RequestKind.EMBEDDING]


async def test_vectors_are_made_beside_the_play_and_items_are_found_by_meaning() -> None:
    scene = keeping(makes_vectors=True)
    async with played(scene, fact(1, prompt_index=1, text="The brass key lies under a stone.")) as session:
        await settled(session)
        before = len(await embeddings(session))
        await session.background.make_vectors()
        await session.background.make_vectors()
        requests = await embeddings(session)
        assert len(requests) == before + 1, "the one that waits makes all of them"
        await settled(session)
        assert len(scene.store.bank.vectors) == len(await scene.store.bank.items(session.id))
        # Those that the opening asked for may have made them already.
        makers = {one.id for one in requests}
        calls = [one for one in await session.reads.artifacts() if one.request_id in makers]
        assert {call.prompt_version for call in calls} == {"embedding@1"}
        await play(session, "Under which stone does the key of brass lie?")
        asked = [one for one in await session.reads.artifacts() if one.agent_id == RED][-2:]
        assert [one.call for one in asked] == [0, 1], "the query is on record before the call for the reply"
        assert "under a stone" in await section_of(session)


async def test_vectors_that_are_missing_are_made_when_the_chapter_is_opened() -> None:
    scene = keeping(makes_vectors=True)
    async with played(scene, fact(1, prompt_index=1)) as session:
        await settled(session)
    scene.store.bank.vectors.clear()
    scene.store.snapshot = await scene.store.load(scene.store.snapshot.session.id)
    async with scene.opened() as session:
        await settled(session)
        assert len(scene.store.bank.vectors) == len(await scene.store.bank.items(session.id))


async def test_what_the_gm_adds_or_edits_is_found_by_its_meaning_at_once() -> None:
    scene = keeping(makes_vectors=True)
    async with played(scene) as session:
        await settled(session)
        vectors = scene.store.bank.vectors
        added = await session.bank.add(session.snapshot.session, FERRY)
        await settled(session)
        before = vectors[session.id, added.id][1]
        edited = await session.bank.edit(added, replace(added, text="It was sold in the spring."))
        await settled(session)
        after = vectors[session.id, added.id][1]
        assert (before.version, after.version) == (1, edited.version)
        assert before.vector != after.vector
        await session.bank.undo()
        await settled(session)
        assert vectors[session.id, added.id][1].vector == before.vector
        asked = len(await embeddings(session))
        await session.bank.confirm([next(one for one in await session.bank.items() if one.id == added.id)])
        await settled(session)
        assert len(await embeddings(session)) == asked, "that it is confirmed changes no words"


async def test_where_no_model_makes_vectors_a_change_of_the_gm_asks_for_none() -> None:
    scene = keeping()
    async with played(scene) as session:
        await settled(session)
        asked = len(await embeddings(session))
        await session.bank.add(session.snapshot.session, FERRY)
        assert len(await embeddings(session)) == asked


async def test_a_search_has_vectors_made_of_the_texts_of_the_chapter_once() -> None:
    scene = keeping(makes_vectors=True)
    async with played(scene) as session:
        await settled(session)
        assert not scene.store.bank.pieces, "nobody has searched"
        await session.vectors.ask_for_search()
        await settled(session)
        texts = {event.text for event in await session.reads.canon()}
        pieces = [piece.hash for text in texts for piece in pieces_of(text)]
        assert pieces
        assert {*pieces} <= {one for _, one in scene.store.bank.pieces}
        asked = len(await embeddings(session))
        await session.vectors.ask_for_search()
        assert len(await embeddings(session)) == asked, "each has its vector"


async def test_a_query_is_on_record_also_where_its_input_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def does_not_fit(*_: object) -> object:
        raise StoryEngineError(ErrorCode.LLM_CONTEXT_OVERFLOW)

    async with played(keeping(makes_vectors=True), fact(1, prompt_index=1)) as session:
        await settled(session)
        monkeypatch.setattr("core.agents.character.character_context", does_not_fit)
        request = await session.wait(await session.submit_prompt(RED, "Where did you put the brass key?"))
        assert request.error_code is ErrorCode.LLM_CONTEXT_OVERFLOW
        query, failed = [one for one in await session.reads.artifacts() if one.request_id == request.id]
        assert (query.call, query.error_code, query.prompt_version) == (0, None, "embedding@1")
        assert (failed.call, failed.error_code) == (1, ErrorCode.LLM_CONTEXT_OVERFLOW)
        assert sums.LedgerEntry("", 1, failed, request, "").amount == 0


async def test_another_take_knows_nothing_that_the_one_in_its_place_did_to_the_character() -> None:
    """Its block of memory is withdrawn first; what was drawn from it stays until the new take counts."""
    scene = keeping()
    cut = replace(fact(1, prompt_index=6), details=StateDetails(aspect=Aspect.WOUND), about=RED)
    limp = replace(cut, id=ItemId(new_uuid()), name="Limp", text="Her leg hurts.")
    limp = replace(limp, evidence=(replace(cut.evidence[0], prompt_index=5),))
    async with scene.opened() as session:
        await play(session, *OLD[:6])
        await scene.store.bank.put([replace(one, session_id=session.id) for one in (cut, limp)])
        await done(session, await session.takes.reroll())
        sheet = await section_of(session, SegmentName.CHARACTER_SHEET)
        assert cut.text not in sheet
        assert limp.text in sheet


class Breaking(ScriptedEmbedder):
    """A model that breaks at one of its calls."""

    calls, breaks_at = 0, 0

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        Breaking.calls += 1
        if Breaking.calls == Breaking.breaks_at:
            raise ProviderError(ErrorCode.LLM_SERVER_ERROR)
        return await super().embed(texts, seconds)


async def test_an_embedding_that_fails_is_tried_again_and_keeps_what_it_made() -> None:
    scene = keeping()
    choice = choose_embedding(EmbeddingSettings(batch=1), accounts_of(ProfileSettings(provider="scripted")))
    assert choice is not None
    scene.embedding = EmbeddingPlan(choice, Breaking)
    async with played(scene, *(fact(number, prompt_index=1) for number in range(1, 4))) as session:
        await settled(session)
        scene.store.bank.vectors.clear()
        first, second, *_ = await scene.store.bank.unembedded([session.id], "scripted", 9)
        asked = len(all_texts_of([first]))
        Breaking.calls, Breaking.breaks_at = 0, asked + len(all_texts_of([second]))
        await session.background.make_vectors()
        request = (await embeddings(session))[-1]
        await scene.heard(Notification, lambda _: session.snapshot.background[0].retry_after is not None)
        [waits] = session.snapshot.background
        assert (waits.state, len(scene.store.bank.vectors)) == (RequestState.PENDING, 1)
        await session.background.retry(request.id)
        assert (await session.wait(request.id)).state is RequestState.DONE
        items = await scene.store.bank.items(session.id)
        assert len(scene.store.bank.vectors) == len(items)
        every = sum(len(all_texts_of([one])) for one in items)
        assert Breaking.calls == every + Breaking.breaks_at - asked, (
            "what has a vector is not asked about again"
        )


class Hanging(ScriptedEmbedder):
    """A model that does not answer one of its calls."""

    calls, hangs_at, is_asked = 0, 0, asyncio.Event()

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        Hanging.calls += 1
        if Hanging.calls == Hanging.hangs_at:
            Hanging.is_asked.set()
            await asyncio.Event().wait()
        return await super().embed(texts, seconds)


async def test_an_embedding_that_is_put_back_after_a_call_counts_the_try_that_has_it_on_record() -> None:
    scene = keeping()
    choice = choose_embedding(EmbeddingSettings(batch=1), accounts_of(ProfileSettings(provider="scripted")))
    assert choice is not None
    scene.embedding = EmbeddingPlan(choice, Hanging)
    Hanging.is_asked, Hanging.calls, Hanging.hangs_at = asyncio.Event(), 0, 0
    async with played(scene, *(fact(number, prompt_index=1) for number in range(1, 4))) as session:
        await settled(session)
        scene.store.bank.vectors.clear()
        Hanging.calls, Hanging.hangs_at = 0, 4
        await session.background.make_vectors()
        request = (await embeddings(session))[-1]
        await Hanging.is_asked.wait()
    [waits] = [one for one in await scene.store.calls.requests(session.id) if one.id == request.id]
    calls = [one for one in await scene.store.calls.artifacts(session.id) if one.request_id == request.id]
    assert waits.state is RequestState.PENDING
    assert calls
    assert all(one.attempt <= waits.attempts for one in calls)


async def test_new_items_are_compared_by_meaning_with_those_that_are_there() -> None:
    scene = keeping(makes_vectors=True)
    known = fact(1, prompt_index=1, text="The brass key lies under a stone.")
    quoted = replace(known, id=ItemId(new_uuid()), text="Under a stone!", details=QuoteDetails())
    async with played(scene, known, quoted) as session:
        neighbours, calls = await neighbours_of(scene, session)
        new = replace(known, id=ItemId(new_uuid()), session_id=session.id)
        other = replace(new, id=ItemId(new_uuid()), name="Boats", text="Tobias rows.")
        similar = (await neighbours.of([new, other])).similar
        assert similar is not None
        there = replace(known, session_id=session.id)
        assert similar(new, there) > 0.99
        assert similar(other, there) < 0.85
        assert len(calls.saved) == 2, "the calls are on record"
        assert calls.texts[-1] == [f"{known.name}. {known.text}"], "quotes are compared by their words alone"


async def test_what_the_audience_does_not_know_takes_no_place_of_what_is_compared() -> None:
    scene = keeping(makes_vectors=True)
    known = fact(1, prompt_index=1, text="The brass key lies under a large stone.")
    alone = replace(known, label=Audience.of((RED,)), text="The brass key lies under a stone.")
    private = [replace(alone, id=ItemId(new_uuid())) for _ in range(MOST_NEAR)]
    out = replace(alone, id=ItemId(new_uuid()), text="Nobody knows.", validation=Validation.REJECTED)
    async with played(scene, known, *private) as session:
        new = replace(alone, id=ItemId(new_uuid()), session_id=session.id)
        for audience, texts in ((EVERYONE, {known.text}), (alone.label, {alone.text, out.text})):
            neighbours, calls = await neighbours_of(scene, session, audience, out)
            similar = (await neighbours.of([new])).similar
            assert similar is not None
            assert (similar(new, known) > 0.85) is (known.text in texts)
            assert calls.texts[-1] == [f"{known.name}. {text}" for text in sorted(texts, reverse=True)]


async def neighbours_of(
    scene: Room, session: SessionHandle, audience: Audience = EVERYONE, *taken_out: Item
) -> tuple[Neighbours, "FakeCalls"]:
    """Return what finds items near to new ones, once all have vectors, and its calls."""
    await session.background.make_vectors()
    await settled(session)
    calls = FakeCalls(session)
    [request, *_] = await embeddings(session)
    builder, bank = ContextBuilder(scene.choices), BankReader(scene.store.bank)
    job = Job(session.snapshot, builder, calls, scene.store, calls.save, bank)
    assert isinstance(request, BackgroundRequest)
    return Neighbours(job, await earlier_bank(job, audience), taken_out), calls


class FakeCalls(_Calls):
    """The calls of a request that is not running."""

    def __init__(self, session: SessionHandle) -> None:
        jobs = session.background._jobs
        request = new_test_call(session.id, NOW)
        gateway, embeddings = jobs._gateway, jobs._embeddings
        choices = gateway.choices
        on_record = AnswersOnRecord(jobs._store.calls, request)
        parts = (gateway, choices, embeddings, request, Cancellation(), on_record)
        super().__init__(*parts, self.save, lambda _: None)
        self.saved: list[Changes] = []
        self.texts: list[Sequence[str]] = []
        self._session = session

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.texts.append(texts)
        return await super().embed(texts)

    async def save(self, decide: Callable[[Snapshot], Changes]) -> Changes:
        self.saved.append(decide(self._session.snapshot))
        return self.saved[-1]
