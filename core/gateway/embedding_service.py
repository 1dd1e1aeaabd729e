"""Vectors of texts by the one way to a model: consent, price and limits first, and each call on record.

A query, which an input waits for, is answered within a second or not at all. A batch is work beside the
play: it runs while the account has nothing else to do, stops for a call of the play, and keeps what it made.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from core.config.models.embedding import EmbeddingChoice
from core.domain.bank.recall import Vector, signs_of
from core.domain.clock import Clock
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import Request
from core.domain.requests.retry_policy import NEEDS_THE_GM
from core.gateway.call_records import CallRecords
from core.gateway.cancellation import Cancellation
from core.gateway.cashier import PlannedCall
from core.gateway.embedding_records import EmbeddingCall, records_of
from core.gateway.model_gateway import ModelGateway, error_of
from core.gateway.places import LanePlace
from core.gateway.rates import MinuteLimit
from core.providers.base import ProviderError
from core.providers.embedding.base import Embedder, shortened, texts_of_query

QUERY_SECONDS: Final = 0.7
"""Seconds that an input waits for the vector of its query, of the one that the memory bank may take.
Without a vector, search goes by words."""
CALL_SECONDS: Final = 120.0
"""Time-out of one call of a batch, in seconds."""
REST_SECONDS: Final = 60.0
"""After a query that failed, no other is tried for so long."""
CALLS_PER_MINUTE: Final = 240
"""To a service; it stops a fault that would call without end."""
_KEPT_QUERIES: Final = 24


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """The embedding model that was chosen, and its factory, which is called on first use."""

    choice: EmbeddingChoice
    make: Callable[[], Embedder]


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of the first texts, of all if nothing went wrong, and the provenance to be stored."""

    vectors: tuple[Vector, ...] = ()
    error: StoryEngineError | None = None
    call_records: CallRecords = field(default_factory=CallRecords)

    @property
    def vector(self) -> Vector | None:
        """The vector of a query; None without one, and then search goes by words."""
        return self.vectors[0] if self.vectors else None

    @property
    def spans(self) -> tuple[str, ...]:
        """The signs of the vectors of the spans of a query."""
        return tuple(map(signs_of, self.vectors[1:]))


class EmbeddingService:
    """Makes vectors with the chosen model, loaded on first use; without a `plan` it makes none."""

    def __init__(self, gateway: ModelGateway, plan: EmbeddingPlan | None, clock: Clock) -> None:
        self._gateway = gateway
        self._plan = plan
        self._clock = clock
        self._made: Embedder | None = None
        self._starting: asyncio.Task[None] | None = None
        self._limit = MinuteLimit()
        self._queries: OrderedDict[str, tuple[Vector, ...]] = OrderedDict()
        self._rests_until = 0.0

    @property
    def model(self) -> str | None:
        """The name that vectors are stored with; None where no vectors are made."""
        return None if self._plan is None else stored_name(self._embedder(self._plan))

    @property
    def stays_here(self) -> bool:
        """Whether texts do not leave this machine."""
        return self._plan is None or self._embedder(self._plan).base_url is None

    @property
    def batch(self) -> int:
        """Preferred number of texts in a batch; 0 where no vectors are made."""
        return 0 if self._plan is None else self._plan.choice.batch

    async def is_available(self) -> bool:
        """Whether vectors can be made here; a look, which starts nothing and sends nothing."""
        return self._plan is not None and await self._embedder(self._plan).is_here()

    async def ready(self, seconds: float) -> bool:
        """Wait until the embedding model of this machine has started; return whether it did in time."""
        if self._plan is None or not self.stays_here or not await self.is_available():
            return False
        done, _ = await asyncio.wait({self._started_by(self._embedder(self._plan))}, timeout=seconds)
        return bool(done)

    async def embed_query(self, text: str, request: Request, number: int = 1) -> Embedded:
        """Return the vector of `text` and those of its spans as call `number` of the request's attempt.

        Those of the last texts are kept.

        Never raises what a service did, and takes no longer than QUERY_SECONDS.
        """
        if self._plan is None:
            return Embedded()
        text = shortened(text)
        if text in self._queries:
            self._queries.move_to_end(text)
            return Embedded(self._queries[text])
        now = asyncio.get_running_loop().time()
        if now < self._rests_until:
            return Embedded(error=ProviderError(ErrorCode.LLM_SERVER_ERROR))
        texts = texts_of_query(text)
        call = self._call(self._plan, texts.every, request, number, is_query=True)
        made = await self._embed(call, Cancellation())
        is_whole = len(made.vectors) == len(texts.every)
        made = replace(made, vectors=texts.meaning(made.vectors) if is_whole else ())
        if made.vectors:
            self._keep(text, made.vectors)
        elif self._has_started and made.error and made.error.code not in NEEDS_THE_GM:
            self._rests_until = now + REST_SECONDS
        return made

    async def embed_batch(
        self,
        texts: Sequence[str],
        request: Request,
        number: int = 1,
        cancellation: Cancellation | None = None,
    ) -> Embedded:
        """Return the vectors of `texts` as call `number` of the request's attempt.

        Never raises what a service did. Stopped, it returns what was made: the vectors of the first texts.
        """
        if self._plan is None or not texts:
            return Embedded()
        call = self._call(self._plan, tuple(texts), request, number, is_query=False)
        return await self._embed(call, cancellation or Cancellation())

    async def aclose(self) -> None:
        """Release what makes vectors."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        if self._made is not None:
            await self._made.aclose()

    def _embedder(self, plan: EmbeddingPlan) -> Embedder:
        if self._made is None:
            self._made = plan.make()
        return self._made

    def _call(
        self, plan: EmbeddingPlan, texts: tuple[str, ...], request: Request, number: int, *, is_query: bool
    ) -> EmbeddingCall:
        return EmbeddingCall(
            choice=plan.choice,
            embedder=self._embedder(plan),
            texts=texts,
            request=request,
            number=number,
            is_query=is_query,
        )

    async def _embed(self, call: EmbeddingCall, cancellation: Cancellation) -> Embedded:
        progress, cashier = call.progress, self._gateway.cashier
        began = asyncio.get_running_loop().time()
        task = asyncio.create_task(self._consume(call, self._turn(call, cancellation)))
        error = await error_of(task, call.account, cancellation, partial(cashier.forget, call.id))
        was_asked = (
            progress.is_sent if call.is_query else progress.is_with_provider or not cancellation.is_put_back
        )
        if error is not None and not was_asked:
            cashier.forget(call.id)
            return Embedded(error=error)
        total = round((asyncio.get_running_loop().time() - began) * 1000)
        records = await records_of(call, error, total, cashier, self._clock())
        return Embedded(tuple(progress.vectors), error, records)

    async def _consume(self, call: EmbeddingCall, turn: AbstractAsyncContextManager[None]) -> None:
        embedder, progress = call.embedder, call.progress
        async with asyncio.timeout(QUERY_SECONDS if call.is_query else None):
            self._gateway.require_consent(embedder.base_url)
            await self._start(embedder)
            await self._gateway.cashier.admit(call.planned, _nothing_follows, call.request, call.id)
            progress.is_sent = True
            if call.is_to_service:
                is_background = call.request.spec.is_background
                await self._limit.wait(CALLS_PER_MINUTE, is_background=is_background)
            async with turn:
                for texts in _pieces(call.texts, call.choice.batch, embedder.most_characters):
                    self._gateway.require_consent(embedder.base_url)  # may be withdrawn meanwhile
                    progress.is_with_provider = True
                    progress.add(await embedder.embed(texts, CALL_SECONDS))

    def _turn(self, call: EmbeddingCall, cancellation: Cancellation) -> AbstractAsyncContextManager[None]:
        """Return the turn of a call.

        A query to the bundled model takes none: it comes in between the texts of a batch.
        """
        if call.is_query and not call.is_to_service:
            return nullcontext()
        yields = partial(cancellation.request, is_put_back=True) if call.request.spec.is_background else None
        lane = self._gateway.lane_of(call.account)
        return lane.turn(LanePlace(call.request.priority, yields), call.request)

    @property
    def _has_started(self) -> bool:
        """Whether the start is over, well or not; a query that only waited for it proves nothing."""
        return self._starting is not None and self._starting.done()

    async def _start(self, embedder: Embedder) -> None:
        """Wait until the embedder is ready. When this is cancelled, the start goes on."""
        await asyncio.shield(self._started_by(embedder))

    def _started_by(self, embedder: Embedder) -> asyncio.Task[None]:
        """Return the start of the embedder, which begins where none is under way and none went well."""
        starting = self._starting
        if starting is None or (starting.done() and (starting.cancelled() or starting.exception())):
            starting = asyncio.create_task(embedder.start(), name="start embedding")
            starting.add_done_callback(_look_at)
            self._starting = starting
        return starting

    def _keep(self, text: str, vectors: tuple[Vector, ...]) -> None:
        self._queries[text] = vectors
        if len(self._queries) > _KEPT_QUERIES:
            self._queries.popitem(last=False)


def stored_name(embedder: Embedder) -> str:
    """Return the name that vectors of items by an embedder are stored with.

    It changes with the text that is embedded of an item: vectors made of another text are made again.
    """
    return f"{embedder.model}, text, name and its parts"


def _look_at(done: asyncio.Task[None]) -> None:
    """Take note of how a task ended, for which no call may be waiting any longer."""
    if not done.cancelled():
        done.exception()


async def _nothing_follows() -> Sequence[PlannedCall]:
    return ()


def _pieces(texts: Sequence[str], most: int, most_characters: int | None) -> Iterator[list[str]]:
    """Yield the texts in groups of at most `most`, and together not longer than that; a long one is alone."""
    group: list[str] = []
    for text in texts:
        length = sum(map(len, group)) + len(text)
        if group and (len(group) == most or (most_characters is not None and length > most_characters)):
            yield group
            group = []
        group.append(text)
    yield group
