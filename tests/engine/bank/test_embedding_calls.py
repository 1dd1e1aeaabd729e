"""A call that makes vectors is stored and exported as any other, and the texts are in it by their hashes."""

import asyncio
import hashlib

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.embedding import choose_embedding
from core.config.sections import EmbeddingSettings, ProfileSettings
from core.domain.clock import utc_now
from core.domain.ids import SessionId, new_uuid
from core.domain.requests.request import BackgroundRequest, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.slot import Slot
from core.engine.changes.moves import new_work
from core.engine.engine import Engine
from core.engine.kinds.base import QUERY_CALL
from core.engine.kinds.test_call import new_test_call
from core.exchange.session_copy import as_new_session
from core.exchange.session_export import from_json, read_body, to_json
from core.gateway.embedding_records import EMBEDDING_VERSION
from core.gateway.embedding_service import EmbeddingPlan, EmbeddingService
from core.gateway.model_gateway import ModelGateway
from core.providers.embedding.scripted import ScriptedEmbedder
from core.providers.scripted.provider import ScriptedProvider
from core.storage.changes import Changes
from db.store import PostgresStore
from storyengine_tui.screens.calls.inputs.call_rows import segments_of
from tests.engine.windows import CHOICES, chapter, end_writers, playable, window

pytestmark = pytest.mark.anyio
TEXTS = ("Kara has the key.", "Jory knows it.")


def plan() -> EmbeddingPlan:
    choice = choose_embedding(EmbeddingSettings(), accounts_of(ProfileSettings(provider="scripted")))
    assert choice is not None
    return EmbeddingPlan(choice, ScriptedEmbedder)


def service() -> EmbeddingService:
    gateway = ModelGateway(ScriptedProvider(), CHOICES, None, utc_now)
    return EmbeddingService(gateway, plan(), utc_now)


async def test_a_bank_that_is_switched_on_has_room_for_vectors_before_the_first_prompt_recalls(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To make their tables takes longer than a reply waits for the bank."""
    asked: list[None] = []
    can_recall = store.bank.can_recall_by_meaning

    async def note() -> bool:
        asked.append(None)
        return await can_recall()

    monkeypatch.setattr(store.bank, "can_recall_by_meaning", note)
    engine = Engine(store, ScriptedProvider(), CHOICES, label="test", embedding=plan())
    session = await engine.open(await playable(store))
    assert not asked
    await session.keeping.keep(is_on=True)
    assert asked
    await session.aclose()
    await engine.aclose()


async def test_its_record_is_stored_shown_and_goes_into_exports_and_out_of_them(store: PostgresStore) -> None:
    async with chapter(store) as session:
        request = new_test_call(session.id, utc_now())
        made = await service().embed_batch(TEXTS, request)
        records = made.call_records
        await session._writer.apply(
            lambda _: Changes(
                session_id=session.id,
                requests=(request,),
                artifacts=records.artifacts,
                contents=records.contents,
            )
        )
        [artifact] = [one for one in await session.reads.artifacts() if one.request_id == request.id]
        assert artifact == records.artifacts[0]
        assert (artifact.prompt_version, artifact.provider) == (EMBEDDING_VERSION, "scripted")
        stored = await store.calls.contents(session.id, [artifact.input_ref, artifact.output_ref or ""])
        assert stored[artifact.output_ref or ""].startswith("2 vectors of 256 numbers")
        [part] = segments_of(stored[artifact.input_ref])
        hashes = (await store.calls.contents(session.id, [part.hash]))[part.hash]
        assert hashes.split("\n") == [hashlib.sha256(text.encode()).hexdigest() for text in TEXTS]
        written = to_json(await read_body(store, session.id))
        assert TEXTS[0].encode() not in written
        read = from_json(written)
        assert artifact in read.artifacts
        copy = as_new_session(read, SessionId(new_uuid()))
        await store.chapters.create(copy)
        assert len(await store.calls.artifacts(copy.session_id)) == len(read.artifacts)


async def test_a_chapter_opens_after_a_crash_behind_a_call_that_was_stored_with_its_query(
    store: PostgresStore, url: str
) -> None:
    """An afterthought stores its decision, with the query for its input, before it goes on."""
    async with chapter(store) as session:
        new = new_work(RequestKind.AFTERTHOUGHT, session.id, utc_now())
        request = BackgroundRequest(state=RequestState.PROCESSING, attempts=1, slot=Slot.RED, **new)
        query = (await service().embed_query(TEXTS[0], request, QUERY_CALL)).call_records
        stored = Changes(
            session_id=session.id,
            requests=(request,),
            artifacts=query.artifacts,
            contents=query.contents,
        )
        lease = session._writer.lease
        assert lease is not None
        await store.commit(stored, lease)
        await asyncio.to_thread(end_writers, url)
        async with window(store, None, session.id, label="second window") as reopened:
            assert not reopened.is_read_only
            calls = await store.calls.artifacts(session.id, request_id=request.id)
            assert calls == list(query.artifacts), "the attempt is on record"
