"""Structured memory as a person reads it, and as the JSON that it is: pure, from blocks to text (design 7).

A payload is what a model returned and what validated. It is read here without trust in its shape, so that
no block that a later version stores can keep the others from being shown.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.domain.ids import BlockId
from core.domain.prompt_range import PromptRange
from core.domain.slot import Slot
from core.domain.story.memory import SECTION_TITLES, BlockType, MemoryBlock, lock_key
from core.text.cleaning import clean, clean_line
from core.text.letters import LETTER

BULLET = "• "
LOCKS = "canon_locks"
CANON = SECTION_TITLES[LOCKS]
"""The heading of the canon locks, which the GM can pin and strike."""
Names = Sequence[tuple[Slot, str]]
_LETTER = re.compile(LETTER)


class MemoryForm(StrEnum):
    """The two views of structured memory."""

    READABLE = "readable"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph of a view. `heading` is how many characters of it are a heading."""

    text: str
    heading: int = 0
    is_title: bool = False
    """It names a block, and is not one of its sections."""
    locks: tuple[str, ...] = ()
    """The canon locks of the lines below the heading, word for word."""
    parts: tuple[tuple[int, int, str], ...] = ()
    """The parts of the text, in order, that look different, each with the name of its style."""

    def lock_at(self, offset: int) -> str | None:
        """Return the canon lock of the line that has character `offset`."""
        line = self.text.count("\n", 0, offset)
        return self.locks[line - 1] if 1 <= line <= len(self.locks) else None


@dataclass(frozen=True, slots=True)
class MemoryMarks:
    """Marks on memory besides its blocks: by the GM, and by their revisions."""

    pinned: tuple[str, ...] = ()
    """Canon locks that stay, whatever becomes of their blocks."""
    struck: tuple[str, ...] = ()
    """Canon locks that are not remembered any more."""
    first: BlockId | None = None
    """The first block; the pinned locks that no block has are shown with it."""
    lost: tuple[str, ...] = ()
    """The pinned locks that no block has."""
    stale: frozenset[BlockId] = frozenset()
    """The blocks that were made from older memory."""
    names: Names = ()
    """The cast, to name those who know a block that not everyone knows; without it no one is named."""

    def word_for(self, lock: str) -> str:
        """Return `pinned` or `struck`; nothing for a lock that is left to its block."""
        key = lock_key(lock)
        for word, locks in (("pinned", self.pinned), ("struck", self.struck)):
            if any(lock_key(other) == key for other in locks):
                return word
        return ""

    def who_knows(self, block: MemoryBlock) -> str:
        """Return a mark such as `⟨Kara, Joss⟩ ` for a block that not everyone knows."""
        if block.audience.is_everyone or not self.names:
            return ""
        known = [clean_line(name) for slot, name in self.names if slot in block.audience]
        return f"⟨{', '.join(known) or 'no one'}⟩ "


NO_MARKS = MemoryMarks()


def marks_of(
    pinned: tuple[str, ...],
    struck: tuple[str, ...],
    blocks: Sequence[MemoryBlock],
    stale: frozenset[BlockId],
    names: Names = (),
) -> MemoryMarks:
    """Return the marks of a memory that has these blocks, the oldest first, of a cast with these names."""
    known = {lock_key(lock) for block in blocks for lock in _locks_of(block)} if pinned else set()
    lost = tuple(lock for lock in pinned if lock_key(lock) not in known)
    return MemoryMarks(pinned, struck, blocks[0].id if blocks else None, lost, stale, names)


def _locks_of(block: MemoryBlock) -> list[str]:
    locks = ((lock, _text(lock)) for lock in _items(block.payload, LOCKS))
    return [lock if isinstance(lock, str) else text for lock, text in locks if text]


def passages_of(block: MemoryBlock, form: MemoryForm, marks: MemoryMarks = NO_MARKS) -> list[Passage]:
    """Return the paragraphs of one block."""
    mark = marks.who_knows(block)
    if form is MemoryForm.JSON:
        payload = Passage(clean(json.dumps(block.payload, indent=2, ensure_ascii=False)))
        return [Passage(mark.strip(), len(mark) - 1, is_title=True), payload] if mark else [payload]
    title = mark + title_of(block) + "".join(f" · {word}" for word in _words_of(block, marks))
    found = [
        passage
        for heading, lines in SECTIONS[block.type]
        if (passage := _section(heading, lines, block, marks)) is not None
    ]
    return [Passage(title, len(title), is_title=True), *(found or [Passage("Nothing new.")])]


def _words_of(block: MemoryBlock, marks: MemoryMarks) -> Iterator[str]:
    """Yield how a block came about, if not as usual."""
    if block.is_by_gm:
        yield "edited by the GM"
    if block.id in marks.stale:
        yield "made from older memory"


def _section(heading: str, lines: "Lines", block: MemoryBlock, marks: MemoryMarks) -> Passage | None:
    """Return one section of a block; None if there is nothing in it."""
    found = list(lines(block.payload))
    locks: tuple[str, ...] = ()
    if heading == CANON:
        lost = marks.lost if block.id == marks.first else ()
        locks = (*_locks_of(block), *lost)
        words = [f"{BULLET}{_text(lock)}" for lock in lost]
        pairs = zip((*found, *words), locks, strict=True)
        found = [line + _suffix(marks.word_for(lock)) for line, lock in pairs]
    return Passage("\n".join((heading, *found)), len(heading), locks=locks) if found else None


def _suffix(word: str) -> str:
    return f" ({word})" if word else ""


def title_of(block: MemoryBlock) -> str:
    """Return what a block is about: the beginning, or which prompts."""
    if block.type is BlockType.WORLD_CHAPTER_LOCK:
        return "World and chapter, as they were locked"
    if block.type is BlockType.CANON_CORRECTION:
        after = block.corrects_after
        return f"Correction by the GM, after prompt {after:,}" if after else "Correction by the GM"
    prompts = PromptRange(max(1, block.first), max(1, block.first, block.last))
    return f"Prompt {prompts}" if len(prompts) == 1 else f"Prompts {prompts}"


def all_text(blocks: Sequence[MemoryBlock], form: MemoryForm, marks: MemoryMarks = NO_MARKS) -> str:
    """Return all of memory as it is copied: paragraphs, or one JSON array."""
    if form is MemoryForm.JSON:
        return clean(json.dumps([block.payload for block in blocks], indent=2, ensure_ascii=False)) + "\n"
    return "\n\n".join(passage.text for block in blocks for passage in passages_of(block, form, marks)) + "\n"


# Reading a payload. Every reader returns nothing where there is nothing of the kind that it wants.

Payload = Mapping[str, object]
Lines = Callable[[Payload], Iterator[str]]


def _text(value: object) -> str:
    """Return a phrase on one line; other than a phrase, as JSON."""
    if value is None or isinstance(value, str):
        return clean_line(value or "")
    return clean_line(json.dumps(value, ensure_ascii=False))


def _whole_text(value: object) -> str:
    """Return a text with its lines."""
    return value if isinstance(value, str) else _text(value)


def _inner(payload: Payload, key: str) -> Payload:
    value = payload.get(key)
    return value if isinstance(value, Mapping) else {}


def _items(payload: Payload, key: str) -> list[object]:
    value = payload.get(key)
    return list(value) if isinstance(value, list | tuple) else []


def _records(payload: Payload, key: str) -> Iterator[Payload]:
    return (item for item in _items(payload, key) if isinstance(item, Mapping))


def _phrases(payload: Payload, key: str) -> list[str]:
    return [phrase for phrase in map(_text, _items(payload, key)) if phrase]


def _field(label: str, text: str) -> Iterator[str]:
    if text and text != "unknown":
        yield f"{label}: {text}"


def _bullets(key: str) -> Lines:
    """Return a reader of a list of phrases."""
    return lambda payload: (BULLET + phrase for phrase in _phrases(payload, key))


def _fields(key: str, *labels: tuple[str, str]) -> Lines:
    """Return a reader of an object: its phrases and lists of phrases, one line each."""

    def lines(payload: Payload) -> Iterator[str]:
        inner = _inner(payload, key)
        for name, label in labels:
            value = inner.get(name)
            is_list = isinstance(value, list | tuple)
            yield from _field(label, "; ".join(_phrases(inner, name)) if is_list else _text(value))

    return lines


def _cast(payload: Payload) -> Iterator[str]:
    for entry in _records(payload, "agents"):
        yield f"{_text(entry.get('slot'))} {_text(entry.get('name'))} ({_text(entry.get('color'))})"


def _joined(*parts: tuple[str, str]) -> str:
    """Return the parts that have a text, each behind its own words."""
    return "".join(before + text for before, text in parts if text and text != "unknown")


def _records_of(key: str, *parts: tuple[str, str | Callable[[Payload], str]]) -> Lines:
    """Return a reader of a list of objects, one bullet each.

    A part is the words before a text, and the key of that text or what reads it from the object.
    """

    def lines(payload: Payload) -> Iterator[str]:
        for record in _records(payload, key):
            texts = [
                (before, _text(record.get(read)) if isinstance(read, str) else read(record))
                for before, read in parts
            ]
            if text := _joined(*texts).removeprefix(": "):
                yield BULLET + text

    return lines


def _participants(event: Payload) -> str:
    names = _phrases(event, "participants")
    return f" ({', '.join(names)})" if names else ""


def _action(action: Payload) -> str:
    name = _text(action.get("name")) or f"Character {_text(action.get('agent_slot'))}"
    return _joined((f"{name}: ", _text(action.get("did"))))


def _before_and_after(change: Payload) -> str:
    before, after = _text(change.get("before")), _text(change.get("after"))
    return f"{before or '?'} → {after or '?'}" if before or after else ""


LOCK_SECTIONS: tuple[tuple[str, Lines], ...] = (
    (
        SECTION_TITLES["world"],
        _fields(
            "world",
            ("genre", "Genre"),
            ("tone", "Tone"),
            ("themes", "Themes"),
            ("rules_of_reality", "Rules of reality"),
            ("factions_or_powers", "Powers"),
            ("key_lore", "Lore"),
            ("safety_or_boundaries", "Boundaries"),
        ),
    ),
    (
        SECTION_TITLES["chapter"],
        _fields(
            "chapter",
            ("premise", "Premise"),
            ("location", "Place"),
            ("time", "Time"),
            ("environment", "Surroundings"),
            ("active_threats", "Threats"),
            ("open_mysteries", "Mysteries"),
            ("chapter_goals", "Goals"),
        ),
    ),
    (SECTION_TITLES["agents"], _cast),
    (CANON, _bullets(LOCKS)),
    (SECTION_TITLES["assumptions"], _bullets("assumptions")),
)

DELTA_SECTIONS: tuple[tuple[str, Lines], ...] = (
    (
        SECTION_TITLES["location_updates"],
        _fields("location_updates", ("where", "Now"), ("notable_environment_changes", "Surroundings")),
    ),
    (
        SECTION_TITLES["major_events"],
        _records_of(
            "major_events",
            ("", "event"),
            (" — because: ", "cause"),
            (" — so: ", "effect"),
            ("", _participants),
        ),
    ),
    (
        SECTION_TITLES["character_actions"],
        _records_of(
            "character_actions", ("", _action), (" — meaning to: ", "intent"), (" — result: ", "result")
        ),
    ),
    (
        SECTION_TITLES["state_changes"],
        _records_of("state_changes", ("", "key"), (": ", _before_and_after), (" — ", "notes")),
    ),
    (
        SECTION_TITLES["relationship_shifts"],
        _records_of(
            "relationship_shifts",
            ("", lambda shift: " and ".join(_phrases(shift, "between"))),
            (": ", "change"),
            (" — seen in: ", "evidence"),
        ),
    ),
    (
        SECTION_TITLES["items_clues_discovered"],
        _records_of(
            "items_clues_discovered", ("", "thing"), (" — found by ", "who_found"), (" — ", "why_it_matters")
        ),
    ),
    (
        SECTION_TITLES["unresolved_threads"],
        _records_of(
            "unresolved_threads",
            ("", "thread"),
            (" — at stake: ", "stakes"),
            (" — next: ", "next_likely_trigger"),
        ),
    ),
    (CANON, _bullets(LOCKS)),
    (SECTION_TITLES["contradictions_or_questions"], _bullets("contradictions_or_questions")),
)


CORRECTION_SECTIONS: tuple[tuple[str, Lines], ...] = (
    ("About prompts", _fields("corrects", ("from_marker", "From"), ("to_marker", "To"))),
    ("What is true", lambda payload: iter(clean(_whole_text(payload.get("correction"))).split("\n"))),
)

SECTIONS = {
    BlockType.WORLD_CHAPTER_LOCK: LOCK_SECTIONS,
    BlockType.TURN_DELTA: DELTA_SECTIONS,
    BlockType.CANON_CORRECTION: CORRECTION_SECTIONS,
}


def find_names(text: str, names: Names) -> Iterator[tuple[int, int, Slot]]:
    """Yield where `text` has the names of characters, in order and without overlap."""
    position = 0
    while position < len(text):
        hits = [(text.find(name, position), -len(name), slot) for slot, name in names if name]
        found = min((hit for hit in hits if hit[0] >= 0), default=None)
        if found is None:
            return
        begin, end = found[0], found[0] - found[1]
        if _LETTER.match(text[begin - 1 : begin]) or _LETTER.match(text, end):
            position = begin + 1  # It is a part of a word.
        else:
            yield begin, end, found[2]
            position = end
