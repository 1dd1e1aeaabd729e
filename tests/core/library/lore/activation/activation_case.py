"""A case of activation: entries, messages, and which entries must be active, worked out by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.library.lore.activation.scanner import Activation, LoreScanner
from core.library.lore.activation.scene import (
    Activated,
    ActivationInput,
    ScannedBook,
    ScannedMessage,
    ScanSettings,
    digest_of,
)
from core.library.lore.book import Lorebook, LoreEntry
from core.library.macros import MacroNames

ST = "SillyTavern"
V2 = "Character Card V2"
V3 = "Character Card V3"
OURS = "ours"


def entry(uid: str, *keys: str, **fields: Any) -> LoreEntry:
    """An entry whose text is one word of its own, unless given."""
    fields.setdefault("content", f"text-of-{uid}")
    return LoreEntry(uid=uid, keys=keys, **fields)


@dataclass(frozen=True)
class Case:
    """One case. `active` are the uids in the order of the input; a `set` where the order says nothing."""

    rule: str
    source: str
    entries: Sequence[LoreEntry]
    messages: Sequence[str]
    active: Sequence[str] | set[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the scan; `is_recursive` is the word of the book, where `book` has none."""
    scene: Mapping[str, Any] = field(default_factory=dict)
    book: Mapping[str, Any] = field(default_factory=dict)
    others: Sequence[ScannedBook] = ()
    before: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """At how many messages each entry was active before."""


def activated(case: Case, scanner: LoreScanner | None = None) -> Activation:
    """Activate a case; a token is a character, so that budgets can be worked out by hand."""
    log = [
        Activated("book", one.uid, digest_of(one), at)
        for one in case.entries
        for at in case.before.get(one.uid, ())
    ]
    said = [ScannedMessage(number, text) for number, text in enumerate(case.messages, start=1)]
    scene = ActivationInput(
        **{
            "messages": said,
            "log": log,
            "seed": "seed",
            "names": MacroNames(char="Kara", user="Tom"),
            "character": "Kara",
            **case.scene,
        }
    )
    settings = dict(case.settings)
    about = {"is_recursive": settings.pop("is_recursive", None), **case.book}
    book = ScannedBook(Lorebook(entries=tuple(case.entries), **about), "book")
    return (scanner or LoreScanner(len)).activate([book, *case.others], scene, ScanSettings(**settings))
