"""Results of an activation: whether each entry is active and why, as values and as sentences."""

from dataclasses import dataclass
from enum import StrEnum

from core.library.lore.book import Position, Role


class Reason(StrEnum):
    """Why an entry is active, or why it is not."""

    KEY = "key"
    CONSTANT = "constant"
    ACTIVATE = "activate"
    STICKY = "sticky"
    KEPT = "kept"

    DISABLED = "disabled"
    TRIGGER = "trigger"
    CHARACTER = "character"
    DELAY = "delay"
    COOLDOWN = "cooldown"
    CONDITION = "condition"
    WAITS_FOR_RECURSION = "waits for recursion"
    EXCLUDES_RECURSION = "excludes recursion"
    DONT_ACTIVATE = "dont activate"
    NO_KEYS = "no keys"
    NOT_FOUND = "not found"
    SECONDARY = "secondary"
    EXCLUDED_KEY = "excluded key"
    EXPRESSION_TOO_SLOW = "expression too slow"
    GROUP = "group"
    PROBABILITY = "probability"
    BUDGET = "budget"
    BOOK_BUDGET = "book budget"


_SENTENCES = {
    Reason.CONSTANT: "It is always active.",
    Reason.ACTIVATE: "Its decorator @@activate makes it always active.",
    Reason.STICKY: "It is still active from before (sticky).",
    Reason.KEPT: "It stays active since its first activation (@@keep_activate_after_match).",
    Reason.DISABLED: "It is turned off.",
    Reason.TRIGGER: "It is for other kinds of generation.",
    Reason.CHARACTER: "It is not for this character.",
    Reason.DELAY: "There are too few messages yet (delay).",
    Reason.COOLDOWN: "It was active and rests now (cooldown).",
    Reason.CONDITION: "The condition of its decorator does not hold now.",
    Reason.WAITS_FOR_RECURSION: "It waits for the text of another entry (recursion).",
    Reason.EXCLUDES_RECURSION: "The texts of other entries cannot activate it.",
    Reason.DONT_ACTIVATE: "Its decorator @@dont_activate keeps it off.",
    Reason.NO_KEYS: "It has no keys.",
    Reason.NOT_FOUND: "None of its keys is in the text.",
    Reason.PROBABILITY: "Chance was against it.",
    Reason.BUDGET: "The budget is used up.",
    Reason.BOOK_BUDGET: "The budget of its book is used up.",
}


@dataclass(frozen=True, slots=True)
class InputPosition:
    """Position of a text in an input; `depth` counts messages from the newest one."""

    position: Position
    depth: int
    role: Role
    outlet: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one entry. `key` is the one that was found, or that decided against it."""

    book: str
    uid: str
    name: str
    is_active: bool
    reason: Reason
    key: str = ""
    message: int | None = None
    """The number of the newest message with the key."""
    parent: str = ""
    """The uid of the entry whose text has the key."""
    detail: str = ""
    """Further details, such as the winner of a group."""
    tokens: int = 0

    @property
    def sentence(self) -> str:
        """Why, in one sentence for the GM."""
        match self.reason:
            case Reason.KEY if self.parent:
                return f"“{self.key}” is in the text of entry {self.parent}."
            case Reason.KEY if self.message is not None:
                return f"“{self.key}” is in message {self.message}."
            case Reason.KEY:
                return f"“{self.key}” is in {self.detail or 'the text'}."
            case Reason.SECONDARY:
                return f"“{self.key}” was found, but its secondary keys do not allow it ({self.detail})."
            case Reason.EXCLUDED_KEY:
                return f"“{self.key}” is in the text, which excludes it."
            case Reason.EXPRESSION_TOO_SLOW:
                return f"The expression {self.key} takes too long and was stopped."
            case Reason.GROUP:
                return f"Another entry of its group was taken ({self.detail})."
            case _:
                return _SENTENCES[self.reason]


@dataclass(frozen=True, slots=True)
class ActiveEntry:
    """An active entry: its text with macros expanded, where that goes, and why."""

    outcome: Outcome
    text: str
    place: InputPosition
    order: int
