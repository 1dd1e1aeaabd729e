"""Makes what handlers of requests need: the builder, and calls that are numbered and announced (design 6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from core.agents.context_builder import Context, ContextBuilder
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.requests.request import ReplyRequest, Request
from core.engine.kinds.base import Job, Save, input_of
from core.engine.recall.asking import Meaning
from core.engine.recall.reading import BankReader
from core.engine.sync.notifications import CallStarted, Notification, StreamRestarted, TextArrived
from core.gateway.call_records import CallRecords, records_without_call
from core.gateway.cancellation import Cancellation
from core.gateway.cashier import Following, nothing_follows
from core.gateway.embedding_service import Embedded, EmbeddingService
from core.gateway.model_gateway import CallResult, ModelGateway
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot

Publish = Callable[[Notification], None]
QUERY_CALL: Final = 0
"""Number of the call for the vector of an input's query: the calls for an answer begin with 1."""


@dataclass(eq=False)
class JobFactory:
    """Makes the jobs of one session."""

    _store: SessionStore
    _gateway: ModelGateway
    _builder: ContextBuilder
    _save: Save
    _bank: BankReader
    _embeddings: EmbeddingService

    async def job(
        self, snapshot: Snapshot, request: Request, cancellation: Cancellation, publish: Publish
    ) -> Job:
        """Return the job of one attempt of `request`; what its calls do is published."""
        profiles = snapshot.tab1.profiles
        await self._gateway.look_up_models(profiles)
        choices = self._gateway.choices.for_cast(profiles)
        calls = _Calls(self._gateway, choices, self._embeddings, request, cancellation, publish)
        builder = self._builder.for_chapter(snapshot.prompt_blocks, profiles)
        return Job(snapshot, builder, calls, self._store, self._save, self._bank)

    @property
    def makes_vectors(self) -> bool:
        """Whether items of the memory bank get vectors."""
        return self._embeddings.model is not None

    async def needs_room(self, snapshot: Snapshot, request: ReplyRequest) -> bool:
        """Whether a prompt fits only if the text that is not in memory yet is shortened."""
        try:
            await self._gateway.look_up_models(snapshot.tab1.profiles)
            builder = self._builder.for_chapter(snapshot.prompt_blocks, snapshot.tab1.profiles)
            knowledge = snapshot.known_to(request.slot, await self._bank.read(snapshot, request.slot))
            context = await input_of(builder, knowledge, request.text, is_new=not request.follows)
        except StoryEngineError:
            return False  # No summary makes enough room; the prompt's own attempt reports it.
        return context.is_shortened


@dataclass(eq=False)
class _Calls:
    """Makes the calls of one attempt, numbered from 1, and publishes them."""

    _gateway: ModelGateway
    choices: ModelAssignments
    """The configuration of every agent's calls."""
    _embeddings: EmbeddingService
    _request: Request
    _cancellation: Cancellation
    _publish: Publish
    call_records: CallRecords = field(default_factory=CallRecords, init=False)
    """The provenance of all calls so far."""
    _count = 0
    query: CallRecords = field(default_factory=CallRecords, init=False)
    """Provenance of the call for the query, which is stored with that of the next call."""

    def config_of(self, context: Context) -> ModelConfig:
        """Return the configuration of the model for `context`."""
        return self.choices.of(context.role, context.agent_id)

    async def make(
        self, context: Context, choice: ModelConfig | None = None, following: Following = nothing_follows
    ) -> CallResult:
        """Make the next call of this attempt."""
        self._count += 1
        choice = choice or self.config_of(context)
        if self._count > 1 and context.role is not AgentRole.NARRATIVE:
            self._publish(StreamRestarted(self._request.id))
        self._publish(
            CallStarted(
                self._request,
                context.agent_id,
                self._gateway.model_label(choice),
                self._count,
                context.left_out,
                self._gateway.is_local(choice),
            )
        )
        result = await self._gateway.call(
            context,
            choice,
            self._request,
            self._count,
            self._cancellation,
            lambda text: self._publish(TextArrived(self._request.id, text)),
            following,
        )
        result = replace(result, call_records=self.query + result.call_records)
        self.query = CallRecords()
        self.call_records += result.call_records
        return result

    async def meaning_of(self, text: str) -> Meaning | None:
        """Return the vector of a text that an input asks about; None where none can be had at once."""
        model = self._embeddings.model
        if model is None:
            return None
        made = await self._embeddings.embed_query(text, self._request, QUERY_CALL)
        self.query += made.call_records
        return None if made.vector is None else Meaning(made.vector, model, made.spans)

    def uncalled(self, error: StoryEngineError) -> CallRecords:
        """Return the provenance of an attempt that ended after its query, before its first call."""
        return records_without_call(self._request, error, self.query.artifacts[-1].created_at, self.query)

    @property
    def embedding_model(self) -> str | None:
        """The name that vectors are stored with; None where none are made."""
        return self._embeddings.model

    @property
    def embedding_batch(self) -> int:
        """Preferred number of texts in one call for vectors."""
        return self._embeddings.batch

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Make the next call of this attempt: for vectors of texts."""
        self._count += 1
        return await self._embeddings.embed_batch(texts, self._request, self._count, self._cancellation)
