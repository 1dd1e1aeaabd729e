"""Renders the details of an item as text; pure (design 15)."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from core.context.visibility import names_of
from core.domain.agent_role import AGENT_NAMES, AgentRole
from core.domain.bank.details import Exposed
from core.domain.bank.evidence import Evidence
from core.domain.bank.item import Item, ItemAccess, ItemOrigin, SourceOrigin, exposure_of, strength_of
from core.domain.ids import ItemId
from core.domain.session.session import Session
from core.engine.services.bank.provenance import Author, ItemProvenance
from core.text.cleaning import clean, clean_line
from storyengine_tui.screens.bank.bank_rows import mark_of
from storyengine_tui.screens.bank.detail_fields import lines_of
from storyengine_tui.screens.bank.item_numbers import shown_decay, shown_id, shown_prompt
from storyengine_tui.widgets.elapsed import shown_time
from storyengine_tui.widgets.reading.memory_outline import Passage

_MOST_SUPERSEDED = 20
NOT_PROVED = "No line of the story is named as proof: you wrote it."


def passages_of_item(
    item: Item,
    history: Sequence[Item],
    access: ItemAccess | None,
    session: Session,
    at: datetime | None,
    *,
    is_out: bool,
    provenance: ItemProvenance | None,
    others: Mapping[ItemId, Item],
) -> list[Passage]:
    """Return what an item says, who may know it, how strong it is, and how it was changed.

    `at` is the time that it is, where items fade by hours; `is_out` says that it does not count as the GM
    took it out; `provenance` says who made it, and `others` are the items of its chapter by their ids.
    """
    names = {one.id: one.name for one in others.values()}
    made = [_passage("What it says", [clean(item.text), *lines_of(item.details, names)])]
    known = [
        *_facts(item, access, session, at, is_out=is_out),
        *(() if provenance is None else _provenance(provenance)),
    ]
    if item.merged_into in names:
        known.append(f"Merged into: {clean_line(names[item.merged_into])}")
    made.append(_passage("What is known of it", known))
    merged = [one for one in others.values() if one.merged_into == item.id]
    if merged:
        lines = (f"{clean_line(one.name)}: {clean_line(one.text)}" for one in merged)
        made.append(_passage("What was merged into it", list(lines)))
    if len(history) > 1:
        made.append(_passage("How it was changed", [*_changes(history, session)]))
    if item.supersedes is not None:
        older = list(_superseded(item, others))
        them, back = ("These no longer count", "the first of these counts")
        if len(older) == 1:
            them, back = ("This no longer counts", "this counts")
        advice = "" if is_out else f"{them}. x takes the newer item out, and {back} again."
        made.append(_passage("What it took the place of", [*older, advice]))
    return made


def evidence_line(evidence: Evidence) -> str:
    """Return a proof on one line: where it is, and its words."""
    place = f"prompt {evidence.prompt_index:,}" if evidence.prompt_index else "before the first prompt"
    return f"{place}: “{clean_line(evidence.words)}”"


def _passage(heading: str, lines: Sequence[str]) -> Passage:
    return Passage("\n".join((heading, *filter(None, lines))), heading=len(heading))


def _superseded(item: Item, others: Mapping[ItemId, Item]) -> Iterator[str]:
    """Yield the items that it superseded, the newest first."""
    for _ in range(_MOST_SUPERSEDED):
        if item.supersedes is None:
            return
        if item.supersedes not in others:
            yield "An item of an earlier chapter"
            return
        item = others[item.supersedes]
        yield f"Prompt {item.proved_at:,}: {clean_line(item.text)}"


def _facts(
    item: Item, access: ItemAccess | None, session: Session, at: datetime | None, *, is_out: bool
) -> Iterator[str]:
    last = None if access is None else access.last_accessed
    origin = "you wrote it" if item.origin is ItemOrigin.GM else "drawn from play"
    if item.source_origin is SourceOrigin.LEARNED:
        origin = "drawn from play, and brought up to date by it"
    words = ", the words are yours" if item.is_by_gm and item.origin is not ItemOrigin.GM else ""
    yield f"Kind: {item.kind.value}, {origin}{words}"
    if item.about is not None:
        yield f"About: {session.name_of(item.about)}"
    yield f"Known to: {names_of(item.label, session)}"
    yield f"Id: {shown_id(item.id)}"
    mark = mark_of(item, is_out=is_out).replace("✓", "confirmed")
    if mark:
        yield f"State: {mark}"
    if item.session_id != session.id:
        yield f"Importance: {item.importance:.2f}; it is from an earlier chapter of the book"
    else:
        left = strength_of(item, session.prompt_index, last, at)
        yield f"Importance: {item.importance:.2f}, of which {left:.2f} is left"
    yield f"Confidence: {item.confidence:.2f}"
    if not item.is_fading:
        yield "Fading: never, as you pinned or confirmed it"
    elif not item.decay_rate:
        yield "Fading: never"
    else:
        yield f"Fading: {shown_decay(item.decay_rate)} of it with each {'prompt' if at is None else 'hour'}"
    if isinstance(item.details, Exposed) and (exposure := item.details.exposure_current) is not None:
        yield f"Exposure: {exposure:.2f}{_left_of_exposure(item, last, session, at)}"
    if item.sentiment:
        yield f"Sentiment: {item.sentiment:+.2f} of -1 to 1"
    if access is None:
        yield "Recalled: never"
    else:
        times = "once" if access.access_count == 1 else f"{access.access_count:,} times"
        yield f"Recalled: {times}, last at prompt {access.last_accessed:,}"
    if item.expires_at is not None:
        yield f"Recalled no longer after prompt {item.expires_at:,}"


def _left_of_exposure(item: Item, last: int | None, session: Session, at: datetime | None) -> str:
    """Return what is left of the exposure by now; nothing for an item of another chapter."""
    left = exposure_of(item, session.prompt_index, last, at) if item.session_id == session.id else None
    return "" if left is None else f", of which {left:.2f} is left"


def _provenance(provenance: ItemProvenance) -> Iterator[str]:
    """Yield the author of its first version, and that of its last change."""
    yield f"Learned by: {_author(provenance.learned_by)}"
    if provenance.last_changed_by is not None:
        yield f"Last changed by: {_author(provenance.last_changed_by)}"


def _author(author: Author) -> str:
    if author.is_gm:
        return f"you, {shown_time(author.at)}"
    role = AgentRole.CONTEXT_SUMMARY
    reader = f"{AGENT_NAMES[role]} (agent {role.agent_id})"
    return f"{reader}, which read up to prompt {author.prompt_index:,}, {shown_time(author.at)}"


def _changes(history: Sequence[Item], session: Session) -> Iterator[str]:
    for before, after in itertools.pairwise(history):
        undone = "" if after.undoes is None else f" (undoes version {after.undoes})"
        changes = "; ".join(_change(before, after, session)) or "as it was"
        yield f"{shown_time(after.updated_at)}: {changes}{undone}"


def _change(before: Item, after: Item, session: Session) -> Iterator[str]:
    if before.validation is not after.validation:
        yield {"none": "new again"}.get(after.validation.value, after.validation.value)
    if before.is_pinned is not after.is_pinned:
        yield "pinned" if after.is_pinned else "no longer pinned"
    if before.merged_into != after.merged_into:
        yield "merged into another" if after.merged_into is not None else "no longer merged"
    said = {
        "name": f"name, before “{clean_line(before.name)}”",
        "text": f"text, before “{clean_line(before.text)}”",
        "details": "details",
        "about": f"about, before {'no one' if before.about is None else session.name_of(before.about)}",
        "importance": f"importance, before {before.importance:.2f}",
        "confidence": f"confidence, before {before.confidence:.2f}",
        "decay_rate": f"fading, before {shown_decay(before.decay_rate)}",
        "expires_at": f"last prompt, before {shown_prompt(before.expires_at) or 'none'}",
        "sentiment": f"sentiment, before {before.sentiment:+.2f}",
        "evidence": "proofs",
    }
    yield from (words for name, words in said.items() if getattr(before, name) != getattr(after, name))
