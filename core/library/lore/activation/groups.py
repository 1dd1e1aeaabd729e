"""Inclusion groups: of the entries of a group that would become active together, one is taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.library.lore.activation.compiled import CompiledEntry
from core.library.lore.book import Logic
from core.library.macros import drawn


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that would become active. `score` counts its keys in the text."""

    rank: int
    compiled: CompiledEntry
    is_sticky: bool
    score: Callable[[], int]


def losers(
    candidates: Sequence[Candidate], taken: Callable[[str], str | None], *, scores: bool, seed: Sequence[str]
) -> dict[int, str]:
    """Return the ranks that lose, each with the winner over it.

    `taken` names the entry of a group that is active already. `scores` is whether entries that say nothing
    are compared by their scores.
    """
    lost: dict[int, str] = {}
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        for group in candidate.compiled.entry.groups:
            groups.setdefault(group, []).append(candidate)
    for group, members in groups.items():
        left = [member for member in members if member.rank not in lost]
        lost |= _lost_in(group, left, taken(group), scores=scores, seed=seed)
    return lost


def _lost_in(
    group: str, members: list[Candidate], active: str | None, *, scores: bool, seed: Sequence[str]
) -> dict[int, str]:
    sticky = [member for member in members if member.is_sticky]
    if sticky:
        return _others(members, sticky)
    lost = _outscored(members, scores=scores)
    members = [member for member in members if member.rank not in lost]
    if active is not None:
        return lost | {member.rank: f"entry {active} is active already" for member in members}
    if len(members) < 2:
        return lost
    preferred = [member for member in members if member.compiled.entry.is_group_override]
    winner = min(preferred, key=lambda member: member.rank) if preferred else _drawn(members, group, seed)
    return lost | _others(members, [winner])


def _others(members: list[Candidate], winners: list[Candidate]) -> dict[int, str]:
    names = ", ".join(winner.compiled.entry.uid for winner in winners)
    return {member.rank: f"entry {names} was" for member in members if member not in winners}


def _outscored(members: list[Candidate], *, scores: bool) -> dict[int, str]:
    switches = [member.compiled.entry.group_scoring for member in members]
    if not (scores or any(switches)) or len(members) < 2:
        return {}
    points = {member.rank: member.score() for member in members}
    most = max(points.values())
    return {
        member.rank: f"it has {points[member.rank]} of {most} keys"
        for member, switch in zip(members, switches, strict=True)
        if (scores if switch is None else switch) and points[member.rank] < most
    }


def _drawn(members: list[Candidate], group: str, seed: Sequence[str]) -> Candidate:
    """Return the winner by weight; of weights that are all 0, the first."""
    total = sum(member.compiled.entry.group_weight for member in members)
    at = drawn(*seed, "group", group) * total
    for member in members:
        at -= member.compiled.entry.group_weight
        if at < 0:
            return member
    return members[0]


def score(primary: Sequence[bool], secondary: Sequence[bool], logic: Logic) -> int:
    """Return the score of an entry from which of its keys are in the text."""
    if not primary:
        return 0
    if not secondary or logic not in (Logic.AND_ANY, Logic.AND_ALL):
        return sum(primary)
    if logic is Logic.AND_ALL and not all(secondary):
        return sum(primary)
    return sum(primary) + sum(secondary)
