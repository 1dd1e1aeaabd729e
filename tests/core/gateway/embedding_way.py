"""A gateway with something that makes vectors, as a test wants it."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal

from core.config.consent import Consent
from core.config.models.accounts import LOCAL, Account
from core.config.models.embedding import EmbeddingChoice
from core.domain.errors import ErrorCode
from core.domain.ids import RequestId, new_uuid
from core.domain.requests.cost import UnitPrices
from core.domain.requests.request import Artifact, BackgroundRequest, Request, RequestState, Usage
from core.domain.requests.request_kinds import KIND_SPECS, RequestKind
from core.engine.kinds.test_call import new_test_call
from core.gateway.cashier import Cashier
from core.gateway.embedding_service import Embedded, EmbeddingPlan, EmbeddingService
from core.gateway.lanes import Lane
from core.gateway.model_gateway import ModelGateway
from core.ledger.ceilings import CeilingGuard, Ceilings
from core.ledger.prices import PriceBook
from core.providers.embedding.base import Embedding
from tests.core.gateway.test_lanes import Busy
from tests.core.values.sessions import NOW, SESSION_ID, choices
from tests.store.in_memory.memory_store import MemoryStore

ADDRESS = "https://vectors.example/v1"
PRICE = UnitPrices(input=Decimal(1), output=Decimal(2))
TOKENS = 400_000


class StepEmbedder:
    """Makes vectors of the texts' lengths; waits where a test holds it, and fails where it says so."""

    model = "embed-1"

    def __init__(self, base_url: str | None = ADDRESS, most_characters: int | None = None) -> None:
        self.name = "openai" if base_url else "local"
        self.base_url = base_url
        self.most_characters = most_characters
        self.asked: list[list[str]] = []
        self.starts = 0
        self.is_closed = False
        self.failures: list[Exception] = []
        self.bill: Decimal | None = None
        self.only = ""
        """The text that is waited with, where it is not any."""
        self.may_start, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_start.set()
        self.may_answer.set()

    async def is_here(self) -> bool:
        return True

    async def start(self) -> None:
        self.starts += 1
        await self.may_start.wait()

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedding:
        self.asked.append([*texts])
        if self.failures:
            raise self.failures.pop(0)
        if self.only in ("", *texts):
            await self.may_answer.wait()
        vectors = tuple((float(len(text)), 0.0) for text in texts)
        usage = Usage(input_tokens=TOKENS, output_tokens=0)
        return Embedding(vectors=vectors, model=self.model, usage=usage, billed=self.bill)

    async def aclose(self) -> None:
        self.is_closed = True


def account(embedder: StepEmbedder) -> Account:
    if embedder.base_url is None:
        return Account(name=LOCAL, provider="local", keyring_name=LOCAL)
    return Account(name="work", provider="openai", base_url=ADDRESS, keyring_name="work")


class Way:
    """A gateway with the lanes of a test, and the service on it."""

    def __init__(
        self,
        embedder: StepEmbedder,
        consent: Consent | None,
        *,
        ceilings: Ceilings | None = None,
        concurrency: int | None = None,
        batch: int = 16,
    ) -> None:
        chosen = EmbeddingChoice(
            account=account(embedder),
            model="embed-1" if embedder.base_url else "",
            batch=batch,
            is_set=True,
        )
        self.lane = Lane(Busy, concurrency=concurrency)
        if embedder.base_url is None:
            local = Busy()
            local.name = LOCAL
            self.lane = Lane.to(local)
        guard = CeilingGuard(ceilings, MemoryStore().calls.spent, lambda: NOW) if ceilings else None
        self.gateway = ModelGateway(
            Busy(),
            choices(),
            consent,
            lambda: NOW,
            lanes={chosen.account.name: self.lane},
            cashier=Cashier(PriceBook({"work:embed-1": PRICE}), guard, lambda: NOW),
        )
        self.service = EmbeddingService(self.gateway, EmbeddingPlan(chosen, lambda: embedder), lambda: NOW)


def asked() -> Request:
    return new_test_call(SESSION_ID, NOW)


def beside_the_play() -> BackgroundRequest:
    return BackgroundRequest(
        kind=RequestKind.CEREMONY,
        id=RequestId(new_uuid()),
        session_id=SESSION_ID,
        state=RequestState.PROCESSING,
        priority=KIND_SPECS[RequestKind.CEREMONY].priority,
        attempts=1,
        created_at=NOW,
        updated_at=NOW,
    )


def artifact_of(made: Embedded) -> Artifact:
    [artifact] = made.call_records.artifacts
    return artifact


def code_of(made: Embedded) -> ErrorCode | None:
    return None if made.error is None else made.error.code
