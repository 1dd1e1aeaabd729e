"""Applies a proposal to a character, and checks whether it still fits (design 14)."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, TypeVar

from core.domain.errors import IllegalCommandError
from core.domain.proposal import NAME, TEXT, Proposal, ProposedPart, Record
from core.library.characters.character import LibraryCharacter, Topic, Trait
from core.library.characters.checks import cleaned_character, problems_of_character
from core.text.name_list import name_key

_BETWEEN: Final = "\n\n"
_LENGTH: Final = "length"
_HASH: Final = "sha256"
OUTDATED: Final = "That part has changed since, so nothing was taken; drop the proposal, or ask again."
_NOT_AS_TAKEN: Final = "The taken part has changed since, so nothing was undone."
Item = TypeVar("Item", Trait, Topic)


class _MisfitError(Exception):
    """The character does not have what a proposal is about."""


def change_of(item: Trait | Topic, **changed: str | float) -> tuple[Record, Record]:
    """Return the records before and after a change of some fields of a trait or a topic."""
    before = {NAME: item.name, **{key: getattr(item, key) for key in changed}}
    return before, {NAME: item.name, **changed}


def identity_mark(identity: str) -> Record:
    """Return the record of an identity as it is now: an addition fits as long as it begins like that."""
    return {_LENGTH: len(identity), _HASH: _hashed(identity)}


def fits(character: LibraryCharacter, proposal: Proposal) -> bool:
    """Whether the character has the records that the proposal would replace, and room for its additions."""
    try:
        _applied(character, proposal)
    except _MisfitError:
        return False
    return True


def taken(character: LibraryCharacter, proposal: Proposal) -> LibraryCharacter:
    """Return the character with a proposal taken; raise IllegalCommandError for one that is outdated."""
    if not fits(character, proposal):
        raise IllegalCommandError(OUTDATED)
    return _applied(character, proposal)


def taken_back(character: LibraryCharacter, proposal: Proposal) -> LibraryCharacter:
    """Return the character as it was before a proposal was taken, with later changes to other parts.

    Raises IllegalCommandError where the taken part has changed since.
    """
    try:
        if proposal.part is ProposedPart.IDENTITY:
            return _without_addition(character, str(proposal.after[0][TEXT]))
        return _applied(character, replace(proposal, before=proposal.after, after=proposal.before))
    except _MisfitError:
        raise IllegalCommandError(_NOT_AS_TAKEN) from None


def _applied(character: LibraryCharacter, proposal: Proposal) -> LibraryCharacter:
    """Return the changed character; raise _MisfitError where that is not possible, or could not be stored."""
    changed = _changed(character, proposal)
    if any(problems_of_character(cleaned_character(changed))):
        raise _MisfitError
    return changed


def _changed(character: LibraryCharacter, proposal: Proposal) -> LibraryCharacter:
    before, after = proposal.before, proposal.after
    match proposal.part:
        case ProposedPart.SHORT_DESCRIPTION:
            if before[0][TEXT] != character.short_description:
                raise _MisfitError
            return replace(character, short_description=str(after[0][TEXT]))
        case ProposedPart.IDENTITY:
            length, hashed = int(before[0][_LENGTH]), before[0][_HASH]
            if _hashed(character.identity[:length]) != hashed:
                raise _MisfitError
            return replace(character, identity=_with_addition(character.identity, str(after[0][TEXT])))
        case ProposedPart.TRAIT:
            return replace(character, traits=_exchanged(character.traits, before, after, Trait))
        case ProposedPart.TOPIC:
            return replace(character, topics=_exchanged(character.topics, before, after, Topic))


def _exchanged(
    items: Sequence[Item], before: Sequence[Record], after: Sequence[Record], kind: type[Item]
) -> tuple[Item, ...]:
    """Return the items with those of `before` replaced by those of `after`, in their places."""
    found: list[Item | None] = list(items)
    places = [_place_of(items, record) for record in before]
    for place, record in zip(places, after, strict=False):
        found[place] = replace(items[place], **_values(record))
    for place in places[len(after) :]:
        found[place] = None
    kept: list[Item] = [item for item in found if item is not None]
    kept += (kind(**_values(record)) for record in after[len(before) :])
    return tuple(kept)


def _place_of(items: Sequence[Item], record: Record) -> int:
    for place, item in enumerate(items):
        if name_key(item.name) == name_key(str(record[NAME])):
            if all(getattr(item, key, None) == value for key, value in record.items() if key != NAME):
                return place
            break
    raise _MisfitError


def _values(record: Record) -> dict[str, Any]:
    return dict(record)


def _with_addition(identity: str, addition: str) -> str:
    return f"{identity}{_BETWEEN}{addition}" if identity.strip() else addition


def _without_addition(character: LibraryCharacter, addition: str) -> LibraryCharacter:
    identity = character.identity
    added = f"{_BETWEEN}{addition}"
    if identity == addition:
        return replace(character, identity="")
    if added not in identity:
        raise _MisfitError
    start = identity.rindex(added)
    return replace(character, identity=identity[:start] + identity[start + len(added) :])


def _hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()
