"""What an activation works on: what a new message brings and what is active, however large the book is."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from string import ascii_lowercase

import pytest

from core.library.lore.activation import buffer as buffer_module
from core.library.lore.activation import term_index as index_module
from core.library.lore.activation.compiled import CompiledEntry
from core.library.lore.activation.keys import Expression, Term, is_in
from core.library.lore.activation.rules import Rules, Verdict
from core.library.lore.activation.scanner import Activation, LoreScanner
from core.library.lore.activation.scene import (
    Activated,
    ActivationInput,
    ScannedBook,
    ScannedMessage,
    ScanSettings,
    digest_of,
)
from core.library.lore.activation.timers import Timer
from core.library.lore.book import Lorebook, LoreEntry
from tests.core.library.lore.activation.activation_case import entry

MESSAGES = 40
HEARD = 50
"""Entries of which the messages speak; no book has fewer."""
SMALL, LARGE = 200, 2_000


def forms(number: int, name: str) -> LoreEntry:
    """An entry of one of the forms that books have, with keys that are in messages as far as its name is."""
    uid = str(number)
    made = (
        entry(uid, name),
        entry(uid, name, whole_words=True),
        entry(uid, f"{name} {name}", name, case_sensitive=True),
        entry(uid, rf"/\b{name}s?\b/i"),
        entry(uid, rf"/\b(?:{name}|the {name})\b/i"),
        entry(uid, rf"/(?<!\w){name}(?!\w)/"),
        entry(uid, name, secondary=(f"{name} of",)),
        entry(uid, name, sticky=3, cooldown=2),
        entry(uid, name, content=f"@@exclude_keys {name} at noon\nText."),
        entry(uid, name, groups=(f"group {number % 7}",), probability=50.0),
    )
    return made[number % len(made)]


def name_of(number: int) -> str:
    """A name that resembles no other."""
    return "".join(Random(number).choices(ascii_lowercase, k=8))


def book(count: int, *, is_recursive: bool = False) -> Lorebook:
    entries = (forms(number, name_of(number)) for number in range(count))
    return Lorebook(entries=tuple(entries), is_recursive=is_recursive)


def said(count: int) -> list[ScannedMessage]:
    """Messages that each name three entries, all of them among the first."""
    return [
        ScannedMessage(at, " and ".join(name_of(at * step % HEARD) for step in (1, 7, 11)) + " of old")
        for at in range(count)
    ]


class Work:
    """Counts what activations look at: entries, terms in texts, and expressions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done = Counter[str]()
        judge = Rules.verdict

        def verdict(rules: Rules, compiled: CompiledEntry, timer: Timer) -> Verdict:
            self.done["entries"] += 1
            return judge(rules, compiled, timer)

        def look(term: Term, text: str) -> bool:
            self.done["terms"] += 1
            return is_in(term, text)

        def counted(search: Callable[..., int | None]) -> Callable[..., int | None]:
            def place_of(expression: Expression, text: str, seconds: float) -> int | None:
                self.done["expressions"] += 1
                self.done["letters given to expressions"] += len(text)
                return search(expression, text, seconds)

            return place_of

        monkeypatch.setattr(Rules, "verdict", verdict)
        monkeypatch.setattr(index_module, "is_in", look)
        for module in (index_module, buffer_module):
            monkeypatch.setattr(module, "place_of", counted(module.place_of))

    def of(self, lore: Lorebook, log: Sequence[Activated] = ()) -> tuple[Counter[str], Activation]:
        """Return what one message more costs in a chapter that was scanned before, and what it activates."""
        scanner, messages = LoreScanner(len), said(MESSAGES + 1)
        books, settings = [ScannedBook(lore)], ScanSettings(scan_depth=MESSAGES)
        before = ActivationInput(messages=messages[:-1], seed="seed", length=1_000, log=log)
        scanner.activate(books, before, settings)
        self.done.clear()
        activation = scanner.activate(books, replace(before, messages=messages[1:], length=1_001), settings)
        return self.done.copy(), activation


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    return Work(monkeypatch)


@pytest.mark.parametrize("is_recursive", [False, True])
def test_a_book_of_ten_times_the_entries_gives_a_message_no_more_work(work: Work, is_recursive: bool) -> None:
    small, found = work.of(book(SMALL, is_recursive=is_recursive))
    large, same = work.of(book(LARGE, is_recursive=is_recursive))
    assert large == small
    assert small["entries"] > 20
    assert small["expressions"] > 0
    assert [one.outcome for one in same.active] == [one.outcome for one in found.active]


def test_entries_whose_time_is_over_are_no_work_however_many_there_were(work: Work) -> None:
    lore = book(LARGE)
    log = [Activated("", one.uid, digest_of(one), at) for at in range(3) for one in lore.entries]
    assert work.of(lore, log=log)[0] == work.of(lore)[0]


def test_an_entry_is_looked_at_only_where_a_text_concerns_it(work: Work) -> None:
    done, activation = work.of(book(LARGE))
    assert done["entries"] <= HEARD
    assert len(activation.active) + len(list(activation.refused)) == done["entries"]


def test_a_message_that_was_scanned_is_not_searched_again(work: Work) -> None:
    lore, messages, scanner = book(SMALL), said(MESSAGES), LoreScanner(len)
    scene, settings = ActivationInput(messages=messages), ScanSettings(scan_depth=MESSAGES)
    first = scanner.activate([ScannedBook(lore)], scene, settings)
    work.done.clear()
    again = scanner.activate([ScannedBook(lore)], scene, settings)
    assert again.outcomes == first.outcomes
    assert work.done["terms"] == work.done["expressions"] == 0
