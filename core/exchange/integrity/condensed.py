"""Checks the condensed memory of a session before it is imported, and where the library is verified."""

from collections.abc import Iterator, Sequence

from core.agents.answers.json_output import MAX_MEMORY
from core.domain.story.condensed import FEWEST, MOST, CondensedMemory
from core.domain.story.memory import MemoryBlock, TurnDelta, compact_json


def problems_of_condensed(
    condensed: Sequence[CondensedMemory], blocks: Sequence[MemoryBlock]
) -> Iterator[str]:
    """Yield problems of condensed memory; `blocks` are all blocks of the session, canon or not."""
    known = {block.id: block for block in blocks}
    if len({one.sources for one in condensed}) < len(condensed):
        yield "the same memory was condensed twice"
    for one in condensed:
        sources = [known[source] for source in one.sources if source in known]
        places = [source.place for source in sources]
        is_of_blocks = FEWEST <= len(one.sources) <= MOST and len(sources) == len(one.sources)
        if (
            not is_of_blocks
            or not all(map(one.covers, sources))
            or places != sorted(set(places))
            or (one.first, one.last) != (sources[0].first, sources[-1].last)
        ):
            yield f"the condensed memory of prompts {one.first} to {one.last} is not of its deltas"
        if not _is_read(one):
            yield f"the condensed memory of prompts {one.first} to {one.last} is invalid"


def _is_read(one: CondensedMemory) -> bool:
    try:
        TurnDelta.model_validate(one.payload)
        length = len(compact_json(one.payload))
    except (ValueError, RecursionError):
        return False
    # Canon locks are those of the deltas, which inputs have word for word.
    return length <= MAX_MEMORY and not one.payload.get("canon_locks")
