"""Builds the lines that the next chapter of a book takes over, and their block in inputs (design 14).

Of the chapter itself: canon locks, open threads, the place of each character, their relations, and what
only some of them know. Of earlier chapters: their canon, pinned lines, and the knowledge of characters that
have not played since. All lines have the labels of their sources, as names.

The lines are within a budget of tokens, which is that of the second chapter of the book; the oldest go first.
Pinned lines count, and always go on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid5

from core.context.canon_locks import with_gm_locks
from core.context.tokens import estimate_tokens
from core.domain.audience import EVERYONE, Audience
from core.domain.ids import BlockId
from core.domain.session.carry_over import LONGEST_LINE, CarriedLine, CarryKind, CarryOver
from core.domain.session.session import Session
from core.domain.story.memory import BlockType, MemoryBlock, compact_json, lock_key
from core.text.cleaning import clean_line, is_blank
from core.text.graphemes import head
from core.text.name_list import name_key

MOST_TOKENS: Final = 1_200
"""Tokens that a chapter takes over at most, whatever the chapter before it has."""
LEAST_TOKENS: Final = 400
"""Tokens that it may take over at least, after a second chapter that took over little."""
_SHARES: Final[Mapping[CarryKind, float]] = {
    CarryKind.PLACE: 0.1,
    CarryKind.THREAD: 0.2,
    CarryKind.RELATION: 0.15,
    CarryKind.KNOWLEDGE: 0.15,
    CarryKind.CANON: 0.4,
}
"""Share of the budget that each kind may take before the others have had their turn."""
_KEYS: Final[Mapping[CarryKind, str]] = {
    CarryKind.CANON: "canon_locks",
    CarryKind.THREAD: "open_threads",
    CarryKind.PLACE: "whereabouts",
    CarryKind.RELATION: "relationships",
    CarryKind.KNOWLEDGE: "knowledge",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A secret of the chapter, and who may know it now."""

    text: str
    label: Audience


def label_in(session: Session, line: CarriedLine) -> Audience:
    """Return which characters of a chapter may know a line: those who have a name that it is known to.

    In an older chapter two names may differ only in how accents are written: then they decide as written.
    """
    keys = set(map(name_key, line.known_to))
    called = Counter(name_key(name) for _, name in session.roster)
    return session.audience_of(
        slot
        for slot, name in session.roster
        if name_key(name) in keys and (called[name_key(name)] == 1 or name in line.known_to)
    )


def block_of(session: Session, lines: Iterable[CarriedLine]) -> tuple[MemoryBlock, ...]:
    """Return the block that inputs have of these lines, before the lock; none where all are struck."""
    struck = set(map(lock_key, session.struck))
    payload: dict[str, object] = {}
    for kind, key in _KEYS.items():
        texts = [
            line.text
            for line in lines
            if line.kind is kind and not line.is_struck and lock_key(line.text) not in struck
        ]
        if texts:
            payload[key] = texts
    if not payload:
        return ()
    payload = {
        "memory_type": BlockType.CARRY_OVER.value,
        "comes_from": "earlier chapters; what is established later outranks it",
        **payload,
    }
    return (
        MemoryBlock(
            id=BlockId(uuid5(session.id, compact_json(payload))),
            session_id=session.id,
            type=BlockType.CARRY_OVER,
            first=0,
            last=0,
            ordinal=-1,
            payload=payload,
            created_at=session.created_at,
        ),
    )


def carry_over(
    session: Session,
    carried: CarryOver,
    blocks: Sequence[MemoryBlock],
    secrets: Sequence[Told] = (),
    *,
    chapter: int,
) -> CarryOver:
    """Return what the chapter after this one takes over.

    `blocks` are the complete blocks of canon, `carried` what this one took over, `chapter` its number.
    """
    names = dict(session.roster)
    played = {name_key(name) for name in names.values()}
    new = [
        CarriedLine(
            kind=kind,
            text=text,
            known_to=tuple(name for slot, name in names.items() if slot in label),
            chapter=chapter,
            is_pinned=is_pinned,
        )
        for kind, text, label, is_pinned in _found(session, blocks, secrets)
    ]
    old = [line for line in carried.lines if _goes_on(line, played, session)]
    lines = _merged([*new, *old])
    first_budget = min(sum(map(_tokens, lines)), MOST_TOKENS)
    budget = carried.budget or max(first_budget, LEAST_TOKENS)
    return CarryOver(budget=budget, lines=tuple(_within(lines, budget, chapter)))


def _goes_on(line: CarriedLine, played: set[str], session: Session) -> bool:
    """Whether a line of an earlier chapter is still wanted after this one."""
    if line.is_struck or lock_key(line.text) in set(map(lock_key, session.struck)):
        return False
    if line.is_pinned or line.kind is CarryKind.CANON:
        return True
    return not played & set(map(name_key, line.known_to))


def _found(
    session: Session, blocks: Sequence[MemoryBlock], secrets: Sequence[Told]
) -> Iterator[tuple[CarryKind, str, Audience, bool]]:
    """Yield what a chapter hands on, the newest of each kind first: its label, and whether it is pinned."""
    for lock in session.pinned:
        yield CarryKind.CANON, _line(lock), session.private_pins.get(lock, EVERYONE), True
    known = list(reversed(with_gm_locks(replace(session, pinned=()), blocks)))
    for block in known:
        for text in filter(None, map(_line, _listed(block.payload.get("canon_locks")))):
            yield CarryKind.CANON, text, block.audience, False
        if block.type is BlockType.CANON_CORRECTION:
            yield CarryKind.CANON, _line(block.payload.get("correction")), block.audience, False
    deltas = [block for block in known if block.type is BlockType.TURN_DELTA]
    for newest in {block.audience: block for block in reversed(deltas)}.values():
        where = newest.payload.get("location_updates")
        if isinstance(where, Mapping) and (text := _line(where.get("where"))):
            yield CarryKind.PLACE, text, newest.audience, False
    pairs: set[tuple[frozenset[str], Audience]] = set()
    for block in deltas:
        yield from _of_delta(block, pairs)
    for secret in secrets:
        yield CarryKind.KNOWLEDGE, _line(secret.text), secret.label, False


def _of_delta(
    block: MemoryBlock, pairs: set[tuple[frozenset[str], Audience]]
) -> Iterator[tuple[CarryKind, str, Audience, bool]]:
    """Yield threads, relations and knowledge; of two about the same pair the newer one alone, by `pairs`."""
    for thread in _records(block, "unresolved_threads"):
        yield CarryKind.THREAD, _joined(thread.get("thread"), thread.get("stakes")), block.audience, False
    for shift in _records(block, "relationship_shifts"):
        between = [_line(name) for name in _listed(shift.get("between"))]
        pair = (frozenset(map(name_key, between)), block.audience)
        if pair not in pairs and (change := _line(shift.get("change"))):
            pairs.add(pair)
            yield CarryKind.RELATION, _line(f"{' and '.join(between)}: {change}"), block.audience, False
    for thing in _records(block, "items_clues_discovered"):
        what = _joined(thing.get("thing"), thing.get("why_it_matters"))
        who = _line(thing.get("who_found"))
        told = _line(f"{what} (found by {who})") if what and who else what
        yield CarryKind.KNOWLEDGE, told, block.audience, False
    if not block.audience.is_everyone:
        for event in _records(block, "major_events"):
            yield CarryKind.KNOWLEDGE, _joined(event.get("event"), event.get("effect")), block.audience, False


def _merged(lines: Iterable[CarriedLine]) -> list[CarriedLine]:
    """Return each line once: of equal ones the first, pinned if one of them is, known to all who know one."""
    found: dict[str, CarriedLine] = {}
    for line in lines:
        if not line.text:
            continue
        key = lock_key(line.text)
        same = found.get(key)
        if same is not None:
            known_to = tuple(dict.fromkeys((*same.known_to, *line.known_to)))
            line = replace(same, known_to=known_to, is_pinned=same.is_pinned or line.is_pinned)
        found[key] = line
    return list(found.values())


def _within(lines: Sequence[CarriedLine], budget: int, chapter: int) -> list[CarriedLine]:
    """Return the pinned lines and as many others as fit, by their kinds, the newest chapter first."""
    kept = [line for line in lines if line.is_pinned]
    left = budget - sum(map(_tokens, kept))
    others = [line for line in lines if not line.is_pinned]
    for kind, share in _SHARES.items():
        room = int(budget * share)
        for line in (one for one in others if one.kind is kind and one.chapter == chapter):
            cost = _tokens(line)
            if cost <= min(room, left):
                kept.append(line)
                room, left = room - cost, left - cost
    for line in others:
        if line not in kept and _tokens(line) <= left:
            kept.append(line)
            left -= _tokens(line)
    order = {id(line): number for number, line in enumerate(lines)}
    kinds = list(_KEYS)
    return sorted(kept, key=lambda line: (kinds.index(line.kind), -line.chapter, order[id(line)]))


def _tokens(line: CarriedLine) -> int:
    return estimate_tokens(compact_json(line.text)) + 1


def _records(block: MemoryBlock, key: str) -> list[Mapping[str, Any]]:
    return [one for one in _listed(block.payload.get(key)) if isinstance(one, Mapping)]


def _listed(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _joined(what: object, why: object) -> str:
    first, second = _line(what), _line(why)
    return _line(f"{first} ({second})") if first and second else first


def _line(value: object) -> str:
    line = head(clean_line(value), LONGEST_LINE).strip() if isinstance(value, str) else ""
    return "" if is_blank(line) else line
