"""Measures the length of a character's input as the story grows, and the share of consecutive ones.

    python -m bench.input.context
    python -m bench.input.context --first-word [N]   ask the bundled model too, for the last N of 70 replies

The input must stay within the budget at 7, 70, 700 and 7,000 prompts; while no block is added,
consecutive inputs of one character must share at least 70 % of the shorter one, so that a
provider's prompt cache hits.
"""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from itertools import takewhile
from statistics import median
from time import monotonic

from bench.measure import Figure, print_table
from bench.synthetic_sessions import REPLY_WORDS, blocks, events, sentences, session, tab1
from core.agents.context_builder import Context, ContextBuilder
from core.config.files.paths import find_paths
from core.config.models.assignments import choose_models
from core.config.sections import ProfileSettings, ProviderName, RecentContext
from core.context.tokens import estimate_tokens
from core.context.visibility import Story, known_to
from core.domain.agent_role import AgentRole
from core.domain.ids import SessionId, new_uuid
from core.domain.session.cast import Cast
from core.domain.slot import Slot
from core.gateway.model_call import model_request
from core.providers.local.provider import LocalProvider
from core.storage.snapshot import recent_from

LENGTHS = (7, 70, 700, 7_000)
LEAST_SHARED = 0.70
PLAYED = 70
RECENT: tuple[RecentContext, ...] = ("exact", "stable")
PRICE_INPUT, PRICE_CACHED, PRICE_OUTPUT = 1.10, 0.275, 4.40
"""Dollars for a million tokens of o4-mini, as published."""
CACHE_LEAST, CACHE_STEP = 1_024, 128
"""Tokens from which on the service caches a prefix, and in which steps."""


def input_at(builder: ContextBuilder, session_id: SessionId, prompts: int) -> Context:
    """Return the input of the first character after `prompts` prompts."""
    played = session(session_id, prompts)
    recent = events(session_id, recent_from(played) + 1, prompts)
    memory = blocks(session_id, played.boundary)
    return builder.character(
        known_to(Cast(played, tab1())[Slot.RED], Story(played, memory, recent)), sentences(25, prompts)
    )


def shared(first: Context, second: Context) -> float:
    """Return the share of the shorter input that both begin with, in characters."""
    texts = ["\n".join(message.content for message in context.messages) for context in (first, second)]
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    return same / min(map(len, texts))


def figures(provider: ProviderName) -> list[Figure]:
    """Measure with the default model of `provider`."""
    profile = ProfileSettings(provider=provider, recent_context="stable")
    builder = ContextBuilder(choose_models(profile))
    session_id = SessionId(new_uuid())
    made: list[Figure] = []
    for prompts in LENGTHS:
        context = input_at(builder, session_id, prompts)
        made.append(
            Figure.at_most(
                f"input at prompt {prompts:,}",
                context.tokens,
                "tokens",
                context.tokens / context.max_input_tokens,
                1,
                "budget",
            )
        )
    for prompts in LENGTHS:
        start = prompts // 7 * 7
        # One character answers every third prompt of three; between two blocks that is twice.
        share = shared(input_at(builder, session_id, start + 1), input_at(builder, session_id, start + 4))
        what = f"shared prefix after prompt {start:,}"
        made.append(Figure(what, share * 100, "%", share, "≥ 0.70", share >= LEAST_SHARED))
    return made


def played(recent: RecentContext, provider: ProviderName) -> list[Context]:
    """Return the inputs of 70 prompts in turns to three characters, as they would be sent."""
    builder = ContextBuilder(choose_models(ProfileSettings(provider=provider, recent_context=recent)))
    session_id = SessionId(new_uuid())
    story, memory, inputs = events(session_id, 1, PLAYED), blocks(session_id, PLAYED), list[Context]()
    for prompts in range(PLAYED):
        now = session(session_id, prompts)
        known = [block for block in memory if block.last <= now.boundary]
        past = [event for event in story if recent_from(now) < event.prompt_index <= prompts]
        slot = Slot(prompts % 3 + 1)
        inputs.append(
            builder.character(
                known_to(Cast(now, tab1())[slot], Story(now, known, past)), story[prompts * 2].text
            )
        )
    return inputs


def cached_tokens(inputs: Sequence[Context]) -> list[int]:
    """Return how many tokens of each input an earlier one began with, as the service's cache counts them."""
    texts = ["\n".join(message.content for message in context.messages) for context in inputs]
    made: list[int] = []
    for number, text in enumerate(texts):
        same = max((_same(text, earlier) for earlier in texts[:number]), default=0)
        tokens = inputs[number].tokens * same // len(text)
        made.append(tokens // CACHE_STEP * CACHE_STEP if tokens >= CACHE_LEAST else 0)
    return made


def _same(one: str, two: str) -> int:
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (first, second) in pairs if first != second), min(len(one), len(two)))


def both_ways(provider: ProviderName) -> list[Figure]:
    """Compare `exact` and `stable` recent context over 70 prompts, at the default model's prices."""
    made: list[Figure] = []
    prices: dict[RecentContext, float] = {}
    written = PLAYED * estimate_tokens(sentences(REPLY_WORDS, 1))
    for recent in RECENT:
        inputs = played(recent, provider)
        sent, cached = sum(context.tokens for context in inputs), sum(cached_tokens(inputs))
        price = ((sent - cached) * PRICE_INPUT + cached * PRICE_CACHED + written * PRICE_OUTPUT) / 1_000_000
        prices[recent] = price
        made.append(Figure(f"{recent}: input of {PLAYED} prompts", sent, "tokens"))
        made.append(Figure(f"{recent}: of it cached", cached / sent * 100, "%"))
        made.append(
            Figure(f"{recent}: price", price * 100, "cents", price / prices["exact"], "< 0.80 × exact")
        )
    return made


async def first_words(newest: int) -> list[Figure]:
    """Ask the bundled model for the first words of the newest replies; return the median of seconds.

    Each way has a model process of its own, with its own cache, and they take turns: a busy machine slows
    both alike.
    """
    paths = find_paths()
    seconds: dict[RecentContext, list[float]] = {recent: [] for recent in RECENT}
    async with AsyncExitStack() as stack:
        providers: dict[RecentContext, LocalProvider] = {}
        for recent in RECENT:
            providers[recent] = await stack.enter_async_context(aclosing(LocalProvider(paths)))
            await providers[recent].start()
        choice = choose_models(ProfileSettings())[AgentRole.CHARACTER]
        for inputs in list(zip(*(played(recent, "local") for recent in RECENT), strict=True))[-newest:]:
            for recent, context in zip(RECENT, inputs, strict=True):
                began = monotonic()
                async with aclosing(providers[recent].stream(model_request(context, choice))) as items:
                    await anext(items)
                seconds[recent].append(monotonic() - began)
    middle = {recent: median(seconds[recent]) for recent in RECENT}
    return [
        Figure(
            f"{recent}: first word, median of {newest}",
            middle[recent],
            "s",
            middle[recent] / middle["exact"],
            "< 0.80 × exact",
        )
        for recent in RECENT
    ]


def main() -> None:
    """Measure and print."""
    print_table("Recent context, exact and stable", both_ways("openai"))
    if "--first-word" in sys.argv:
        newest = int(sys.argv[-1]) if sys.argv[-1].isdecimal() else PLAYED
        print_table("The bundled model", asyncio.run(first_words(newest)))
    for provider in ("openai", "local"):
        print_table(f"A character's input, provider {provider}", figures(provider))


if __name__ == "__main__":
    main()
