"""The lore in a character's input: which entries the scene activates, as one section, and why (design 14).

What is scanned is what the character knows of the recent events, and the GM's prompt. All entries go into
one section, in the order that their positions and depths give them. Chance depends on the chapter's seed, the
character and the number of messages alone, so a prompt that is asked again gets the same input.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import Final

from core.agents.role.setup import AgentSetup, total
from core.config.models.model_config import PromptStyle
from core.context.lore import NO_ROOM, LoreNote
from core.context.segments import Segment
from core.context.tokens import estimate_tokens
from core.context.visibility import CharacterKnowledge
from core.domain.session.lore import ChapterLorebook
from core.domain.slot import Slot
from core.domain.story.transcript import in_order
from core.library.lore.activation.result import ActiveEntry, Outcome, Reason
from core.library.lore.activation.scanner import Activation, LoreScanner
from core.library.lore.activation.scene import (
    Activated,
    ActivationInput,
    Origin,
    ScannedBook,
    ScannedMessage,
    ScanSettings,
    budget_of,
)
from core.library.lore.book import Position
from core.library.macros import MacroNames
from core.text.cleaning import clean_line
from core.text.delimiters import SegmentName
from core.text.graphemes import head

LEAD: Final = (
    "What the Game Master's notes say of things that this scene touches. Where the story says otherwise, the "
    "story counts."
)
"""The first line of the section: no system prompt needs to name it, in a chapter without lore."""
MOST_NOTES: Final = 200
_LONGEST_NAME: Final = 60
_MOST_NAMED: Final = 10
"""Maximum number of entries that a note on omitted lore names."""
_PASSED_OVER: Final = frozenset(
    (
        *(Reason.NOT_FOUND, Reason.NO_KEYS, Reason.DISABLED, Reason.TRIGGER),
        *(Reason.WAITS_FOR_RECURSION, Reason.EXCLUDES_RECURSION, Reason.DONT_ACTIVATE),
    )
)
"""Reasons that are not worth a note: no text matched the entry, or its author turned it off."""
_NO_OUTLET: Final = "It is for an outlet, and nothing in the input of a chapter names one."
_NORMAL: Final = "normal"
_CONTINUE: Final = "continue"
"""The kinds of generation in which an entry may be active; the names are SillyTavern's."""
_IDENTITY: Final = ("description", "personality")
"""The fields of a card that become an identity (`core.library.characters.from_card`)."""
_BUDGETS: Final = (Reason.BUDGET, Reason.BOOK_BUDGET)


@dataclass(frozen=True, slots=True)
class FoundLore:
    """The entries that a scene activates, in the order of the input, and what became of the others."""

    entries: tuple[ActiveEntry, ...] = ()
    refused: tuple[Outcome, ...] = ()
    log: tuple[Activated, ...] = ()
    dropped: tuple[ActiveEntry, ...] = ()
    """Those that were active, and had no room."""
    unplaced: tuple[ActiveEntry, ...] = ()
    """Those that were active for an outlet."""

    def segments(self, setup: AgentSetup) -> tuple[Segment, ...]:
        """Return the section; nothing where no entry has a text.

        It is relevant as far as a key of its entries is in the scene, and they are not always active.
        """
        texts = [text for entry in self.entries if (text := entry.text.strip())]
        if not texts:
            return ()
        touched = sum(entry.outcome.reason is Reason.KEY for entry in self.entries) / len(self.entries)
        return (replace(setup.fenced(SegmentName.LORE, "\n\n".join((LEAD, *texts))), relevance=touched),)

    def within(self, setup: AgentSetup, room: int) -> "FoundLore":
        """Return the lore in at most `room` tokens: the entries of the lowest order go first."""
        if total(self.segments(setup)) <= room:
            return self
        order = sorted(self.entries, key=lambda entry: entry.order)
        # Each entry that goes makes the section shorter, so that few of the numbers need to be tried.
        count = bisect_left(
            range(len(order)),
            True,
            key=lambda count: total(self._without(order[:count]).segments(setup)) <= room,
        )
        return self._without(order[:count])

    def _without(self, dropped: Sequence[ActiveEntry]) -> "FoundLore":
        gone = set(map(id, dropped))
        kept = tuple(one for one in self.entries if id(one) not in gone)
        return replace(self, entries=kept, dropped=(*self.dropped, *dropped))

    @property
    def uses(self) -> tuple[tuple[str, str, str, int], ...]:
        """The entries on which later inputs depend, as a reply keeps them."""
        gone = {(one.outcome.book, one.outcome.uid) for one in self.dropped}
        return tuple(
            (one.book, one.uid, one.digest, one.at) for one in self.log if (one.book, one.uid) not in gone
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        """The entries that the budget omitted, in words."""
        refused = [one for one in self.refused if one.reason in _BUDGETS]
        parts = [
            ("no room", [one.outcome for one in self.dropped]),
            ("the budget of lore is used up", refused),
        ]
        return tuple(f"Lore: {_named(outcomes)} ({why})" for why, outcomes in parts if outcomes)

    def notes(self) -> tuple[LoreNote, ...]:
        """Return what became of every entry that the scene concerned, for the GM; those that are in first."""
        notes = chain(
            (_note(one.outcome, _why(one.outcome), is_in=True) for one in self.entries),
            (_note(one.outcome, NO_ROOM, is_in=False) for one in self.dropped),
            (_note(one.outcome, _NO_OUTLET, is_in=False) for one in self.unplaced),
            (_note(one, _why(one), is_in=False) for one in self.refused),
        )
        return tuple(islice(notes, MOST_NOTES))


class LoreReader:
    """Finds the lore of inputs; keeps what it searched, for each character. Threads may share it."""

    def __init__(self, percent: float) -> None:
        """Use at most `percent` of an input for lore."""
        self._percent = percent
        self._scanners: dict[tuple[Slot, PromptStyle], LoreScanner] = {}
        self._turn = Lock()

    def find(
        self,
        setup: AgentSetup,
        knowledge: CharacterKnowledge,
        prompt_text: str = "",
        *,
        continues: bool = False,
    ) -> FoundLore:
        """Return the lore for an input; blocking. `prompt_text` is a prompt of the GM that is new.

        `continues` says whether the input asks for more of a reply.
        """
        own, lore = knowledge.character, knowledge.lore
        books = [ScannedBook(book, about.name, _origin(about)) for about, book in lore.books]
        scene = _scene(knowledge, prompt_text, _CONTINUE if continues else _NORMAL)
        settings = ScanSettings(budget=budget_of(setup.budget, self._percent))
        with self._turn:
            scanner = self._scanners.get((own.slot, setup.style))
            if scanner is None:
                scanner = LoreScanner(partial(estimate_tokens, style=setup.style))
                self._scanners[own.slot, setup.style] = scanner
            return _found(scanner.activate(books, scene, settings))


def _origin(about: ChapterLorebook) -> Origin:
    return Origin.WORLD if about.owner is None else Origin.CHARACTER


def _scene(knowledge: CharacterKnowledge, prompt_text: str, trigger: str) -> ActivationInput:
    session, own, lore = knowledge.session, knowledge.character, knowledge.lore
    messages = [
        ScannedMessage(event.prompt_index, event.text, session.name_of(event.slot) if event.slot else "")
        for event in in_order(knowledge.events)
    ]
    if prompt_text:
        messages.append(ScannedMessage(session.prompt_index + 1, prompt_text))
    return ActivationInput(
        messages=messages,
        # Counted by prompts, so that it is the same whatever of them the character has heard.
        length=2 * session.prompt_index + bool(prompt_text),
        replies=session.prompt_index,
        seed=f"{lore.books[0][0].seed}/{int(own.slot)}",
        names=MacroNames(char=own.name),
        character=own.name,
        tags=own.profile.tags,
        fields=dict.fromkeys(_IDENTITY, own.identity),
        trigger=trigger,
        log=lore.uses,
    )


def _found(activation: Activation) -> FoundLore:
    refused = (one for one in activation.refused if one.reason not in _PASSED_OVER)
    placed = tuple(one for one in activation.active if one.place.position is not Position.OUTLET)
    unplaced = tuple(one for one in activation.active if one.place.position is Position.OUTLET)
    return FoundLore(placed, tuple(islice(refused, MOST_NOTES)), activation.log, unplaced=unplaced)


def _note(outcome: Outcome, why: str, *, is_in: bool) -> LoreNote:
    return LoreNote(clean_line(outcome.book), _name(outcome), is_in, clean_line(why))


def _why(outcome: Outcome) -> str:
    if outcome.reason is Reason.KEY and outcome.message is not None and not outcome.parent:
        return f"“{outcome.key}” is in prompt {outcome.message:,}, or in a reply to it."
    if outcome.reason is Reason.KEY and outcome.message is None and not outcome.parent:
        return f"“{outcome.key}” is in its identity."
    return outcome.sentence


def _name(outcome: Outcome) -> str:
    return head(clean_line(outcome.name) or f"entry {clean_line(outcome.uid)}", _LONGEST_NAME)


def _named(outcomes: Sequence[Outcome]) -> str:
    names: Iterable[str] = (f"“{_name(one)}”" for one in outcomes[:_MOST_NAMED])
    more = len(outcomes) - _MOST_NAMED
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")
