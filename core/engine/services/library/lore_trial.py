"""Tries a text on a lorebook: which entries it activates, and why the others are not (design 14)."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from core.context.tokens import estimate_tokens
from core.library.card_lore import LoreFile
from core.library.lore.activation.result import Outcome, Reason
from core.library.lore.activation.scanner import Activation, LoreScanner
from core.library.lore.activation.scene import ActivationInput, ScannedBook, ScannedMessage, ScanSettings
from core.library.lore.book import MATCHES, LoreEntry
from core.library.macros import MacroNames
from core.text.cleaning import clean

LARGEST_TEXT: Final = 4 * 1024 * 1024
"""Bytes of a text to try a book on."""
LEFT_OUT: Final = (Reason.BUDGET, Reason.BOOK_BUDGET)
"""The reasons that are about room alone."""
_ASKED: Final[Mapping[str, Callable[[LoreEntry, LoreFile], bool]]] = {
    "texts of a character or a persona": lambda entry, _: any(getattr(entry, name) for name in MATCHES),
    "the name of a character": lambda entry, file: bool(entry.filter_names) and file.card is None,
    "tags": lambda entry, _: bool(entry.filter_tags),
    "kinds of generation but “normal”": lambda entry, _: bool({*entry.triggers} - {"normal"}),
}
_PARAGRAPHS = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreTrialInput:
    """Input of a trial. Each paragraph of the text is a message, and the last is the newest."""

    text: str
    depth: int | None = None
    """Messages to scan, where the book says nothing; None for all of them."""
    budget: int | None = None
    """Most tokens of all texts together; None is without a limit."""
    seed: str = ""
    """Seed of random choices."""

    @property
    def messages(self) -> tuple[ScannedMessage, ...]:
        """The paragraphs of the text, numbered from 1."""
        paragraphs = filter(str.strip, _PARAGRAPHS.split(clean(self.text)))
        return tuple(ScannedMessage(number, one.strip()) for number, one in enumerate(paragraphs, start=1))


class LoreTrials:
    """Tries texts, one after another: what was found is kept for the next. Not for two threads at once."""

    def __init__(self) -> None:
        self._scanner = LoreScanner(estimate_tokens)

    def activate(self, file: LoreFile, trial: LoreTrialInput) -> Activation:
        """Return what a text activates in the book of a file; blocking."""
        messages = trial.messages
        names, character = MacroNames(), ""
        if file.card is not None and file.card.called:
            names, character = MacroNames(char=file.card.called), file.card.name
        scene = ActivationInput(messages=messages, seed=trial.seed, names=names, character=character)
        depth = len(messages) if trial.depth is None else trial.depth
        settings = ScanSettings(scan_depth=depth, budget=trial.budget)
        return self._scanner.activate([ScannedBook(file.book)], scene, settings)


def not_tried(file: LoreFile) -> str:
    """Return in a sentence what entries ask for that a trial does not have; empty if none does; blocking."""
    found: set[str] = set()
    for entry in file.book.entries:
        if entry.is_enabled:
            found |= {words for words, is_asked in _ASKED.items() if is_asked(entry, file)}
    missing = [words for words in _ASKED if words in found]
    return f"A trial ignores these conditions of entries: {', '.join(missing)}." if missing else ""


def in_order(activation: Activation) -> tuple[Outcome, ...]:
    """Return every outcome: first what is active, in the order of the input, then what the budget left out.

    The others follow in the order in which the budget would have gone to them.
    """
    active = [one.outcome for one in activation.active]
    others = [one for one in activation.outcomes if not one.is_active]
    others.sort(key=lambda one: one.reason not in LEFT_OUT)
    return (*active, *others)
