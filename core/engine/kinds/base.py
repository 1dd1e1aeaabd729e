"""The interface of request handlers: carry out a request, and apply its outcome to the session."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, Generic, TypeVar

from core.agents.context_builder import Context, ContextBuilder
from core.config.models.assignments import ModelAssignments
from core.config.models.model_config import ModelConfig
from core.context.visibility import CharacterKnowledge
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import Artifact, BackgroundRequest, Request, RequestBase
from core.domain.requests.retry_policy import NEEDS_THE_GM
from core.domain.slot import Slot
from core.engine.changes.moves import provenance
from core.engine.kinds.on_record import AnswersOnRecord
from core.engine.kinds.outcome import Failed
from core.engine.recall.asking import Meaning, RecallRequest
from core.engine.recall.reading import BankReader
from core.gateway.call_records import CallRecords, failure_of, records_without_call
from core.gateway.cancellation import Cancellation
from core.gateway.cashier import Following, nothing_follows
from core.gateway.embedding_service import Embedded, EmbeddingService
from core.gateway.model_call import ModelCall
from core.gateway.model_gateway import CallResult, ModelGateway
from core.storage.changes import Changes
from core.storage.session_store import SessionStore
from core.storage.snapshot import Snapshot

R = TypeVar("R", bound=RequestBase)
M = TypeVar("M")

Save = Callable[[Callable[[Snapshot], Changes]], Awaitable[Changes]]
MANY_BLOCKS: Final = 60
"""Blocks of memory from which on an input is made in a thread."""
QUERY_CALL: Final = 0
"""Number of the call for the vector of an input's query: the calls for an answer begin with 1."""


@dataclass(eq=False)
class Calls(ABC):
    """Makes the calls of one attempt, numbered from 1; a subclass announces them."""

    _gateway: ModelGateway
    choices: ModelAssignments
    """The configuration of every agent's calls."""
    _embeddings: EmbeddingService
    _request: Request
    _cancellation: Cancellation
    on_record: AnswersOnRecord
    """The answers to earlier attempts of the request."""
    _save: Save
    call_records: CallRecords = field(default_factory=CallRecords, init=False)
    """The provenance of all calls so far."""
    _count = 0
    query: CallRecords = field(default_factory=CallRecords, init=False)
    """Provenance of the call for the query, which is stored with that of the next call."""

    @abstractmethod
    def _announce(self, context: Context, choice: ModelConfig) -> None:
        """Tell that the next call begins."""

    @abstractmethod
    def _pass_on(self, text: str) -> None:
        """Tell the next piece of its answer."""

    def config_of(self, context: Context) -> ModelConfig:
        """Return the configuration of the model for `context`."""
        return self.choices.of(context.role, context.agent_id)

    async def make(
        self, context: Context, choice: ModelConfig | None = None, following: Following = nothing_follows
    ) -> CallResult:
        """Make the next call of this attempt, with `choice` or else the result of `config_of`.

        `following` are calls of requests that come after this one, which a ceiling must have room for.
        """
        self._count += 1
        choice = choice or self.config_of(context)
        self._announce(context, choice)
        call = ModelCall(context, choice, self._request, self._count, self._pass_on)
        result = await self._gateway.call(call, self._cancellation, following)
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

    async def keep(self, call_records: CallRecords) -> None:
        """Store the provenance of calls before the outcome, if any was made: a crash does not lose them."""
        if call_records.artifacts:
            await self._save(lambda _: provenance(self._request, call_records))

    def used_beside(self, call_records: CallRecords) -> tuple[Artifact, ...]:
        """Return the calls on record whose answers were used, of earlier attempts or stored at once."""
        new = {one.id for one in call_records.artifacts}
        stored = (one for one in self.call_records.artifacts if one.error_code is None)
        return (*self.on_record.used, *(one for one in stored if one.call and one.id not in new))

    @property
    def last_number(self) -> int:
        """The number of the last call of this attempt, also of one for vectors; 0 before the first."""
        return self._count

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
        """Make the next call of this attempt: for vectors of texts. Its provenance is not kept here."""
        self._count += 1
        return await self._embeddings.embed_batch(texts, self._request, self._count, self._cancellation)


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a handler needs to carry out a request."""

    snapshot: Snapshot
    builder: ContextBuilder
    calls: Calls
    store: SessionStore
    save: Save
    """Stores changes before the outcome, waiting for an unreachable store."""
    bank: BankReader

    async def known_to(self, slot: Slot, text: str, snapshot: Snapshot | None = None) -> CharacterKnowledge:
        """Return what a character may know for its next input, of the job's snapshot or of another.

        `text` is the prompt that the input is about.
        """
        snapshot = self.snapshot if snapshot is None else snapshot
        recent_from = self.builder.recent_from(snapshot.session)
        asked = RecallRequest(text=text, recent_from=recent_from, embed=self.calls.meaning_of)
        return snapshot.known_to(slot, await self.bank.read(snapshot, slot, asked))


def called_with(
    job: Job, role: AgentRole, slot: Slot | None, model: str
) -> tuple[ModelConfig, ContextBuilder]:
    """Return how an agent is called this once, with `model` if one is given, and what builds its input.

    A model of another account has an input of its own style and size. Raises StoryEngineError for an account
    that cannot answer.
    """
    choice = job.calls.choices.with_model(role, slot, model)
    if choice.account == job.calls.choices.of(role, slot or 0).account:
        return choice, job.builder
    builder = job.builder.with_choice(role, slot, choice)
    return choice, builder.with_prompt_blocks(job.snapshot.prompt_blocks)


async def input_of(
    builder: ContextBuilder,
    knowledge: CharacterKnowledge,
    text: str,
    *,
    needs_words: bool = False,
    is_new: bool = True,
) -> Context:
    """Return the input of a character, as `ContextBuilder.character`.

    In a thread if lore is looked for or there is much memory, which takes a tenth of a second.
    """
    make = partial(builder.character, knowledge, text, needs_words=needs_words, is_new=is_new)
    takes_long = bool(knowledge.lore) or len(knowledge.blocks) > MANY_BLOCKS
    return await asyncio.to_thread(make) if takes_long else make()


def failure_unless_gm_needed(result: CallResult) -> Failed | None:
    """Return the failure of a call that the GM did not ask for; None where only the GM could help.

    The GM is not asked for consent or money then: the call is left.
    """
    error = result.error or StoryEngineError(ErrorCode.LLM_ERROR)
    return None if error.code in NEEDS_THE_GM else Failed(error, result.retry_after)


class KindHandler(ABC, Generic[R, M]):
    """The stateless handler of one kind of request; `M` is the outcome of a success."""

    stores_its_calls: ClassVar[bool] = False
    """Whether `run` itself stores the provenance of each call at once."""

    async def carry_out(self, job: Job, request: R) -> tuple[M | Failed, CallRecords]:
        """Return the outcome of `run`; what was paid for keeps its provenance also behind a bug.

        Raises StorageError, and StoryEngineError (`LLM_CONTEXT_OVERFLOW`) when the input does not fit.
        """
        try:
            made, call_records = await self.run(job, request)
            records = job.calls.query + call_records  # a query that no call for an answer followed
            calls = job.calls
            return made, replace(records, used=calls.used_beside(records), last_number=calls.last_number)
        except Exception as bug:  # whatever it is, the calls before it were paid for
            records = job.calls.call_records
            if self.stores_its_calls or not (records.artifacts or job.calls.query.artifacts):
                raise
            error = failure_of(bug, f"request {request.id}")
            return Failed(error), records.marked(error) if records.artifacts else job.calls.uncalled(error)

    @abstractmethod
    async def run(self, job: Job, request: R) -> tuple[M | Failed, CallRecords]:
        """Carry out the request; return the outcome and the provenance that is not stored yet.

        Raises StorageError, and StoryEngineError (`LLM_CONTEXT_OVERFLOW`) when the input does not fit.
        """

    @abstractmethod
    def settle(self, snapshot: Snapshot, done: R, made: M, now: datetime) -> Changes:
        """Return the changes of a success; `done` is the request as it will be stored."""

    @abstractmethod
    def is_done(self, request: R, changes: Changes) -> bool:
        """Whether a request was answered, given the changes that another window stored."""

    def returned(self, snapshot: Snapshot, request: R) -> Mapping[Slot, str]:
        """Return the new texts of composers after a failure of the request."""
        return {}


class BackgroundHandler(KindHandler[BackgroundRequest, M]):
    """The handler of work beside the play; most of it changes nothing of the story."""

    def settle(self, snapshot: Snapshot, done: BackgroundRequest, made: M, now: datetime) -> Changes:
        """Return the request as done: nothing of the story changes."""
        return Changes(session_id=snapshot.session.id, requests=(done,))

    def is_done(self, request: BackgroundRequest, changes: Changes) -> bool:
        """Whether it was settled: nothing waits for its answer."""
        return True
