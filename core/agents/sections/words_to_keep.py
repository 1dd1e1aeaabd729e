"""The words that a narrative is to keep: quotes that the GM made, confirmed or pinned (design 15)."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from core.agents.role.setup import AgentSetup, total
from core.config.models.model_config import PromptStyle
from core.context.segments import Segment
from core.context.visibility import Knowledge
from core.domain.bank.details import QuoteDetails
from core.domain.bank.item import Item
from core.domain.prompt_range import PromptRange
from core.text.cleaning import clean_line
from core.text.delimiters import SegmentName

LEAD: Final = (
    "Words that are to be kept, each with who says them and the prompt. Where the chapter tells that moment, "
    "they are in it letter for letter."
)
"""The first line of the section: no system prompt needs to name it, in a chapter without such quotes."""
MOST_OF_A_CHUNK: Final = 10
"""Quotes of one chunk of prompts that an input has at most, the newest ones."""
_SHARE: Final = 0.04
"""Maximum share of the budget for the section."""
_MOST_TOKENS: Final = {PromptStyle.FULL: 2_000, PromptStyle.SMALL: 160}


def words_to_keep(
    setup: AgentSetup, knowledge: Knowledge, prompts: PromptRange, room: int
) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """Return the section for the quotes of some prompts, and in words what has no room in it.

    It takes at most `room` tokens; there is none without quotes. What the GM pinned goes last, and before
    that the newest ones.
    """
    every = [quote for quote in knowledge.quotes if _prompt_of(quote) in prompts]
    quotes = _newest_of_each_chunk(every, knowledge.session.limits.chunk_size)
    by_worth = sorted(quotes, key=lambda quote: quote.is_pinned)

    def worthiest(count: int) -> tuple[Segment, ...]:
        kept = {quote.id for quote in by_worth[len(quotes) - count :]}
        return _section(setup, [quote for quote in quotes if quote.id in kept])

    most = min(room, _most_tokens(setup))
    count = bisect_right(range(1, len(quotes) + 1), most, key=lambda count: total(worthiest(count)))
    dropped = len(every) - count
    return worthiest(count), ((f"{dropped:,} of the words to keep (no room)",) if dropped else ())


def tokens_to_reserve(setup: AgentSetup, knowledge: Knowledge) -> int:
    """Return the tokens that the section may take in any part of a narrative; 0 where there are no quotes."""
    whole = total(_section(setup, knowledge.quotes)) if knowledge.quotes else 0
    return min(whole, _most_tokens(setup))


def _most_tokens(setup: AgentSetup) -> int:
    return min(int(setup.budget * _SHARE), _MOST_TOKENS[setup.style])


def _newest_of_each_chunk(quotes: list[Item], size: int) -> list[Item]:
    """Return the quotes in the order of play, of each chunk the newest ones."""
    chunks: dict[int, list[Item]] = defaultdict(list)
    for quote in sorted(quotes, key=_place_of):
        chunks[(_prompt_of(quote) - 1) // size].append(quote)
    return [quote for number in sorted(chunks) for quote in chunks[number][-MOST_OF_A_CHUNK:]]


def _place_of(quote: Item) -> tuple[int, int, int, int]:
    return *quote.evidence[0].place, quote.evidence[0].start


def _prompt_of(quote: Item) -> int:
    """Return the prompt with which a quote is told: lines before the first one are told with it."""
    return max(1, quote.evidence[0].prompt_index)


def _section(setup: AgentSetup, quotes: Sequence[Item]) -> tuple[Segment, ...]:
    if not quotes:
        return ()
    return (setup.fenced(SegmentName.WORDS_TO_KEEP, "\n".join((LEAD, *map(_line, quotes)))),)


def _line(quote: Item) -> str:
    speaker = quote.details.speaker if isinstance(quote.details, QuoteDetails) else ""
    who = clean_line(speaker) or clean_line(quote.name)
    return f"- {who} (prompt {_prompt_of(quote)}): “{clean_line(quote.text)}”"
