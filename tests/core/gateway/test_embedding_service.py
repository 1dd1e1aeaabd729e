"""Vectors go the one way to a model: consent, price, limits and record, and no play waits for them."""

import asyncio
import hashlib
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from core.config.consent import Consent
from core.config.models.accounts import Account
from core.config.models.embedding import EmbeddingChoice
from core.domain.errors import ErrorCode
from core.domain.requests.cost import PROVIDER, YOURS, Cost
from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.exchange.integrity.session import problems_of_calls
from core.gateway import embedding_service
from core.gateway.cancellation import Cancellation
from core.gateway.embedding_records import EMBEDDING_VERSION
from core.gateway.embedding_service import Embedded, EmbeddingPlan, EmbeddingService, stored_name
from core.gateway.places import LanePlace
from core.ledger.ceilings import Ceilings
from core.ledger.sums import LedgerEntry
from core.providers.base import ProviderError
from core.providers.scripted.provider import ScriptedProvider
from tests.core.gateway.embedding_way import (
    ADDRESS,
    PRICE,
    TOKENS,
    StepEmbedder,
    Way,
    artifact_of,
    asked,
    beside_the_play,
    code_of,
)
from tests.core.gateway.test_lanes import until_still
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.rooms.simulation import active
from tests.core.values.sessions import NOW, choices

pytestmark = pytest.mark.anyio
PATIENCE = 60.0


@pytest.fixture
def consent(tmp_path: Path) -> Consent:
    return Consent((ADDRESS,), tmp_path / "consent.json")


@pytest.fixture
def embedder() -> StepEmbedder:
    return StepEmbedder()


@pytest.fixture
def way(embedder: StepEmbedder, consent: Consent) -> Way:
    return Way(embedder, consent)


# What is recorded


async def test_a_call_is_on_record_with_hashes_of_its_texts_and_its_cost(way: Way) -> None:
    texts, request = ["the key", "the well"], replace(asked(), attempts=3)
    made = await way.service.embed_batch(texts, request, 4)
    artifact = artifact_of(made)
    assert (artifact.request_id, artifact.attempt, artifact.call) == (request.id, 3, 4)
    assert (artifact.provider, artifact.model) == ("openai", "work:embed-1")
    assert (artifact.prompt_version, artifact.finish_reason) == (EMBEDDING_VERSION, "stop")
    assert (artifact.usage.input_tokens, artifact.usage.output_tokens) == (TOKENS, 0)
    assert artifact.cost == Cost(amount=Decimal("0.4"), source=YOURS, prices=PRICE)
    contents = {content.hash: content.text for content in made.call_records.contents}
    [[_, _, listing]] = json.loads(contents[artifact.input_ref])
    assert contents[listing].split("\n") == [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    assert contents[artifact.output_ref or ""].startswith("2 vectors of 2 numbers, SHA-256 ")
    assert not [*problems_of_calls([artifact], made.call_records.contents, [request])]


async def test_a_call_that_fails_is_on_record_with_its_error(way: Way, embedder: StepEmbedder) -> None:
    embedder.failures = [ProviderError(ErrorCode.LLM_RATE_LIMITED, retry_after=3.0)]
    made = await way.service.embed_batch(["the key"], asked())
    artifact = artifact_of(made)
    assert isinstance(made.error, ProviderError)
    assert (made.error.retry_after, made.error.message[:6]) == (3.0, "work: ")
    assert (artifact.error_code, artifact.output_ref) == (ErrorCode.LLM_RATE_LIMITED, None)
    assert made.vectors == ()


async def test_a_bug_ends_the_call_and_nothing_else(way: Way, embedder: StepEmbedder) -> None:
    embedder.failures = [RuntimeError("a bug")]
    assert code_of(await way.service.embed_batch(["the key"], asked())) is ErrorCode.LLM_ERROR
    assert (await way.service.embed_batch(["the key"], asked())).vectors == ((7.0, 0.0),)


# Consent and money


async def test_nothing_is_sent_or_started_without_consent(embedder: StepEmbedder) -> None:
    way = Way(embedder, None)
    query = await way.service.embed_query("the key", asked())
    batch = await way.service.embed_batch(["the key"], asked())
    assert code_of(query) is code_of(batch) is ErrorCode.CONSENT_REQUIRED
    assert (query.vector, query.call_records.artifacts) == (None, ())
    assert artifact_of(batch).cost is None
    assert (embedder.starts, embedder.asked) == (0, [])


async def test_consent_that_is_given_counts_at_once(embedder: StepEmbedder, tmp_path: Path) -> None:
    given = Consent((), tmp_path / "consent.json")
    way = Way(embedder, given)
    assert (await way.service.embed_query("the key", asked())).vector is None
    given.grant(ADDRESS)
    assert (await way.service.embed_query("the key", asked())).vector is not None


async def test_the_rest_of_a_batch_is_not_sent_once_consent_is_withdrawn(
    embedder: StepEmbedder, tmp_path: Path
) -> None:
    given = Consent((), tmp_path / "withdrawn.json")
    given.grant(ADDRESS)
    way = Way(embedder, given, batch=1)
    embedder.may_answer.clear()
    batch = asyncio.create_task(way.service.embed_batch(["the key", "the door"], asked()))
    await until_still()
    given.revoke(ADDRESS)
    embedder.may_answer.set()
    made = await batch
    assert embedder.asked == [["the key"]]
    assert code_of(made) is ErrorCode.CONSENT_REQUIRED
    assert made.vectors == ((7.0, 0.0),), "what was made is kept"
    assert LedgerEntry("A chapter", 1, artifact_of(made), None, "Mira").amount == Decimal("0.4")


async def test_no_call_is_made_that_could_pass_a_ceiling(embedder: StepEmbedder, consent: Consent) -> None:
    way = Way(embedder, consent, ceilings=Ceilings(chapter=Decimal("0.01")))
    few = await way.service.embed_batch(["the key"], asked())
    assert few.error is None
    many = await way.service.embed_batch(["word " * 20_000], asked())
    assert code_of(many) is ErrorCode.CEILING_REACHED
    assert len(embedder.asked) == 1


# Queries


async def test_a_query_is_asked_once_for_the_same_text(way: Way, embedder: StepEmbedder) -> None:
    first = await way.service.embed_query("Where is  the key?", asked())
    again = await way.service.embed_query("Where is the key?", asked())
    assert first.vector == again.vector == (17.0, 0.0)
    assert len(first.call_records.artifacts) == 1
    assert again.call_records.artifacts == ()
    assert embedder.asked == [["Where is the key?"]]


async def test_only_so_many_queries_are_kept(
    way: Way, embedder: StepEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_service, "_KEPT_QUERIES", 2)
    for text in ("one", "two", "one", "three", "one", "two"):
        await way.service.embed_query(text, asked())
    assert embedder.asked == [["one"], ["two"], ["three"], ["two"]]


async def test_a_service_that_does_not_answer_in_time_is_not_asked_again_for_a_minute(
    way: Way, embedder: StepEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await way.service.embed_query("ready", asked())
    monkeypatch.setattr(embedding_service, "QUERY_SECONDS", 0.01)
    embedder.may_answer.clear()
    made = await way.service.embed_query("the key", asked())
    assert (made.vector, artifact_of(made).error_code) == (None, ErrorCode.LLM_TIMEOUT)
    embedder.may_answer.set()
    resting = await way.service.embed_query("the key", asked())
    assert (resting.vector, len(embedder.asked)) == (None, 2)
    assert (await way.service.embed_query("ready", asked())).vector is not None  # it is kept
    assert (await way.service.embed_batch(["the key"], asked())).error is None
    monkeypatch.setattr(way.service, "_rests_until", 0.0)
    assert (await way.service.embed_query("the key", asked())).vector is not None


async def test_a_start_that_takes_longer_goes_on_for_the_next_query(
    way: Way, embedder: StepEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_service, "QUERY_SECONDS", 0.01)
    embedder.may_start.clear()
    for _ in range(3):
        made = await way.service.embed_query("the key", asked())
        assert (code_of(made), made.call_records.artifacts) == (ErrorCode.LLM_TIMEOUT, ())
    monkeypatch.setattr(embedding_service, "QUERY_SECONDS", PATIENCE)
    embedder.may_start.set()
    assert (await way.service.embed_query("the key", asked())).vector is not None
    assert embedder.starts == 1


async def test_a_start_that_fails_is_tried_again_later(
    way: Way, embedder: StepEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise ProviderError(ErrorCode.LLM_REQUEST_ERROR, "The weights are not here.")

    with monkeypatch.context() as patch:
        patch.setattr(embedder, "start", fail)
        assert code_of(await way.service.embed_query("the key", asked())) is ErrorCode.LLM_REQUEST_ERROR
        assert code_of(await way.service.embed_query("the key", asked())) is ErrorCode.LLM_SERVER_ERROR
    monkeypatch.setattr(way.service, "_rests_until", 0.0)
    assert (await way.service.embed_query("the key", asked())).vector is not None


async def test_the_bill_of_a_service_counts_before_the_prices(
    embedder: StepEmbedder, consent: Consent
) -> None:
    way = Way(embedder, consent, batch=1)
    embedder.bill = Decimal("0.0123")
    made = await way.service.embed_batch(["the key", "the well"], beside_the_play())
    assert artifact_of(made).cost == Cost(amount=Decimal("0.0246"), source=PROVIDER, prices=PRICE)


@pytest.mark.parametrize("code", [ErrorCode.LLM_TIMEOUT, ErrorCode.LLM_RATE_LIMITED])
async def test_texts_that_a_service_may_have_read_before_a_failure_make_the_cost_unknown(
    code: ErrorCode, embedder: StepEmbedder, consent: Consent
) -> None:
    way = Way(embedder, consent, batch=1)
    embedder.only = "two"
    embedder.may_answer.clear()
    batch = asyncio.create_task(way.service.embed_batch(["one", "two", "three"], beside_the_play()))
    await until_still()
    embedder.failures.append(ProviderError(code))
    embedder.may_answer.set()
    artifact = artifact_of(await batch)
    known = 2 * TOKENS if code is ErrorCode.LLM_RATE_LIMITED else None
    assert artifact.usage.input_tokens == known
    assert artifact.cost is not None
    assert artifact.cost.amount == (Decimal("0.8") if known else None)


# Beside the play


async def test_a_batch_goes_out_in_short_calls_of_few_texts(consent: Consent) -> None:
    embedder = StepEmbedder(None, most_characters=10)
    way = Way(embedder, consent, batch=3)
    texts = ["four", "more", "a text that is long", "a", "b", "c", "d"]
    made = await way.service.embed_batch(texts, beside_the_play())
    assert embedder.asked == [["four", "more"], ["a text that is long"], ["a", "b", "c"], ["d"]]
    assert [vector[0] for vector in made.vectors] == [float(len(text)) for text in texts]
    assert artifact_of(made).usage.input_tokens == 4 * TOKENS


async def test_a_batch_makes_room_for_the_play_and_keeps_what_it_made(consent: Consent) -> None:
    embedder = StepEmbedder(None, most_characters=5)
    way = Way(embedder, consent)
    embedder.may_answer.clear()
    embedder.only = "two"
    cancellation = Cancellation()
    batch = asyncio.create_task(
        way.service.embed_batch(["one", "two", "three"], beside_the_play(), 1, cancellation)
    )
    await until_still()
    async with way.lane.turn(LanePlace(0)):  # a call of the play
        made = await batch
        assert cancellation.is_put_back
        assert (code_of(made), made.vectors) == (ErrorCode.LLM_CANCELLED, ((3.0, 0.0),))
        assert artifact_of(made).output_ref is None
        waiting = asyncio.create_task(way.service.embed_batch(["two"], beside_the_play()))
        await until_still()
        assert not waiting.done()
    embedder.may_answer.set()
    assert (await waiting).vectors == ((3.0, 0.0),)


async def test_a_batch_that_is_put_back_before_it_began_is_not_on_record(consent: Consent) -> None:
    way = Way(StepEmbedder(None), consent)
    cancellation = Cancellation()
    async with way.lane.turn(LanePlace(0)):
        batch = asyncio.create_task(way.service.embed_batch(["one"], beside_the_play(), 1, cancellation))
        await until_still()
        cancellation.request(is_put_back=True)
        made = await batch
    assert (code_of(made), made.call_records.artifacts) == (ErrorCode.LLM_CANCELLED, ())


async def test_a_query_to_this_machine_comes_in_between_the_texts_of_a_batch(consent: Consent) -> None:
    embedder = StepEmbedder(None, most_characters=1)
    way = Way(embedder, consent)
    embedder.may_answer.clear()
    batch = asyncio.create_task(way.service.embed_batch(["one", "two"], beside_the_play()))
    await until_still()
    query = asyncio.create_task(way.service.embed_query("the key", asked()))
    await until_still()
    assert embedder.asked == [["one"], ["the key"]]
    embedder.may_answer.set()
    assert (await query).vector is not None
    assert len((await batch).vectors) == 2


async def test_an_account_that_takes_one_call_is_asked_one_at_a_time_and_the_play_first(
    embedder: StepEmbedder, consent: Consent
) -> None:
    way = Way(embedder, consent, concurrency=1)
    embedder.may_answer.clear()
    batch = asyncio.create_task(way.service.embed_batch(["one"], beside_the_play()))
    await until_still()
    query = asyncio.create_task(way.service.embed_query("the key", asked()))
    await until_still()
    assert (await batch).error is not None
    embedder.may_answer.set()
    assert (await query).vector is not None
    assert embedder.asked == [["one"], ["the key"]]


# Ready


async def test_a_search_can_wait_for_the_model_on_this_machine_to_start(
    consent: Consent,
) -> None:
    embedder = StepEmbedder(None)
    way = Way(embedder, consent)
    embedder.may_start.clear()
    assert not await way.service.ready(0.01)
    waiting = asyncio.create_task(way.service.ready(PATIENCE))
    await until_still()
    embedder.may_start.set()
    assert await waiting
    assert (embedder.starts, embedder.asked) == (1, [])


async def test_a_service_elsewhere_is_not_started_by_waiting_for_it(way: Way, embedder: StepEmbedder) -> None:
    assert not await way.service.ready(PATIENCE)
    assert embedder.starts == 0


# Clauses


async def test_a_question_has_the_mean_of_its_clauses_and_a_vector_for_each_of_its_spans(
    way: Way, embedder: StepEmbedder
) -> None:
    text = "What did the baker swear, there where the ships dock?"
    made = await way.service.embed_query(text, asked())
    clauses = ["What did the baker swear", "there where the ships dock"]
    spans = ["What did the baker swear, there where", "baker swear, there where the ships dock?"]
    assert embedder.asked == [[*clauses, *spans]]
    assert made.vector == (1.0, 0.0)
    assert len(made.spans) == len([*spans, *clauses])
    assert artifact_of(made).usage.input_tokens == TOKENS
    assert (await way.service.embed_query(text, asked())).vectors == made.vectors
    assert len(embedder.asked) == 1


# Not used


async def test_without_a_plan_there_are_no_vectors(way: Way) -> None:
    off = EmbeddingService(way.gateway, None, lambda: NOW)
    assert (off.model, off.batch) == (None, 0)
    assert not await off.is_available()
    assert await off.embed_query("the key", asked()) == Embedded()
    assert await off.embed_batch(["the key"], asked()) == Embedded()
    await off.aclose()


async def test_it_says_what_makes_vectors_and_releases_it(way: Way, embedder: StepEmbedder) -> None:
    name = stored_name(embedder)
    assert name.startswith("embed-1")
    assert (way.service.model, way.service.batch) == (name, 16)
    assert await way.service.is_available()
    embedder.may_start.clear()
    query = asyncio.create_task(way.service.embed_query("the key", asked()))
    await until_still()
    query.cancel()
    with pytest.raises(asyncio.CancelledError):
        await query
    await way.service.aclose()
    assert embedder.is_closed


async def test_a_chapter_that_wants_no_vectors_makes_nothing_that_could() -> None:
    def make() -> StepEmbedder:
        raise AssertionError("nothing is made before the first text")

    chosen = EmbeddingChoice(account=Account(provider="scripted", keyring_name="x"), batch=16, is_set=False)
    store = FaultyStore(active().snapshot)
    engine = Engine(store, ScriptedProvider(), choices(), label="here", embedding=EmbeddingPlan(chosen, make))
    session = await engine.open(store.snapshot.session.id)
    done = await session.wait(await session.submit_prompt(Slot.RED, "Who is there?"))
    assert done.state is RequestState.DONE
    assert [one.call for one in await session.reads.artifacts()] == [1]
    await session.aclose()
    await engine.aclose()
