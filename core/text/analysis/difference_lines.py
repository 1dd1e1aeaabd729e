"""The difference of two texts as lines of plain text, a paragraph each, for the screen and for scripts.

Each line begins with the mark of its kind: `=` counts paragraphs that are the same, `-` and `+` have one of
one text alone, `~` has both versions of one. In these, words of the one text alone are within `[-` and `-]`,
words of the other within `{+` and `+}`, as the program `wdiff` has them.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from core.text.analysis.difference import Difference, Part
from core.text.numbers import counted


class Kind(StrEnum):
    """The fate of a paragraph, or of a part of one; the value is its mark."""

    SAME = "="
    REMOVED = "-"
    ADDED = "+"
    CHANGED = "~"


_MARKED: Final = {Kind.SAME: "{}", Kind.REMOVED: "[-{}-]", Kind.ADDED: "{{+{}+}}"}


class LinePart(NamedTuple):
    """The place in a line of words of one text alone, with their marks."""

    begin: int
    end: int
    kind: Kind


class DifferenceLine(NamedTuple):
    """A line, and the parts of it that are of one text alone, in order."""

    kind: Kind
    text: str
    parts: tuple[LinePart, ...] = ()
    paragraphs: int = 1
    """The number of paragraphs that it stands for."""


def difference_lines(differences: Iterable[Difference]) -> Iterator[DifferenceLine]:
    """Yield the lines of a difference; neighbours that are the same are one line."""
    same = 0
    for one in differences:
        if one.is_same:
            same += 1
            continue
        if same:
            yield _same(same)
            same = 0
        if any(part.is_same for part in one.parts):
            yield _changed(one.parts)
        else:
            sides = ((Kind.REMOVED, one.before), (Kind.ADDED, one.after))
            yield from (_whole(kind, text.strip()) for kind, text in sides if text.strip())
    if same:
        yield _same(same)


def _same(count: int) -> DifferenceLine:
    return DifferenceLine(Kind.SAME, f"{Kind.SAME} {counted(count, 'paragraph')} the same", paragraphs=count)


def _whole(kind: Kind, text: str) -> DifferenceLine:
    line = f"{kind} {text}"
    return DifferenceLine(kind, line, (LinePart(0, len(line), kind),))


def _changed(parts: Iterable[Part]) -> DifferenceLine:
    line = f"{Kind.CHANGED} "
    texts, length = [line], len(line)
    marked: list[LinePart] = []
    for kind, text in _pieces(parts):
        if kind is not Kind.SAME:
            marked.append(LinePart(length, length + len(text), kind))
        texts.append(text)
        length += len(text)
    return DifferenceLine(Kind.CHANGED, "".join(texts), tuple(marked))


def _pieces(parts: Iterable[Part]) -> Iterator[tuple[Kind, str]]:
    """Yield the words of the parts with their marks, and a space wherever one of their texts has one."""
    is_apart = {Kind.REMOVED: False, Kind.ADDED: False}
    for part in parts:
        sides = ((Kind.REMOVED, part.before), (Kind.ADDED, part.after))
        is_spaced = False
        for kind, text in ((Kind.SAME, part.after),) if part.is_same else sides:
            if not (words := text.strip()):
                continue
            if not is_spaced and is_apart.get(kind, any(is_apart.values())):
                yield Kind.SAME, " "
                is_spaced = True
            yield kind, _MARKED[kind].format(words)
        is_apart |= {kind: text[-1].isspace() for kind, text in sides if text}
