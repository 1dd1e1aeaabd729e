"""Compares two texts paragraph by paragraph, and two versions of a paragraph word by word.

White space is no difference. Paragraphs that are the same are found first; of those between them, two are
taken for versions of one if they share at least `ALIKE` of their words. All of it is nearly linear, so that
two whole books can be compared: parts that would take longer count as changed as a whole.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final, NamedTuple

from core.text.graphemes import composed
from core.text.letters import LETTER, UNSPACED

ALIKE: Final = 0.5
"""The least share of their words that two versions of a paragraph have in common. Two paragraphs of one story
that tell of something else share about a quarter of them."""
REACH: Final = 40
"""Number of paragraphs, to either side of its place, in which the other version of one is looked for."""
MOST_PAIRS: Final = 250_000
"""Most pairs of paragraphs that are compared; of more paragraphs than that allows, the reach is shorter."""
SMALL: Final = 40_000
"""Most pairs of words, none of which occurs once, that are compared each with each."""
DEEPEST: Final = 32
"""Most times that the words between two that occur once are searched for more of them."""

_LETTERS: Final = rf"(?:{LETTER})+"
_TOKEN: Final = re.compile(rf"\s*(?:{UNSPACED}|{_LETTERS}(?:['’-]{_LETTERS})*|[^\w\s]+|\S)\s*")
_PARAGRAPH: Final = re.compile(r"\s*\S[^\n]*\s*")

Run = tuple[int, int, int]
"""Neighbours that two sequences share: where the run begins in the one and in the other, and its length."""


class Part(NamedTuple):
    """Neighbouring words: what one text has, and the other in its place."""

    before: str
    after: str
    is_same: bool
    """Whether the two differ in nothing but white space."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A paragraph of one text and its version in the other; either is empty where its text lacks it.

    All differences in order have in `before` all of the one text, and in `after` all of the other.
    """

    parts: tuple[Part, ...]

    @property
    def before(self) -> str:
        """The paragraph in the one text."""
        return "".join(part.before for part in self.parts)

    @property
    def after(self) -> str:
        """The paragraph in the other text."""
        return "".join(part.after for part in self.parts)

    @property
    def is_same(self) -> bool:
        """Whether the words of both are the same."""
        return all(part.is_same for part in self.parts)


def paragraphs_of(text: str) -> list[str]:
    """Return the paragraphs of a text, each with the white space that is around it; a line is one."""
    if not text.strip():
        return [text] if text else []
    return _PARAGRAPH.findall(text)


@dataclass(frozen=True, slots=True)
class _Words:
    """A paragraph as words and marks."""

    tokens: Sequence[str]
    """All of it, each word with the white space behind it."""
    keys: Sequence[str]
    """The words without white space, which are compared."""
    key: str
    """All of these in one text."""
    names: frozenset[str]
    """The words without the marks."""

    @classmethod
    def of(cls, text: str) -> "_Words":
        tokens = [text] if text.isspace() else _TOKEN.findall(text)
        keys = [composed(token.strip()) for token in tokens]
        names = frozenset(key for key in keys if key[:1].isalnum())
        return cls(tokens, keys, " ".join(keys), names or frozenset(keys))


def differences(before: str, after: str) -> Iterator[Difference]:
    """Yield how a text differs from another, in order; a paragraph is compared when it is asked for."""
    old = [_Words.of(paragraph) for paragraph in paragraphs_of(before)]
    new = [_Words.of(paragraph) for paragraph in paragraphs_of(after)]
    here = there = 0
    for begin, other, length in (*_versions(old, new), (len(old), len(new), 0)):
        yield from (Difference((Part("".join(one.tokens), "", is_same=False),)) for one in old[here:begin])
        yield from (Difference((Part("", "".join(one.tokens), is_same=False),)) for one in new[there:other])
        here, there = begin + length, other + length
        pairs = zip(old[begin:here], new[other:there], strict=True)
        yield from (Difference(tuple(_parts(one, its_version))) for one, its_version in pairs)


def _parts(old: _Words, new: _Words) -> Iterator[Part]:
    """Yield the parts of a paragraph that are the same in both texts, and those between them."""
    if old.key == new.key:
        yield Part("".join(old.tokens), "".join(new.tokens), is_same=True)
        return
    here = there = 0
    ends = (len(old.keys), len(new.keys), 0)
    for begin, other, length in (*_readable(shared_runs(old.keys, new.keys), ends), ends):
        if here < begin or there < other:
            yield Part("".join(old.tokens[here:begin]), "".join(new.tokens[there:other]), is_same=False)
        here, there = begin + length, other + length
        if length:
            yield Part("".join(old.tokens[begin:here]), "".join(new.tokens[other:there]), is_same=True)


def _readable(runs: Iterable[Run], ends: Run) -> list[Run]:
    """Return the runs without those that are no longer than the differences on both sides.

    A word here and there that two sentences share would take them apart for nothing.
    """
    kept: list[Run] = []
    for after in (*runs, ends):
        while kept:
            begin, other, length = kept[-1]
            before, other_before, length_before = kept[-2] if len(kept) > 1 else (0, 0, 0)
            ahead = max(begin - before - length_before, other - other_before - length_before)
            behind = max(after[0] - begin - length, after[1] - other - length)
            if length > min(ahead, behind):
                break
            kept.pop()
        kept.append(after)
    return kept[:-1]


# Versions of paragraphs


def _versions(old: Sequence[_Words], new: Sequence[_Words]) -> Iterator[Run]:
    """Yield the paragraphs that are the same in both texts, or versions of one, in order."""
    here = there = 0
    for begin, other, length in (
        *shared_runs([one.key for one in old], [one.key for one in new]),
        (len(old), len(new), 0),
    ):
        for one, its_version in _alike(old[here:begin], new[there:other]):
            yield here + one, there + its_version, 1
        if length:
            yield begin, other, length
        here, there = begin + length, other + length


def _alike(old: Sequence[_Words], new: Sequence[_Words]) -> list[tuple[int, int]]:
    """Return the pairs of paragraphs, in order, that have most in common together; all of them differ."""
    if not old or not new:
        return []
    reach = min(REACH, MOST_PAIRS // len(old))
    # The last paragraph of `new` in some pairs, what these have in common, and the last of these pairs:
    # of those that end no later, only the ones with more in common.
    ends, sums, lasts = [-1], [0.0], [-1]
    pairs: list[tuple[int, int, int]] = []
    for number, one in enumerate(old):
        middle = number * len(new) // len(old)
        near = range(max(0, middle - reach), min(len(new), middle + reach + 1))
        shares = [(other, _share(one.names, new[other].names)) for other in near]
        places = [(other, share, bisect_left(ends, other) - 1) for other, share in shares if share]
        longer = [(other, sums[place] + share, lasts[place]) for other, share, place in places]
        for other, total, before in longer:
            place = bisect_left(ends, other)
            if sums[bisect_right(ends, other) - 1] >= total:
                continue
            worse = place
            while worse < len(ends) and sums[worse] <= total:
                worse += 1
            ends[place:worse], sums[place:worse], lasts[place:worse] = [other], [total], [len(pairs)]
            pairs.append((number, other, before))
    chosen, last = [], lasts[-1]
    while last >= 0:
        number, other, last = pairs[last]
        chosen.append((number, other))
    return chosen[::-1]


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of their words that two paragraphs have in common; 0 for less than `ALIKE`."""
    size = len(one) + len(other)
    if 2 * min(len(one), len(other)) < ALIKE * size:
        return 0.0
    share = 2 * len(one & other) / size
    return share if share >= ALIKE else 0.0


# Runs that two sequences share


def shared_runs(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Return runs that two sequences have in common, in order; words that occur once in each come first."""
    found: list[Run] = []
    todo = [(0, len(old), 0, len(new), 0)]
    while todo:
        begin, end, other, other_end, depth = todo.pop()
        first = begin
        while begin < end and other < other_end and old[begin] == new[other]:
            begin, other = begin + 1, other + 1
        found.append((first, other - (begin - first), begin - first))
        last = end
        while begin < end and other < other_end and old[end - 1] == new[other_end - 1]:
            end, other_end = end - 1, other_end - 1
        found.append((end, other_end, last - end))
        if begin == end or other == other_end:
            continue
        here, there = old[begin:end], new[other:other_end]
        if depth < DEEPEST and (once := _once_in_both(here, there)):
            stops = [(0, 0), *once, (len(here), len(there))]
            todo += [
                (begin + one[0], begin + next_[0], other + one[1], other + next_[1], depth + 1)
                for one, next_ in pairwise(stops)
            ]
        elif len(here) * len(there) <= SMALL:
            runs = SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks()
            found += [(begin + run.a, other + run.b, run.size) for run in runs]
    return _joined(sorted(run for run in found if run[2]))


def _once_in_both(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of words that occur once in each, as many as are in the same order in both."""
    counts, others = Counter(old), Counter(new)
    places = {one: place for place, one in enumerate(new) if others[one] == 1}
    # The smallest last place of an order of each length, and the pair that it is of.
    lasts: list[int] = []
    of_lasts: list[int] = []
    pairs: list[tuple[int, int, int]] = []
    for place, one in enumerate(old):
        if counts[one] != 1 or (other := places.get(one)) is None:
            continue
        length = bisect_left(lasts, other)
        pairs.append((place, other, of_lasts[length - 1] if length else -1))
        lasts[length : length + 1], of_lasts[length : length + 1] = [other], [len(pairs) - 1]
    chosen, last = [], of_lasts[-1] if of_lasts else -1
    while last >= 0:
        place, other, last = pairs[last]
        chosen.append((place, other))
    return chosen[::-1]


def _joined(runs: Iterable[Run]) -> list[Run]:
    """Return the runs with those in one that follow each other in both sequences."""
    joined: list[Run] = []
    for begin, other, length in runs:
        if joined and joined[-1][0] + joined[-1][2] == begin and joined[-1][1] + joined[-1][2] == other:
            joined[-1] = (*joined[-1][:2], joined[-1][2] + length)
        else:
            joined.append((begin, other, length))
    return joined
