"""Work for the memory bank whose tries an outage used up is taken up again, not without end (design 17)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.embedding import choose_embedding
from core.config.sections import EmbeddingSettings, ProfileSettings
from core.domain.bank.details import FactDetails
from core.domain.errors import ErrorCode
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.engine.changes.moves import new_work
from core.engine.kinds.bank.embedding import OF_TEXTS
from core.engine.queue.background import another_round
from core.engine.queue.queue_commands import vectors_due
from core.engine.services.bank.item_changes import NewItem
from core.engine.session.session_handle import SessionHandle
from core.gateway.embedding_service import EmbeddingPlan
from core.providers.base import ProviderError
from core.providers.embedding.base import Embedding
from core.providers.embedding.scripted import ScriptedEmbedder
from core.providers.scripted.script import Fault
from core.storage.snapshot import Snapshot
from tests.core.rooms.bank_room import answer, calls, extractions, fact, items, read, room, scan
from tests.core.rooms.faulty_store import AWAY
from tests.core.rooms.room import Room
from tests.core.rooms.takes_model import play
from tests.core.values.sessions import NOW, waiting

pytestmark = pytest.mark.anyio
TRIES = 2


def failed(kind: RequestKind, state: RequestState, code: ErrorCode, text: str = "") -> BackgroundRequest:
    session_id = room().store.snapshot.session.id
    work = BackgroundRequest(**new_work(kind, session_id, NOW), text=text, attempts=5)
    return replace(work, state=state, error_code=code, error_message="It is away.")


def having(*requests: BackgroundRequest) -> Snapshot:
    return room().store.snapshot.with_requests(*requests)


OUTAGE = ErrorCode.LLM_SERVER_ERROR
CASES = (
    (RequestKind.EXTRACTION, RequestState.DEAD, OUTAGE, True),
    (RequestKind.EMBEDDING, RequestState.DEAD, OUTAGE, True),
    (RequestKind.EMBEDDING, RequestState.DEAD, ErrorCode.LLM_TIMEOUT, True),
    # What ends the program each time is not begun by each opening.
    (RequestKind.EXTRACTION, RequestState.DEAD, ErrorCode.LLM_CANCELLED, False),
    (RequestKind.EMBEDDING, RequestState.DEAD, ErrorCode.LLM_CANCELLED, False),
    # The ceiling may be another one by now, and the day too: nothing was sent.
    (RequestKind.EXTRACTION, RequestState.FAILED, ErrorCode.CEILING_REACHED, True),
    (RequestKind.EMBEDDING, RequestState.FAILED, ErrorCode.CEILING_REACHED, True),
    (RequestKind.HEARTBEAT, RequestState.FAILED, ErrorCode.CEILING_REACHED, False),
    # What needs the GM waits for the GM.
    (RequestKind.EXTRACTION, RequestState.FAILED, ErrorCode.LLM_INVALID_JSON, False),
    (RequestKind.EMBEDDING, RequestState.FAILED, ErrorCode.CONSENT_REQUIRED, False),
    (RequestKind.HEARTBEAT, RequestState.DEAD, OUTAGE, False),
    (RequestKind.CONDENSE, RequestState.DEAD, OUTAGE, False),
)


@pytest.mark.parametrize(("kind", "state", "code", "begins"), CASES)
def test_an_opening_gives_another_round_to_what_an_outage_or_a_ceiling_ended_and_to_nothing_else(
    kind: RequestKind, state: RequestState, code: ErrorCode, begins: bool
) -> None:
    request = failed(kind, state, code)
    changes = another_round(having(request), lambda: NOW)
    if not begins:
        assert changes is None
        return
    assert changes is not None
    [again] = changes.requests
    assert (again.id, again.state, again.tries, again.attempts) == (request.id, RequestState.PENDING, 0, 5)


def test_an_opening_of_a_chapter_with_nothing_to_take_up_changes_nothing() -> None:
    assert another_round(having(), lambda: NOW) is None


def test_vectors_whose_tries_are_used_up_are_asked_for_again_by_the_next_item() -> None:
    dead = failed(RequestKind.EMBEDDING, RequestState.DEAD, OUTAGE)
    [again] = vectors_due(having(dead), NOW)
    assert (again.id, again.state, again.tries) == (dead.id, RequestState.PENDING, 0)
    # Those of texts are another request, which makes the vectors of items too.
    [of_texts] = vectors_due(having(dead), NOW, of_texts=True)
    assert (of_texts.id != dead.id, of_texts.text) == (True, OF_TEXTS)
    assert not vectors_due(having(dead, of_texts), NOW)
    for code in (ErrorCode.LLM_CANCELLED, ErrorCode.CEILING_REACHED):
        assert not vectors_due(having(failed(RequestKind.EMBEDDING, RequestState.FAILED, code)), NOW)


async def test_a_part_that_could_not_be_read_has_its_tries_again_at_each_opening_and_no_more() -> None:
    made = room(answer("bank_scan", fault=Fault.SERVER_ERROR, times=2 * TRIES), scan(facts=[fact()]))
    made.play = waiting(3_600.0, background=0.0, tries=TRIES)
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
        assert [one.state for one in await extractions(session)] == [RequestState.DEAD]
    async with made.opened() as session:
        await read(session)
        assert [one.state for one in await extractions(session)] == [RequestState.DEAD]
        assert len(await calls(session)) == 2 * TRIES
        assert not await items(session)
    async with made.opened() as session:
        await read(session)
        assert [one.state for one in await extractions(session)] == [RequestState.DONE]
        assert len(await items(session)) == 1


async def test_a_chapter_opens_where_the_next_round_cannot_be_stored() -> None:
    made = room(answer("bank_scan", fault=Fault.SERVER_ERROR, times=TRIES), scan(facts=[fact()]))
    made.play = waiting(3_600.0, background=0.0, tries=TRIES)
    async with made.opened() as session:
        await play(session, "1?", "2?", "3?")
        await read(session)
    made.store.failures = [AWAY]
    async with made.opened() as session:
        assert not made.store.failures, "the round was to be stored"
        assert [one.state for one in await extractions(session)] == [RequestState.DEAD]
        await play(session, "4?")
    async with made.opened() as session:
        await read(session)
        assert [one.state for one in await extractions(session)] == [RequestState.DONE]


class Away(ScriptedEmbedder):
    """A model that does not answer as long as it is away."""

    is_away = True

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        if Away.is_away:
            raise ProviderError(OUTAGE)
        return await super().embed(texts, seconds)


def meaningful() -> Room:
    """Return a chapter with a bank and a model of meanings that is away."""
    made = room(scan())
    choice = choose_embedding(EmbeddingSettings(), accounts_of(ProfileSettings(provider="scripted")))
    assert choice is not None
    made.embedding = EmbeddingPlan(choice, Away)
    made.play = waiting(3_600.0, background=0.0, tries=TRIES)
    Away.is_away = True
    return made


async def added(session: SessionHandle, name: str) -> None:
    """Add an item of the GM, and wait until nothing is asked for any longer."""
    await session.bank.add(session.snapshot.session, NewItem(name, f"{name} is here.", FactDetails()))
    while session.snapshot.background:
        await session.wait(session.snapshot.background[0].id)


async def test_items_are_found_by_meaning_again_once_their_model_is_back() -> None:
    made = meaningful()
    async with made.opened() as session:
        await added(session, "The inn")
        [dead] = session.snapshot.failed(BackgroundRequest)
        assert (dead.state, dead.kind) == (RequestState.DEAD, RequestKind.EMBEDDING)
        Away.is_away = False
        await added(session, "The mill")
        assert len(made.store.bank.vectors) == 2
        assert not session.snapshot.failed(BackgroundRequest)


async def test_the_next_opening_makes_the_vectors_that_an_outage_left_out() -> None:
    made = meaningful()
    async with made.opened() as session:
        await added(session, "The inn")
    Away.is_away = False
    async with made.opened() as session:
        while session.snapshot.background:
            await session.wait(session.snapshot.background[0].id)
        assert len(made.store.bank.vectors) == 1
        assert not session.snapshot.failed(BackgroundRequest)
