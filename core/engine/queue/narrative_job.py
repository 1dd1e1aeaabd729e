"""Building the chapter's prose: in one call, or part by part when a model cannot hold the whole."""

from collections.abc import Awaitable, Callable
from functools import partial

from core.agents.context_builder import Context, ContextBuilder
from core.config.models import ModelConfig, PromptStyle
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.request import Request
from core.engine.outcome import CallRecords, Failed, NarrativeMade, Outcome
from core.engine.queue.model_call import CallResult, input_hash, model_request
from core.store import Changes, Snapshot, Store
from core.text.cleaning import cut_in_words, to_last_sentence

Call = Callable[[Context], Awaitable[CallResult]]
Save = Callable[[Callable[[Snapshot], Changes]], Awaitable[Changes]]


class Narrator:
    """Agent 9 at work."""

    def __init__(self, store: Store, builder: ContextBuilder, choice: ModelConfig, save: Save) -> None:
        self._store = store
        self._builder = builder
        self._choice = choice
        self._save = save

    async def run(self, snapshot: Snapshot, request: Request, call: Call) -> tuple[Outcome, CallRecords]:
        """Return the whole text.

        The provenance of each part is stored as soon as it is there, so that a later attempt uses
        again, and does not pay again for, every part whose input is still the same.
        """
        session = snapshot.session
        events = await self._store.events(session.id)
        blocks = await self._store.blocks(session.id)
        plan = self._builder.plan_narrative(session, blocks, events, session.definition, session.target_words)
        if not plan:
            raise StoryEngineError(ErrorCode.ILLEGAL_COMMAND, _NOTHING_PLAYED)
        written = await self._written_parts(request)
        texts: list[str] = []
        model = self._choice.model
        for part in plan:
            context = self._builder.narrative_part(
                session, blocks, part, session.definition, texts[-1] if texts else ""
            )
            earlier = written.get(input_hash(model_request(context, self._choice)))
            if earlier is not None:
                text, model = earlier
                texts.append(self._prose(text))
                continue
            result = await call(context)
            error = self._error_in(result)
            if error is not None:
                return Failed(error, result.retry_after), result.call_records.marked(error)
            prose = self._prose(result.text)
            cut = cut_in_words("after its last whole sentence", result.text.strip(), prose)
            await self._save(partial(_provenance, request, result.call_records.noting(cut)))
            texts.append(prose)
            model = result.model
        block_ids = tuple(block.id for block in blocks)
        whole = "\n\n".join(texts)
        return NarrativeMade(whole, model, session.definition, session.target_words, block_ids), CallRecords()

    def _error_in(self, result: CallResult) -> StoryEngineError | None:
        """A text that was cut is no chapter. The very small model alone is measured by its room: it does
        not end by itself, so what it wrote counts up to its last whole sentence."""
        if result.error is None and result.finish_reason == "length":
            is_small = self._choice.style is PromptStyle.SMALL
            return None if is_small else StoryEngineError(ErrorCode.LLM_TRUNCATED)
        return result.error

    def _prose(self, text: str) -> str:
        text = text.strip()
        return to_last_sentence(text) if self._choice.style is PromptStyle.SMALL else text

    async def _written_parts(self, request: Request) -> dict[str, tuple[str, str]]:
        """Return what earlier attempts of this request wrote, and the model that did, by its input's hash."""
        if request.attempts <= 1:
            return {}
        artifacts = await self._store.artifacts(request.session_id, request_id=request.id)
        good = {
            artifact.input_hash: (artifact.output_ref, artifact.model)
            for artifact in artifacts
            if artifact.error_code is None and artifact.output_ref is not None
        }
        texts = await self._store.contents(request.session_id, [reference for reference, _ in good.values()])
        return {key: (texts[reference], model) for key, (reference, model) in good.items()}


_NOTHING_PLAYED = "No prompt was played in this chapter; there is nothing to write."


def _provenance(request: Request, call_records: CallRecords, _: Snapshot) -> Changes:
    return Changes(
        session_id=request.session_id, artifacts=call_records.artifacts, contents=call_records.contents
    )
