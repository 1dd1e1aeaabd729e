"""A proposal in words: what it is about, what is there, what is proposed, and where it is from."""

from typing import Final

from core.domain.proposal import NAME, TEXT, Occasion, Proposal, ProposedPart, Record
from core.library.characters.nature import TITLES
from core.text.cleaning import clean_line

_FROM: Final = {
    Occasion.GAPS: "to fill a gap",
    Occasion.CHAPTER: "from the chapter",
    Occasion.EXPOSURE: "counted in the chapter",
    Occasion.FADE: "not in the chapter",
    Occasion.MERGE: "two that say the same",
    Occasion.NEGLECT: "neglected for long",
}
NO_RECORDS: Final = "—"
STAYS: Final = "The identity stays as it is; this is added behind it."


def about(proposal: Proposal) -> str:
    """Return what would change, in a few words."""
    names = " and ".join(f"“{name}”" for name in proposal.names)
    match proposal.part:
        case ProposedPart.SHORT_DESCRIPTION:
            return "Short description"
        case ProposedPart.IDENTITY:
            return "More of the identity"
        case ProposedPart.TRAIT | ProposedPart.TOPIC:
            what = proposal.part.value
            if not proposal.before:
                return f"New {what} {names}"
            return f"Two {what}s as one: {names}" if len(proposal.before) > 1 else f"{what.title()} {names}"


def there(proposal: Proposal) -> str:
    """Return what is replaced, as it was when the change was proposed."""
    if proposal.part is ProposedPart.IDENTITY:
        return STAYS
    return _records(proposal.before)


def proposed(proposal: Proposal) -> str:
    """Return what would take its place."""
    return _records(proposal.after)


def origin(proposal: Proposal) -> str:
    """Return where it is from: the kind of occasion, and the prompt of the chapter."""
    number = proposal.prompt_index
    return _FROM[proposal.occasion] + (f", prompt {number:,}" if number is not None else "")


def reason(proposal: Proposal, chapter: str) -> str:
    """Return in one line from which chapter it is, where that has a title, and why."""
    why = clean_line(proposal.why)
    parts = (f"From “{clean_line(chapter)}”." if chapter else "", f"Because: {why}" if why else "")
    return " ".join(filter(None, parts))


def _records(records: tuple[Record, ...]) -> str:
    if len(records) == 1 and TEXT in records[0]:
        return str(records[0][TEXT]) or NO_RECORDS
    is_told = len(records) > 1
    return "\n".join(line for record in records for line in _lines(record, is_named=is_told)) or NO_RECORDS


def _lines(record: Record, *, is_named: bool) -> list[str]:
    lines = [f"{record[NAME]}:"] if is_named else []
    for key, label in TITLES.items():
        value = record.get(key, "")
        if key != NAME and value != "":
            lines.append(f"{label}: {value if isinstance(value, str) else f'{value:g}'}")
    return lines
