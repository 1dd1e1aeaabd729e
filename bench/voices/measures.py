"""Measures of chapters that a model played: counts over their texts; a share is from 0 to 1."""

import re
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from bench.voices.prefill import Answer
from core.text.analysis.repetition import Repeatable, first_repeated, words_of

_FIRST_PERSON: Final = frozenset({"i", "i'm", "i'll", "i've", "i'd", "me", "my", "mine", "myself"})
_SAYING: Final = r"(?:says|said|asks|asked|replies|replied|answers|answered|whispers|whispered)"
_HE_SAYS: Final = re.compile(rf"\b(?:[Hh]e|[Ss]he|[Tt]hey)\s+(?:{_SAYING}|say|ask|reply|answer)\b")
_SENTENCE: Final = re.compile(r"[^.!?…]+[.!?…]+")
_RUN: Final = 4


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt of the GM and the reply to it; `others` are the names of all characters but `name`."""

    name: str
    others: tuple[str, ...]
    prompt: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One chapter as a model played it.

    `instructions` are the texts of its prompt file, `written` is the prose before anything was left out.
    `calls` and `seconds` are of replies alone, `whole_seconds` of everything with the lock, the summaries and
    the prose.
    """

    turns: tuple[Turn, ...]
    instructions: tuple[str, ...]
    prose: str
    written: str
    target_words: int | None
    calls: int
    seconds: float
    whole_seconds: float

    def answered(self, answers: Sequence[Answer]) -> "Played":
        """Return the same chapter with other replies, one for each turn."""
        turns = [
            replace(turn, reply=answer.as_reply(turn.name, turn.others))
            for turn, answer in zip(self.turns, answers, strict=True)
        ]
        return replace(self, turns=tuple(turns), prose="", written="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Voices:
    """The measures of one chapter, or of several together.

    `for_others` counts speech in the name of another, `he_she_they_say` what nobody is named for: it can be
    another's or the character's own in the third person. `written` is the prose before anything was left out.
    """

    replies: int
    distinct: float
    parroted: int
    for_others: float
    he_she_they_say: float
    first_person: float
    repeated_in_replies: float
    repeated_in_written: float
    repeated_in_prose: float
    median_words: float
    median_sentences: float
    written_words: int
    prose_words: int
    prose_length: float | None
    calls_a_reply: float
    seconds_a_reply: float
    seconds: float

    def row(self) -> dict[str, object]:
        """Return the measures as they are written to JSON."""
        return asdict(self)


def measure(chapters: Sequence[Played]) -> Voices:
    """Return the measures over all `chapters`; each needs a reply."""
    turns = [turn for chapter in chapters for turn in chapter.turns]
    count = len(turns)
    targets = [chapter.target_words for chapter in chapters if chapter.target_words and chapter.prose]
    prose_words = sum(len(words_of(chapter.prose)) for chapter in chapters)
    return Voices(
        replies=count,
        distinct=sum(map(distinct_count, chapters)) / count,
        parroted=sum(map(parroted_count, chapters)),
        for_others=sum(map(speaks_for_others, turns)) / count,
        he_she_they_say=sum(_HE_SAYS.search(turn.reply) is not None for turn in turns) / count,
        first_person=sum(not _FIRST_PERSON.isdisjoint(words_of(turn.reply)) for turn in turns) / count,
        repeated_in_replies=repeated_runs([[turn.reply for turn in one.turns] for one in chapters]),
        repeated_in_written=repeated_runs([[chapter.written] for chapter in chapters]),
        repeated_in_prose=repeated_runs([[chapter.prose] for chapter in chapters]),
        median_words=statistics.median(len(words_of(turn.reply)) for turn in turns),
        median_sentences=statistics.median(len(_SENTENCE.findall(turn.reply)) for turn in turns),
        written_words=sum(len(words_of(chapter.written)) for chapter in chapters),
        prose_words=prose_words,
        prose_length=prose_words / sum(targets) if targets else None,
        calls_a_reply=sum(chapter.calls for chapter in chapters) / count,
        seconds_a_reply=sum(chapter.seconds for chapter in chapters) / count,
        seconds=sum(chapter.whole_seconds for chapter in chapters),
    )


def distinct_count(chapter: Played) -> int:
    """Return how many replies are not one that was given before in the chapter, word for word or nearly."""
    replies = [Repeatable("a reply", turn.reply) for turn in chapter.turns]
    folded = [words_of(reply.text) for reply in replies]
    return sum(
        folded[at] not in folded[:at] and first_repeated(reply.text, replies[:at]) is None
        for at, reply in enumerate(replies)
    )


def parroted_count(chapter: Played) -> int:
    """Return how many replies repeat the prompt file, or what the GM has said up to then."""
    count = 0
    for at, turn in enumerate(chapter.turns):
        said = [*chapter.instructions, *(before.prompt for before in chapter.turns[: at + 1])]
        count += first_repeated(turn.reply, (Repeatable("", text) for text in said)) is not None
    return count


def speaks_for_others(turn: Turn) -> bool:
    """Whether a reply has a line in the name of another character or of the GM, or reports what one says."""
    names = [re.escape(part) for name in turn.others for part in {name, name.split()[0]}]
    if re.search(rf"^\W*(?:{'|'.join([*names, 'GM', 'Game Master'])})\W*:|^\d+\) ", turn.reply, re.M):
        return True
    named = "|".join(names)
    said = rf"\b(?:{named})\b,?\s+{_SAYING}\b|\b{_SAYING}\s+(?:{named})\b"
    return bool(names) and re.search(said, turn.reply) is not None


def repeated_runs(chapters: Sequence[Sequence[str]]) -> float:
    """Return which share of the runs of four words have occurred before in the texts of their chapter."""
    count = distinct = 0
    for texts in chapters:
        runs = [
            tuple(words[at : at + _RUN])
            for words in map(words_of, texts)
            for at in range(len(words) - _RUN + 1)
        ]
        count += len(runs)
        distinct += len(set(runs))
    return 1 - distinct / count if count else 0.0
