"""Characters that are away in a chapter script (`away` of a prompt) or may be silent (`silence`)."""

from collections.abc import Mapping
from typing import Final

from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.session.absence import LATEST_RETURN
from core.domain.slot import Slot, slot_after
from core.exchange.scripts.fields import FieldReader, kind_of

Away = Mapping[Slot, int]
"""Those away from a prompt on, each with the prompt of the return; 0 until the script says otherwise."""

NOBODY_AWAY: Final[Away] = {}


def read_absences(
    reader: FieldReader, table: Mapping[str, object], cast: Mapping[Slot, str], owner: str, index: int
) -> Away | None:
    """Return who is away from prompt `index` on; None where the prompt does not say."""
    if "away" not in table:
        return None
    stated = table["away"]
    if not isinstance(stated, dict):
        reader.report(
            f"{owner}away", f'must be a table such as {{"Joss" = {index + 3}}}, not {kind_of(stated)}.'
        )
        return None
    away: dict[Slot, int] = {}
    for name, value in stated.items():
        slot = reader.slot_of(int(name) if name in _DIGITS else name, cast, f"{owner}away")
        if slot is None:
            continue
        if value is True:
            away[slot] = 0
        elif isinstance(value, int) and index < value <= LATEST_RETURN:
            away[slot] = value
        else:
            reader.report(
                f"{owner}away", f"must name a prompt from {index + 1:,} on for the return, or true for open."
            )
    if cast and set(away) >= set(cast):
        reader.report(f"{owner}away", "names the whole cast; someone has to stay in the scene.")
    return away


def absent_at(away: Away | None, index: int) -> dict[Slot, int]:
    """Return those of `away` that are still away at prompt `index`."""
    return {slot: back_at for slot, back_at in (away or {}).items() if back_at == 0 or index < back_at}


def speaker_after(slot: Slot, slots: tuple[Slot, ...], away: Away | None, index: int) -> Slot:
    """Return whom the rotation calls at prompt `index` after `slot`: the next that is not away."""
    absent = absent_at(away, index)
    return slot_after(slot, tuple(one for one in slots if one not in absent) or slots)


def refuse_absent(
    reader: FieldReader, away: Away | None, index: int, slot: Slot, cast: Mapping[Slot, str], owner: str
) -> None:
    """Report a prompt to a character that is away."""
    if slot in absent_at(away, index):
        reader.report(f"{owner}to", f"= {cast.get(slot, slot.default_name)} is away at prompt {index:,}.")


def read_silence(
    reader: FieldReader, document: Mapping[str, object], cast: Mapping[Slot, str]
) -> Audience | None:
    """Return who may act without words or say nothing; None where the script does not say."""
    stated = document.get("silence")
    if isinstance(stated, bool):
        return EVERYONE if stated else NOBODY
    return reader.characters(document, "silence", cast, "")


_DIGITS: Final = tuple(str(int(slot)) for slot in Slot)
