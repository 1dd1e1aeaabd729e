"""Makes what handlers of requests need: the builder, and calls that are numbered and announced (design 6)."""

from collections.abc import Callable
from dataclasses import dataclass

from core.agents.context_builder import Context, ContextBuilder
from core.config.models.model_config import ModelConfig
from core.domain.agent_role import AgentRole
from core.domain.errors import StoryEngineError
from core.domain.requests.request import ReplyRequest, Request
from core.engine.kinds.base import Calls, Job, Save, input_of
from core.engine.kinds.on_record import AnswersOnRecord
from core.engine.recall.reading import BankReader
from core.engine.sync.notifications import CallStarted, Notification, StreamRestarted, TextArrived
from core.gateway.cancellation import Cancellation
from core.gateway.embedding_service import EmbeddingService
from core.gateway.model_gateway import ModelGateway
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot

Publish = Callable[[Notification], None]


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
        on_record = AnswersOnRecord(self._store.calls, request)
        parts = (self._gateway, choices, self._embeddings, request, cancellation, on_record, self._save)
        calls = _Calls(*parts, publish)
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
class _Calls(Calls):
    """Publishes the calls."""

    _publish: Publish

    def _announce(self, context: Context, choice: ModelConfig) -> None:
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

    def _pass_on(self, text: str) -> None:
        self._publish(TextArrived(self._request.id, text))
