"""Inputs of an activation: the messages, the settings, and the log of earlier activations.

The messages are those that the slot may know: the caller chooses them (design 13).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from core.domain.story.reply_uses import LoreUse
from core.library.lore.book import Lorebook, LoreEntry
from core.library.macros import MacroNames

DIGESTED: Final = (
    *("uid", "name", "keys", "secondary", "content", "is_enabled", "is_constant", "is_selective", "logic"),
    *("order", "position", "depth", "role", "outlet", "probability", "uses_probability", "scan_depth"),
    *("case_sensitive", "whole_words", "uses_regex", "priority", "ignores_budget", "excludes_recursion"),
    *("prevents_recursion", "delay_until_recursion", "groups", "is_group_override", "group_weight"),
    *("group_scoring", "sticky", "cooldown", "delay", "matches_persona", "matches_description"),
    *("matches_personality", "matches_depth_prompt", "matches_scenario", "matches_notes", "triggers"),
    *("filter_names", "filter_tags", "filter_excludes"),
)
"""The fields of an entry that its digest is made of."""
_VERSION: Final = 1
"""Of the form of digests: another one ends every timer of the chapters that are stored."""
_PLAIN: Final = LoreEntry(uid="")


class Origin(StrEnum):
    """Owner of a book; those of the character come first."""

    CHARACTER = "character"
    WORLD = "world"


@dataclass(frozen=True, slots=True)
class ScannedBook:
    """A book to scan. `label` names it in results and in the log; it is unique among the books."""

    book: Lorebook
    label: str = ""
    origin: Origin = Origin.WORLD


@dataclass(frozen=True, slots=True)
class ScannedMessage:
    """One message. `number` is how results name it."""

    number: int
    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Activated:
    """An entry that was active when there were `at` messages; `digest` is that of the entry then."""

    book: str
    uid: str
    digest: str
    at: int


Logged = Activated | LoreUse
"""Line of a log: an entry was active when there were so many messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSettings:
    """Bounds of a scan; what entries and books leave open otherwise is off."""

    scan_depth: int = 2
    """Messages that are scanned for entries and books that set no number."""
    budget: int | None = None
    """Tokens of all texts together; None means no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationInput:
    """Input of an activation: the messages of a story, and what else is scanned or decides."""

    messages: Sequence[ScannedMessage] = ()
    """Oldest first."""
    length: int | None = None
    """Number of messages in the story; that of `messages` if not given."""
    replies: int | None = None
    """Number of them that characters wrote; `length` if not given."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Texts for entries that ask for them: `persona`, `description`, `personality`, `depth_prompt`,
    `scenario`, `notes`."""
    seed: str = ""
    """Seed of random choices; stored with the input, so that it can be made again."""
    names: MacroNames = field(default_factory=MacroNames)
    character: str = ""
    tags: Sequence[str] = ()
    trigger: str = "normal"
    log: Sequence[Logged] = ()
    """Earlier activations; entries at or behind `length` do not count."""

    @property
    def message_count(self) -> int:
        """Number of messages in the story."""
        return len(self.messages) if self.length is None else self.length


def digest_of(entry: LoreEntry) -> str:
    """Return a hash of an entry that changes when it is edited.

    It is stored with replies, so it stays the same in later versions of the program: a field that is added to
    entries is left out where an entry does not use it.
    """
    said = {name: getattr(entry, name) for name in DIGESTED if getattr(entry, name) != getattr(_PLAIN, name)}
    text = json.dumps([_VERSION, said], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def budget_of(context: int, percent: float) -> int:
    """Return the budget in tokens: a share of a model's context."""
    return max(1, int(context * percent / 100 + 0.5))
