"""Times activation in a book of ten thousand entries, beside a naive scan: `python -m bench.input.lore`.

A chapter grows by one message at a time; 60,000 characters of it are scanned. The naive scan looks for every
key in all of the text. Both find the same entries, or there is no figure. Books of 1,000, 10,000 and 50,000
entries, of which the same are active, and messages of four times the length show how the work for a
message grows. All times are processor time, which a load of the machine changes least.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from time import process_time

from bench.measure import Figure, print_table
from bench.synthetic_sessions import session, tab1
from core.agents.context_builder import ContextBuilder
from core.config.models.assignments import ModelAssignments, choose_models
from core.config.sections import ProfileSettings
from core.context.lore import ChapterLore
from core.context.visibility import Story, known_to
from core.domain.agent_role import AgentRole
from core.domain.ids import EventId, SessionId, new_uuid
from core.domain.session.cast import Cast
from core.domain.session.lore import ChapterLorebook
from core.domain.slot import Slot
from core.domain.story.event import Event, Role
from core.library.lore.activation.scanner import LoreScanner
from core.library.lore.activation.scene import ActivationInput, ScannedBook, ScannedMessage, ScanSettings
from core.library.lore.book import Lorebook, LoreEntry

ENTRIES = 10_000
CHARACTERS = 60_000
MESSAGES = 40
GOAL_MS = 20.0
SIZES = (1_000, 10_000, 50_000)
SPARE = 3_000
SPOKEN_OF = 500
"""Entries that the messages are about where books of several sizes are compared."""
GOAL_GROWTH = 1.1
_SYLLABLES = [
    a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "or", "un")
]
_TEXT = """
the lamp over the harbour went out and she counted the steps down to the water while he waited at the door
with the letter in his hand because nobody had told him what it said about the winter and the ship
"""
_PROSE = _TEXT.split()


def _name(chance: random.Random) -> str:
    return "".join(chance.choice(_SYLLABLES) for _ in range(chance.randint(3, 4)))


def book(chance: random.Random, count: int = ENTRIES) -> Lorebook:
    """Return a book in which one entry in a hundred has an expression, and one in four whole words."""
    entries = []
    for number in range(count):
        keys = [_name(chance), _name(chance), f"{_name(chance)} {_name(chance)}"]
        if number % 100 == 0:
            keys.append(rf"/\b{_name(chance)}\w*\b/i")
        content = " ".join(chance.choice(_PROSE) for _ in range(60))
        entries.append(
            LoreEntry(uid=str(number), keys=tuple(keys), content=content, whole_words=number % 4 == 0)
        )
    return Lorebook(entries=tuple(entries))


def messages(chance: random.Random, lore: Lorebook, count: int, of: int = MESSAGES) -> list[ScannedMessage]:
    """Return prose in which every twentieth word is a key; `of` messages together have all characters."""
    found = []
    for number in range(count):
        words: list[str] = []
        while sum(map(len, words)) + len(words) < CHARACTERS // of:
            entry = chance.choice(lore.entries)
            words.append(entry.keys[0] if chance.random() < 0.05 else chance.choice(_PROSE))
        found.append(ScannedMessage(number + 1, " ".join(words)))
    return found


def naive_keys(lore: Lorebook) -> list[tuple[str, str | re.Pattern[str]]]:
    """Return every key with the entry that it is of, ready to be looked for."""
    found: list[tuple[str, str | re.Pattern[str]]] = []
    for entry in lore.entries:
        for key in entry.keys:
            if key.startswith("/"):
                found.append((entry.uid, re.compile(key[1:-2])))
            elif entry.whole_words and " " not in key:
                found.append((entry.uid, re.compile(rf"(?:^|\W){re.escape(key)}(?:$|\W)")))
            else:
                found.append((entry.uid, key))
    return found


def naive(keys: Sequence[tuple[str, str | re.Pattern[str]]], scanned: Sequence[ScannedMessage]) -> set[str]:
    """Return the entries with a key in the text, each key looked for in all of it."""
    text = "\n".join(message.text for message in scanned).lower()
    found: set[str] = set()
    for uid, key in keys:
        if uid not in found and (key in text if isinstance(key, str) else key.search(text)):
            found.add(uid)
    return found


def alike(runs: int) -> tuple[dict[int, Lorebook], list[ScannedMessage]]:
    """Return books of each size in which the same entries are active, and messages for `runs` prompts.

    One entry in ten has an expression with two choices.
    """
    chance = random.Random(11)
    entries = [
        replace(entry, keys=(*entry.keys, rf"/\b(?:{entry.keys[0]}s|{entry.keys[2]})\b/i"))
        if number % 10 == 0
        else entry
        for number, entry in enumerate(book(chance, SIZES[-1] + SPARE).entries)
    ]
    spoken_of, others = entries[:SPOKEN_OF], entries[SPOKEN_OF:]
    said = messages(chance, Lorebook(entries=tuple(spoken_of)), MESSAGES + runs)
    # Some names are in others by chance.
    scanned = ScanSettings(scan_depth=len(said))
    heard = LoreScanner(len).activate(
        [ScannedBook(Lorebook(entries=tuple(others)))], ActivationInput(messages=said), scanned
    )
    active = {one.outcome.uid for one in heard.active}
    others = [entry for entry in others if entry.uid not in active]
    return {size: Lorebook(entries=(*spoken_of, *others[: size - SPOKEN_OF])) for size in SIZES}, said


def by_size(runs: int) -> list[Figure]:
    """Measure what one message more costs in books of each size in which the same entries are active."""
    books, said = alike(runs)
    scanners = {size: LoreScanner(lambda text: len(text) // 4) for size in SIZES}
    scanned = {size: [ScannedBook(lore)] for size, lore in books.items()}
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    count = 0
    for run in range(runs + 1):
        found = set[tuple[str, ...]]()
        for size in SIZES:  # in turns, so that a load of the machine is the same for all
            scene = ActivationInput(messages=said[run : run + MESSAGES])
            began = process_time()
            activation = scanners[size].activate(scanned[size], scene, ScanSettings(scan_depth=MESSAGES))
            seconds[size].append(process_time() - began)
            found.add(tuple(one.outcome.uid for one in activation.active))
        assert len(found) == 1, "they find other entries"
        count = len(activation.active)
    medians = {size: median(taken[1:]) * 1_000 for size, taken in seconds.items()}
    first, last = SIZES[0], SIZES[-1]
    inputs = {size: _in_play(books[size], said, runs) for size in (first, last)}
    figures = [
        *((f"one message more, {size:,} entries", medians[size], medians[first]) for size in SIZES[1:]),
        (f"added to an input, {last:,} entries", inputs[last], inputs[first]),
    ]
    return [
        Figure(f"lore: active in each size, of {SPOKEN_OF} that are spoken of", count, ""),
        Figure(f"lore: one message more, {first:,} entries", medians[first], "ms"),
        Figure(f"lore: added to an input, {first:,} entries", inputs[first], "ms"),
        *(
            Figure.at_most(f"lore: {what}", value, "ms", value / least, GOAL_GROWTH)
            for what, value, least in figures
        ),
    ]


def warm_median(entries: int, scanned: int, runs: int) -> float:
    """Return the median seconds for one message more, where so many have the 60,000 characters."""
    chance = random.Random(11)
    lore = book(chance, entries)
    said = messages(chance, lore, scanned + runs, scanned)
    books, settings = [ScannedBook(lore)], ScanSettings(scan_depth=scanned)
    scanner = LoreScanner(lambda text: len(text) // 4)
    seconds = []
    for run in range(runs + 1):
        began = process_time()
        scanner.activate(books, ActivationInput(messages=said[run : run + scanned]), settings)
        seconds.append(process_time() - began)
    return median(seconds[1:])


def figures(runs: int = 30) -> list[Figure]:
    """Measure `runs` prompts, each with one more message than the one before."""
    chance = random.Random(7)
    lore = book(chance)
    said = messages(chance, lore, MESSAGES + runs)
    books, settings = [ScannedBook(lore)], ScanSettings(scan_depth=MESSAGES)
    scanner = LoreScanner(lambda text: len(text) // 4)
    began = process_time()
    scanner.activate(books, ActivationInput(messages=said[:MESSAGES]), settings)
    cold = process_time() - began
    keys = naive_keys(lore)
    warm, slow = [], []
    for run in range(1, runs + 1):
        scanned = said[run : run + MESSAGES]
        began = process_time()
        activation = scanner.activate(books, ActivationInput(messages=scanned), settings)
        warm.append(process_time() - began)
        if run <= 3:
            began = process_time()
            expected = naive(keys, scanned)
            slow.append(process_time() - began)
            assert {one.outcome.uid for one in activation.active} == expected, "they find other entries"
    middle = median(warm)
    long = warm_median(ENTRIES, MESSAGES // 4, runs)
    added = _in_play(lore, said, runs)
    return [
        Figure("lore: 10,000 entries, first time", cold * 1_000, "ms"),
        Figure("lore: naive scan", median(slow) * 1_000, "ms"),
        Figure(
            "lore: one message more, median",
            middle * 1_000,
            "ms",
            middle / median(slow),
            f"≤ {GOAL_MS:g} ms",
            middle * 1_000 <= GOAL_MS,
        ),
        Figure("lore: one message more, of four times the length", long * 1_000, "ms", long / middle),
        Figure("lore: active entries", len(activation.active), ""),
        Figure("lore: added to an input, median", added, "ms", None, f"≤ {GOAL_MS:g} ms", added <= GOAL_MS),
        *by_size(runs),
    ]


def _in_play(lore: Lorebook, said: Sequence[ScannedMessage], runs: int) -> float:
    """Return the milliseconds that lore adds to the input of a character in a chapter that goes on."""
    attached = ChapterLorebook(
        name="Harbour",
        entry_count=len(lore.entries),
        file_hash="a" * 64,
        copy_hash="a" * 64,
        copy_length=1,
        seed="bench",
    )
    told = ChapterLore(((attached, replace(lore, scan_depth=MESSAGES)),))
    chapter, written = session(SessionId(new_uuid()), 1), tab1()
    character = Cast(chapter, written)[Slot.RED]
    events = [
        Event(
            id=EventId(new_uuid()),
            session_id=chapter.id,
            prompt_index=number,
            ordinal=0,
            role=Role.USER,
            slot=None,
            text=message.text,
            created_at=chapter.created_at,
        )
        for number, message in enumerate(said, start=1)
    ]
    usual = choose_models(ProfileSettings(provider="scripted"))[AgentRole.CHARACTER]
    wide = replace(usual, max_input_tokens=200_000, context_window=204_000)
    builder = ContextBuilder(ModelAssignments(dict.fromkeys(AgentRole, wide), recent_context="stable"))
    taken = []
    for run in range(runs + 1):
        now = replace(chapter, prompt_index=MESSAGES + run)
        recent = events[run : run + MESSAGES]
        seconds = []
        for one in (ChapterLore(), told):
            known = known_to(character, Story(now, (), recent), lore=one)
            began = process_time()
            made = builder.character(known, "And now?")
            seconds.append(process_time() - began)
        assert made.lore, "no entry was active"
        taken.append(seconds[1] - seconds[0])
    return median(taken[1:]) * 1_000


if __name__ == "__main__":
    print_table("Lore", figures())
