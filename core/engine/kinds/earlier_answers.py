"""Answers to earlier attempts of a request: paid for, and reused where the input is the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.domain.requests.request import RequestBase
from core.storage.session_store import SessionStore


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """The text of an answer, and the model that gave it."""

    text: str
    model: str


async def earlier_answers(store: SessionStore, request: RequestBase) -> Mapping[str, EarlierAnswer]:
    """Return the answers of earlier attempts of a request, by the hashes of their inputs."""
    if request.attempts <= 1:
        return {}
    artifacts = await store.artifacts(request.session_id, request_id=request.id)
    good = {
        artifact.input_hash: (artifact.output_ref, artifact.model)
        for artifact in artifacts
        if artifact.error_code is None and artifact.output_ref is not None
    }
    texts = await store.contents(request.session_id, [reference for reference, _ in good.values()])
    return {key: EarlierAnswer(texts[reference], model) for key, (reference, model) in good.items()}
