"""Help with a text of the GM's own: work beside the play that changes nothing of the story (design 17)."""

from dataclasses import replace

from core.agents import assist
from core.agents.assist import AssistRequest, SuggestedText
from core.agents.role.prompt_file import not_to_repeat
from core.context.segments import Context
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import BackgroundRequest
from core.engine.kinds.base import BackgroundHandler, Job
from core.engine.kinds.outcome import Failed
from core.gateway.call_records import CallRecords
from core.text.analysis.repetition import first_repeated


class AssistHandler(BackgroundHandler[SuggestedText]):
    """Handles requests for a proposal; the request's text is an `AssistRequest`.

    The text of the proposal is in the provenance of the call.
    """

    async def run(self, job: Job, request: BackgroundRequest) -> tuple[SuggestedText | Failed, CallRecords]:
        """Make the one call, by the narrative agent's model."""
        asked = AssistRequest.from_text(request.text)
        choice = job.calls.choices[AgentRole.NARRATIVE]
        choice = replace(choice, max_output_tokens=min(assist.MOST_OUTPUT, choice.max_output_tokens))
        context = job.builder.assist(job.snapshot.session, job.snapshot.tab1, asked, choice)
        result = await job.calls.make(context, choice)
        records = result.call_records
        if result.error is not None:
            return Failed(result.error, result.retry_after), records
        is_unfinished = result.finish_reason == "length"
        try:
            made = assist.read_proposal(asked, result.text, is_unfinished=is_unfinished, style=context.style)
            _require_own_words(made, context)
        except StoryEngineError as error:
            return Failed(error), records.marked(error)
        return made, records.noting(made.cut)


def _require_own_words(made: SuggestedText, context: Context) -> None:
    """Raise StoryEngineError (`LLM_ERROR`) for a proposal that repeats the example of its prompt."""
    repeated = first_repeated(made.text, not_to_repeat(context))
    if repeated is not None:
        raise StoryEngineError(ErrorCode.LLM_ERROR, f"The proposal only repeats {repeated.what}; try again.")
