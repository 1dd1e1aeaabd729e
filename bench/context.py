"""How long a character's input is as the story grows, and how much of it consecutive inputs share.

    python -m bench.context

The input must stay within the budget at 7, 70, 700 and 7,000 prompts; while no block is added,
consecutive inputs of one character must share at least 70 % of the shorter one, so that a
provider's prompt cache hits.
"""

from itertools import takewhile

from bench.made_up import blocks, events, sentences, session, tab1
from bench.measure import Figure, print_table
from core.context import Context, ContextBuilder
from core.ids import SessionId, new_uuid
from core.model_choice import choose_models
from core.settings import ProfileSettings, ProviderName
from core.slot import Slot
from core.store import recent_from

LENGTHS = (7, 70, 700, 7_000)
LEAST_SHARED = 0.70


def input_at(builder: ContextBuilder, session_id: SessionId, prompts: int) -> Context:
    """Return the input of the first character after `prompts` prompts."""
    played = session(session_id, prompts)
    recent = events(session_id, recent_from(played) + 1, prompts)
    memory = blocks(session_id, played.boundary)
    return builder.character(played, tab1(), memory, recent, Slot.RED, sentences(25, prompts))


def shared(first: Context, second: Context) -> float:
    """Return the share of the shorter input that both begin with, in characters."""
    texts = ["\n".join(message.content for message in context.messages) for context in (first, second)]
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    return same / min(map(len, texts))


def figures(provider: ProviderName) -> list[Figure]:
    """Measure with the default model of `provider`."""
    profile = ProfileSettings(provider=provider)
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


def main() -> None:
    """Measure and print."""
    for provider in ("openai", "local"):
        print_table(f"A character's input, provider {provider}", figures(provider))


if __name__ == "__main__":
    main()
