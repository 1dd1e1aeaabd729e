"""What each kind of request has to say: how it is carried out, and what its outcome makes of a session."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic, Protocol, TypeVar

from core.agents.context_builder import Context, ContextBuilder
from core.config.models import ModelConfig
from core.domain.request import RequestBase
from core.domain.slot import Slot
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords
from core.gateway.model_gateway import CallResult
from core.store import Changes, SessionStore, Snapshot

R = TypeVar("R", bound=RequestBase)
M = TypeVar("M")

Save = Callable[[Callable[[Snapshot], Changes]], Awaitable[Changes]]


class Calls(Protocol):
    """The calls of one attempt, in order."""

    def config_of(self, context: Context) -> ModelConfig:
        """Return the model that answers `context`, and how it is called."""

    async def make(self, context: Context, choice: ModelConfig | None = None) -> CallResult:
        """Make the next call of this attempt, as `choice` says; where that is None, as `config_of` does."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a request is carried out with."""

    snapshot: Snapshot
    builder: ContextBuilder
    calls: Calls
    store: SessionStore
    save: Save
    """Stores something before the outcome is there, and waits for the store to come back."""


class KindHandler(ABC, Generic[R, M]):
    """One kind of request, without state of its own; `M` is what comes of one that goes well."""

    stores_its_calls: ClassVar[bool] = False
    """Whether `run` stores the provenance of its calls by itself, each as soon as it is made."""

    @abstractmethod
    async def run(self, job: Job, request: R) -> tuple[M | Failed, CallRecords]:
        """Carry the request out; return what came of it, with the provenance that is still to be stored.

        Raises StorageError, and StoryEngineError (`LLM_CONTEXT_OVERFLOW`) where the input cannot be made to
        fit.
        """

    @abstractmethod
    def settle(self, snapshot: Snapshot, done: R, made: M, now: datetime) -> Changes:
        """Return what an outcome makes of the session; `done` is the request as it is stored then."""

    @abstractmethod
    def is_done(self, request: R, changes: Changes) -> bool:
        """Whether a request that is no longer open was answered, given what another window stored since."""

    def returned(self, snapshot: Snapshot, request: R) -> Mapping[Slot, str]:
        """Return what the composers hold once the request has failed, where its text comes back."""
        return {}
