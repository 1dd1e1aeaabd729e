"""The sheet of a character in its input: what play changed about it, a line each (design 15)."""

from bisect import bisect_right
from typing import Final

from core.agents.role.setup import AgentSetup, total
from core.config.models.model_config import PromptStyle
from core.context.bank import Remembered
from core.context.segments import Segment
from core.context.visibility import CharacterKnowledge
from core.domain.bank.details import Aspect, StateDetails
from core.text.cleaning import clean_line
from core.text.delimiters import SegmentName

NEWER_COUNTS: Final = "Where something newer says otherwise, that counts."
LEAD: Final = f"What has become of the character in play, each with the prompt that says so. {NEWER_COUNTS}"
"""The first line of the section: no system prompt needs to name it, in a chapter without a bank."""
_SHARE: Final = 0.04
"""Maximum share of the budget for the sheet."""
_MOST_TOKENS: Final = {PromptStyle.FULL: 600, PromptStyle.SMALL: 160}


def sheet_of(
    setup: AgentSetup, knowledge: CharacterKnowledge, room: int
) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """Return the section, within its budget and at most `room` tokens, and in words what has no room in it.

    Nothing where nothing has changed. What the GM pinned goes last, and before that the newest lines.
    """
    lines = knowledge.bank.sheet
    most = min(room, int(setup.budget * _SHARE), _MOST_TOKENS[setup.style])
    by_worth = sorted(lines, key=lambda line: line.item.is_pinned)

    def worthiest(count: int) -> tuple[Segment, ...]:
        kept = {line.item.id for line in by_worth[len(lines) - count :]}
        return _section(setup, [line for line in lines if line.item.id in kept])

    # By halves: measured line by line, a sheet of a thousand lines would take seconds.
    count = bisect_right(range(1, len(lines) + 1), most, key=lambda count: total(worthiest(count)))
    dropped = len(lines) - count
    left_out = (f"{dropped:,} older lines of its sheet (no room)",) if dropped > 1 else ()
    left_out = ("1 older line of its sheet (no room)",) if dropped == 1 else left_out
    return worthiest(count), left_out


def line_text(line: Remembered) -> str:
    """Return a line of a sheet: what it is about, what it says, and where it is from."""
    item = line.item
    aspect = item.details.aspect if isinstance(item.details, StateDetails) else Aspect.OTHER
    about = "" if aspect is Aspect.OTHER else f"{aspect}: "
    return f"- {about}{clean_line(item.text)} ({line.place})"


def _section(setup: AgentSetup, lines: list[Remembered]) -> tuple[Segment, ...]:
    if not lines:
        return ()
    return (setup.fenced(SegmentName.CHARACTER_SHEET, "\n".join((LEAD, *map(line_text, lines)))),)
