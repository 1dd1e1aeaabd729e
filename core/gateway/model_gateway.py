"""The one way to a model: what goes out and what comes back, written down whatever happens (design 4 and 8).

Every call of an agent passes here: consent first, before anything is sent, then our own limit of calls per
minute. Calls for vectors take the same steps in `core.gateway.embedding_service`.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from core.agents.context_builder import Context
from core.config.consent import Consent, no_consent
from core.config.models.accounts import OWN, labelled
from core.config.models.assignments import SCRIPT, ModelAssignments, setting_of
from core.config.models.cast_models import look_up
from core.config.models.model_config import ModelConfig
from core.domain.agent_role import AgentRole
from core.domain.clock import Clock
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.cost import FREE
from core.domain.requests.request import NO_TOKENS, Artifact, Content, Usage
from core.domain.session.profile import Profiles
from core.gateway.call_records import CallRecords, failure_of, input_contents
from core.gateway.cancellation import Cancellation
from core.gateway.cashier import Cashier, Following, PlannedCall, nothing_follows
from core.gateway.lanes import Lane, Lanes, said_of
from core.gateway.model_call import ModelCall, input_hash
from core.gateway.places import LanePlace
from core.gateway.rates import RateLimiter
from core.providers.answer import behind_thought
from core.providers.base import Completion, Provider, ProviderError
from core.storage.queue_store import SharedRates
from core.text.cleaning import clean, clean_line, is_blank

LONGEST_CALL = 10
"""A call that never falls silent still ends, after this many times its time-out."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """Result of one call: a text, or the error that ended it, with its provenance in both cases."""

    text: str
    model: str
    error: StoryEngineError | None
    call_records: CallRecords
    finish_reason: str = ""
    refused_fields: tuple[str, ...] = ()
    """Requested fields that were not sent, because the service does not accept them."""

    @property
    def retry_after(self) -> float | None:
        """Seconds that the service asked us to wait."""
        return self.error.retry_after if isinstance(self.error, ProviderError) else None


class ModelGateway:
    """Calls the provider of an agent's account where it may be called, and makes an artifact of every call.

    `provider` is that of the profile's own account, `lanes` are the ways to the others by name. Without
    `consent`, nothing is sent to a provider that is not on this machine; without `cashier`, no cost is known.
    """

    def __init__(
        self,
        provider: Provider,
        choices: ModelAssignments,
        consent: Consent | None,
        clock: Clock,
        *,
        lanes: Lanes | None = None,
        cashier: Cashier | None = None,
        rates: SharedRates | None = None,
    ) -> None:
        self.choices = choices
        self._lanes = {OWN: Lane.to(provider), **(lanes or {})}
        self._consent = consent
        self._limiter = RateLimiter(choices, rates)
        self._clock = clock
        self.cashier = cashier or Cashier(None, None, clock)

    def is_local(self, choice: ModelConfig) -> bool:
        """Whether the model runs on this machine, in the program's own server."""
        return self._lane(choice).provider.name == "local"

    def model_label(self, choice: ModelConfig) -> str:
        """Return who answers where the model of `choice` is asked for."""
        return SCRIPT if self._lane(choice).provider.name == "scripted" else choice.label

    async def look_up_models(self, profiles: Profiles) -> None:
        """Ask for the sizes of the models that characters bring, where these are not known yet."""
        if any(profile.model for profile in profiles.values()):
            await asyncio.to_thread(look_up, self.choices, profiles, self._consent)

    async def forecast(self, *contexts: Context, choices: ModelAssignments) -> Decimal | None:
        """Return what calls cost at most, in dollars, each given the answers before it; None if unknown.

        A reply that only repeats something is asked for once more.
        """
        chosen = [(context, choices.of(context.role, context.agent_id)) for context in contexts]
        amounts = await self.cashier.forecasts(self._planned(chosen))
        known = [
            amount * (2 if one.avoids_repeats and context.role is AgentRole.CHARACTER else 1)
            for (context, one), amount in zip(chosen, amounts, strict=True)
            if amount is not None
        ]
        return sum(known, FREE) if len(known) == len(contexts) else None

    async def _following(self, following: Following) -> list[PlannedCall]:
        return [] if following is nothing_follows else self._planned(await asyncio.to_thread(following))

    def _planned(self, calls: Sequence[tuple[Context, ModelConfig]]) -> list[PlannedCall]:
        return [self._plan(context, choice) for context, choice in calls]

    def _plan(self, context: Context, choice: ModelConfig) -> PlannedCall:
        return PlannedCall.of(context, choice, self._lane(choice).provider.base_url)

    def _lane(self, choice: ModelConfig) -> Lane:
        return self.lane_of(choice.account)

    def lane_of(self, account: str) -> Lane:
        """Return the way to the account of this name."""
        return self._lanes[account]

    def require_consent(self, address: str | None) -> None:
        """Raise StoryEngineError with CONSENT_REQUIRED where text may not be sent to `address`."""
        if address is not None and not (self._consent and self._consent.is_granted(address)):
            raise no_consent(address)

    async def aclose(self) -> None:
        """Release the provider of every account that was called."""
        for lane in self._lanes.values():
            await lane.aclose()

    async def call(
        self,
        call: ModelCall,
        cancellation: Cancellation,
        following: Following = nothing_follows,
    ) -> CallResult:
        """Make a call; never raises what the model or its service did.

        No ceiling may be passed by it and by those that are `following` it together.
        """
        choice, request = call.choice, call.request
        began = asyncio.get_running_loop().time()
        yields = partial(cancellation.request, is_put_back=True) if request.spec.is_background else None
        place = LanePlace(request.priority, yields)
        task = asyncio.create_task(self._consume(call, place, following))
        error = await error_of(task, choice.account, cancellation, partial(self.cashier.forget, call.id))
        if cancellation.is_put_back and error is not None and not call.is_with_provider:
            self.cashier.forget(call.id)
            return CallResult("", self.model_label(choice), error, CallRecords())
        total = round((asyncio.get_running_loop().time() - began) * 1000)
        call.add(call.cleaner.flush())
        text = behind_thought("".join(call.texts))
        if error is None and is_blank(text):
            error = ProviderError(
                ErrorCode.LLM_ERROR,
                "The model answered with nothing but white space; nothing is lost, retry.",
                is_blank=True,
            )
        artifact, contents = self._provenance(call, text, error, total)
        artifact = await self._with_cost(artifact, call, error)
        refused = call.completion.refused_fields if call.completion else ()
        records = CallRecords((artifact,), contents)
        return CallResult(text, artifact.model, error, records, artifact.finish_reason, refused)

    async def _consume(self, call: ModelCall, place: LanePlace, following: Following) -> None:
        context, choice = call.context, call.choice
        lane = self._lane(choice)
        planned = self._plan(context, choice)
        self.require_consent(planned.address)
        await self.cashier.admit(planned, partial(self._following, following), call.request, call.id)
        call.is_sent = True
        await self._limiter.wait(context.role, context.agent_id, choice, is_background=place.is_background)
        loop = asyncio.get_running_loop()
        async with lane.turn(place, call.request), asyncio.timeout(call.outgoing.timeout * LONGEST_CALL):
            began = loop.time()
            self.require_consent(planned.address)  # again: it may have been withdrawn during the wait
            call.is_with_provider = True
            async with aclosing(lane.provider.stream(call.outgoing)) as items:
                async for item in items:
                    if isinstance(item, Completion):
                        call.completion = item
                        break
                    text = call.within_room(item, round((loop.time() - began) * 1000))
                    call.add(call.cleaner.feed(text))
                    if len(text) < len(item.text):
                        raise _too_long(context, choice)

    async def _with_cost(
        self, artifact: Artifact, call: ModelCall, error: StoryEngineError | None
    ) -> Artifact:
        """Return the artifact with the cost of its call; unchanged if nothing was sent."""
        if not call.is_sent:
            return artifact
        billed, is_begun = (call.completion.billed, True) if call.completion else (None, False)
        if isinstance(error, ProviderError):
            billed, is_begun = billed if error.billed is None else error.billed, is_begun or error.is_begun
        answered = clean_line(call.completion.model) if call.completion else ""
        planned = self._plan(call.context, call.choice)
        cost = await self.cashier.cost(artifact, planned, answered, billed, is_begun=is_begun)
        return replace(artifact, cost=cost)

    def _answered(self, choice: ModelConfig, completion: Completion | None) -> str:
        """Return what the artifact names: the model that the service said it was, or that was asked for."""
        if completion is None:
            return self.model_label(choice)
        return labelled(choice.account, clean_line(completion.model))

    def _provenance(
        self, call: ModelCall, text: str, error: StoryEngineError | None, total_ms: int
    ) -> tuple[Artifact, tuple[Content, ...]]:
        context, completion = call.context, call.completion
        manifest, parts = input_contents(context)
        output = Content.of(text) if text else None
        usage = completion.usage if completion else Usage()
        if isinstance(error, ProviderError) and error.usage is not None:
            usage = error.usage
        if not call.is_with_provider:
            usage = NO_TOKENS
        artifact = Artifact(
            id=call.id,
            session_id=call.request.session_id,
            request_id=call.request.id,
            attempt=call.request.attempts,
            call=call.number,
            agent_id=context.agent_id,
            provider=self._lane(call.choice).provider.name,
            model=self._answered(call.choice, completion),
            prompt_version=context.prompt_version,
            input_hash=input_hash(call.outgoing),
            input_ref=manifest.hash,
            output_ref=output.hash if output else None,
            usage=usage,
            first_token_ms=call.first_token_ms,
            total_ms=total_ms,
            finish_reason=completion.finish_reason if completion else "",
            error_code=error.code if error else None,
            error_message=clean(error.message) if error else "",
            left_out=(*context.left_out, *_not_taken(completion)),
            created_at=self._clock(),
        )
        return artifact, (manifest, *parts, *((output,) if output else ()))


def _not_taken(completion: Completion | None) -> tuple[str, ...]:
    refused = completion.refused_fields if completion else ()
    return tuple(f"{name} (the service does not take it)" for name in refused)


def _too_long(context: Context, choice: ModelConfig) -> StoryEngineError:
    """Return the error for an answer beyond its bound, which ends the call and closes the connection."""
    return StoryEngineError(
        ErrorCode.LLM_TRUNCATED,
        f"{choice.model} wrote more than {choice.max_answer_characters:,} characters, far beyond its cap of "
        f"{choice.max_output_tokens:,} tokens; the call was stopped and nothing is lost.",
        "Retry, or choose another model; if answers of that length are wanted, raise "
        f"{setting_of(choice, context.role, 'max_output_tokens')}.",
    )


async def error_of(
    task: asyncio.Task[None], account: str, cancellation: Cancellation, forget: Callable[[], None]
) -> StoryEngineError | None:
    """Wait for a call, which `cancellation` can end, and return what ended it early; a bug is logged.

    Where the wait itself is cancelled, the call is not written down: nothing settles it, so `forget` it.
    """
    cancellation.attach(task)
    try:
        await asyncio.wait({task})
        error = _error_in(task)
        return error and said_of(account, error)
    except BaseException:  # cancelled too; it goes on to the caller
        forget()
        raise
    finally:
        cancellation.attach(None)
        task.cancel()


def _error_in(task: asyncio.Task[None]) -> StoryEngineError | None:
    if task.cancelled():
        return StoryEngineError(ErrorCode.LLM_CANCELLED)
    match task.exception():
        case None:
            return None
        case TimeoutError():
            return StoryEngineError(ErrorCode.LLM_TIMEOUT)
        case error:
            return failure_of(error, "a call")
