"""The dialogs of tab 2 about takes: another model, a branch, the GM's own text of a reply (design 12)."""

from core.domain.session.profile import LONGEST_MODEL
from storyengine_tui.widgets.dialogs.line_modal import LineModal
from storyengine_tui.widgets.dialogs.stored_text_modal import StoredTextModal


class ModelOnceModal(LineModal):
    """Ends with the model that writes the next take."""

    HEADING = "Re-roll with another model"
    PLACEHOLDER = "The model's name"
    NOTE = "A model of the account that answers now, or ACCOUNT:MODEL; for this take alone."
    LIMIT = LONGEST_MODEL
    SAVE = "Re-roll"


class BranchModal(LineModal):
    """Ends with the number of the last prompt that the branch has, in digits."""

    HEADING = "Branch the chapter"
    PLACEHOLDER = "The number of a prompt"
    LIMIT = 9
    REPLACES = True
    SAVE = "Branch"

    def __init__(self, at: int, last: int) -> None:
        super().__init__(str(at))
        self._last = last
        self._which = "1" if last == 1 else f"1 to {last:,}"
        self.note = (
            f"The last prompt that the new chapter has, {self._which}. It begins with the same cast, story "
            "and memory up to there, and opens at once. This chapter stays as it is."
        )

    def refusal(self, line: str) -> str:
        """Refuse what is no number of a prompt."""
        digits = line.strip()
        is_prompt = digits.isascii() and digits.isdigit() and 1 <= int(digits) <= self._last
        return "" if is_prompt else f"Type the number of a prompt, {self._which}."


class ReplyModal(StoredTextModal):
    """Stores the GM's own text of a reply as another take."""

    EFFECT = "Your text becomes another take, and counts from now on. The model's own take stays."
    HELP = f"The newest reply, corrected by hand. {EFFECT}"
    heading = "Correct the reply"
    LOSS = ("Discard the correction?", "The reply stays as it was, and your text will be lost.")

    @property
    def has_changes(self) -> bool:
        """Whether the text differs from the reply."""
        return self._area.text.strip() != self._stored.strip()
