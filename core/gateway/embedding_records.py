"""The provenance of a call that makes vectors: which texts, by their hashes, and what it gave (design 4)."""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Final

from core.config.models.accounts import labelled
from core.config.models.embedding import EmbeddingChoice
from core.context.tokens import estimate_tokens
from core.domain.bank.recall import Vector
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.ids import ArtifactId, new_uuid
from core.domain.requests.cost import FREE
from core.domain.requests.request import NO_TOKENS, Artifact, Content, Request, Usage
from core.gateway.call_records import CallRecords, agent_of
from core.gateway.cashier import Cashier, PlannedCall
from core.providers.base import ProviderError
from core.providers.embedding.base import Embedder, Embedding
from core.text.cleaning import clean, clean_line
from core.text.numbers import counted

EMBEDDING_VERSION: Final = "embedding@1"
"""The prompt version in artifacts of calls that make vectors, which have no prompt."""
_ENDED_WITHIN: Final = frozenset({ErrorCode.LLM_CANCELLED, ErrorCode.LLM_TIMEOUT, ErrorCode.LLM_SERVER_ERROR})
"""Errors that leave it open whether the model worked on the last texts, which a service may bill."""
_PART: Final = "TEXTS"
"""The name of the only part of such an input."""


@dataclass(slots=True)
class EmbeddingProgress:
    """Results of a call so far."""

    vectors: list[Vector] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    bills: list[Decimal | None] = field(default_factory=list)
    answered: str = ""
    """The model, as its service named it."""
    is_sent: bool = False
    """Whether anything may have gone out."""
    is_with_provider: bool = False
    """Whether the call had its place, and a model was asked."""

    def add(self, made: Embedding) -> None:
        """Take the vectors of the next texts."""
        self.vectors += made.vectors
        self.usages.append(made.usage)
        self.bills.append(made.billed)
        self.answered = clean_line(made.model)

    def billed(self, error: StoryEngineError | None) -> Decimal | None:
        """Return the bill of the whole call, where it ended well and all of its parts gave theirs."""
        bills = [bill for bill in self.bills if bill is not None]
        is_whole = error is None and bills and len(bills) == len(self.bills)
        return sum(bills, FREE) if is_whole else None

    def usage(self, error: StoryEngineError | None) -> Usage:
        """Return the tokens of the whole call, where all of its parts gave them."""
        if not self.is_with_provider:
            return NO_TOKENS
        refused = error.usage if isinstance(error, ProviderError) else None
        if error is not None and refused is None and error.code in _ENDED_WITHIN:
            return Usage()
        usages = [*self.usages, *([refused] if refused else [])]
        counts = [usage.input_tokens for usage in usages if usage.input_tokens is not None]
        is_known = bool(counts) and len(counts) == len(usages)
        return Usage(input_tokens=sum(counts), output_tokens=0) if is_known else Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingCall:
    """One call: which texts, for which request, as which call of its attempt, and its results so far."""

    choice: EmbeddingChoice
    embedder: Embedder
    texts: tuple[str, ...]
    request: Request
    number: int
    is_query: bool
    """Whether an input waits for it."""
    id: ArtifactId = field(default_factory=lambda: ArtifactId(new_uuid()))
    progress: EmbeddingProgress = field(default_factory=EmbeddingProgress)

    @property
    def account(self) -> str:
        """The name of the account that makes the vectors."""
        return self.choice.account.name

    @property
    def is_to_service(self) -> bool:
        """Whether a service makes the vectors, and no model of the program's own."""
        return self.choice.account.provider == "openai"

    @property
    def planned(self) -> PlannedCall:
        """Return what the call may cost; a vector is no token of output."""
        tokens = sum(map(estimate_tokens, self.texts))
        return PlannedCall(
            account=self.account,
            model=self.choice.model or self.embedder.model,
            address=self.embedder.base_url,
            tokens=tokens,
            max_input_tokens=tokens,
            max_output_tokens=0,
        )


async def records_of(
    call: EmbeddingCall, error: StoryEngineError | None, total_ms: int, cashier: Cashier, now: datetime
) -> CallRecords:
    """Return the artifact of a call that has ended, with its cost, and what it refers to."""
    progress = call.progress
    listing = Content.of("\n".join(sha256(text.encode("utf-8")).hexdigest() for text in call.texts))
    manifest = Content.of(json.dumps([["user", _PART, listing.hash]], separators=(",", ":")))
    output = Content.of(described(progress.vectors)) if error is None else None
    planned, answered = call.planned, progress.answered or call.planned.model
    artifact = Artifact(
        id=call.id,
        session_id=call.request.session_id,
        request_id=call.request.id,
        attempt=call.request.attempts,
        call=call.number,
        agent_id=agent_of(call.request),
        provider=call.embedder.name,
        model=labelled(call.account, answered),
        prompt_version=EMBEDDING_VERSION,
        input_hash=Content.of(json.dumps([planned.model, listing.text])).hash,
        input_ref=manifest.hash,
        output_ref=output.hash if output else None,
        usage=progress.usage(error),
        total_ms=total_ms,
        finish_reason="" if error else "stop",
        error_code=error.code if error else None,
        error_message=clean(error.message) if error else "",
        created_at=now,
    )
    if progress.is_sent:
        billed, is_begun = progress.billed(error), bool(progress.vectors)
        cost = await cashier.cost(artifact, planned, progress.answered, billed, is_begun=is_begun)
        artifact = replace(artifact, cost=cost)
    return CallRecords((artifact,), (manifest, listing, *((output,) if output else ())))


def described(vectors: Sequence[Vector]) -> str:
    """Return what stands for vectors in the history: how many, how long, and their hash."""
    digest = sha256()
    for vector in vectors:
        digest.update(struct.pack(f"<{len(vector)}d", *vector))
    return f"{counted(len(vectors), 'vector')} of {len(vectors[0]):,} numbers, SHA-256 {digest.hexdigest()}"
