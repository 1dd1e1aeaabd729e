"""JSON that is kept as its text: a change touches the edited values alone, and nothing else of it moves.

Numbers, the order of keys, escapes and white space of a card say nothing to us, but they are the author's,
and another program may read them. So the text is the value, and a path in it is found with the scanner of
the standard library.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from core.library.refusal import FileRefusedError

LARGEST_JSON: Final = 16 * 1024 * 1024
"""Bytes of one JSON text."""
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 2_000_000
"""Values of one text; a lorebook of ten thousand entries has half a million."""

Path = tuple[str | int, ...]
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_OTHERS = re.compile(r"[^\[\]{},]+")
_NESTED = re.compile(r"[\[{]|[\]}]")
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True)
class JsonDocument:
    """A JSON text within its bounds, and what it says; made by `parse_json`."""

    text: str

    @cached_property
    def value(self) -> Any:
        """The parsed value; not to be changed."""
        return json.loads(self.text)

    def get(self, *path: str | int) -> Any:
        """Return the value at `path`; None where there is no such place."""
        value = self.value
        for step in path:
            if isinstance(step, str):
                value = value.get(step) if isinstance(value, dict) else None
            else:
                value = value[step] if isinstance(value, list) and 0 <= step < len(value) else None
        return value

    def has(self, *path: str | int) -> bool:
        """Whether there is a value at `path`, which may be null."""
        *above, last = path
        parent = self.get(*above)
        if isinstance(parent, dict):
            return last in parent
        return isinstance(parent, list) and isinstance(last, int) and 0 <= last < len(parent)

    def with_value(self, path: Path, value: Any) -> "JsonDocument":
        """Return the document with `value` at `path`; missing objects on the way are added at their ends.

        Raises KeyError for a path through a list that is too short, or through another value.
        """
        return self.with_values({path: value})

    def with_values(self, values: Mapping[Path, Any]) -> "JsonDocument":
        """Return the document with all these values at their paths; no path may lead through another."""
        tree: dict[str | int, Any] = {}
        for path, value in values.items():
            *above, last = path
            node = tree
            for step in above:
                node = node.setdefault(step, {})
            node[last] = _New(value)
        return JsonDocument(
            _spliced(self.text, _splices(self.text, _space(self.text, 0), len(self.text), tree))
        )

    def with_item(self, path: Path, value: Any) -> "JsonDocument":
        """Return the document with `value` at the end of the list at `path`; raise KeyError without one."""
        span = _find(self.text, path)
        if span is None or self.text[span[0]] != "[":
            raise KeyError(path)
        members = list(_members(self.text, span[0]))
        return JsonDocument(_spliced(self.text, [_added(self.text, *span, members, [_written(value)])]))

    def without(self, path: Path) -> "JsonDocument":
        """Return the document without the value at `path`; unchanged if there is no such value."""
        if not self.has(*path):
            return self
        *above, last = path
        start, _ = _find(self.text, tuple(above)) or (0, 0)
        members = list(_members(self.text, start))
        # A name may be there several times.
        gone = [number for number, member in enumerate(members) if member.name == last]
        splices = []
        end = len(members)
        while gone and gone[-1] == end - 1:
            end = gone.pop()
        if end < len(members):
            begin = members[end - 1].end if end else members[0].start
            splices.append((begin, members[-1].end, ""))
        splices += [(members[number].start, members[number + 1].start, "") for number in gone]
        return JsonDocument(_spliced(self.text, splices))


@dataclass(frozen=True, slots=True)
class _New:
    """A value that comes into a document."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of an object or a list: from its name to the end of its value."""

    name: str | int
    start: int
    value: int
    end: int


def parse_json(content: bytes | str, what: str) -> JsonDocument:
    """Return the document of a JSON text; raise FileRefusedError, whose sentence begins with `what`."""
    text = decoded(content.encode("utf-8", "replace") if isinstance(content, str) else content, what)
    text = text.strip("\ufeff\x00 \t\r\n")
    if not text:
        raise FileRefusedError(f"{what} is empty.")
    _check_bounds(text, what)
    document = JsonDocument(text)
    try:
        _ = document.value
    except json.JSONDecodeError as error:
        raise FileRefusedError(f"{what} is not valid JSON: line {error.lineno} cannot be read.") from error
    except (ValueError, RecursionError) as error:
        raise FileRefusedError(f"{what} has a number or a nesting that cannot be read.") from error
    return document


def decoded(content: bytes, what: str) -> str:
    """Return the text of a file; raise FileRefusedError when it is no text or too large."""
    if len(content) > LARGEST_JSON:
        raise FileRefusedError(f"{what} is larger than {LARGEST_JSON // 1024**2} MB of JSON.")
    encodings = ["utf-8-sig", "cp1252"]
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings = ["utf-16"]
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise FileRefusedError(f"{what} is not text.")


def encoded_within(content: bytes, before: JsonDocument, after: JsonDocument) -> bytes:
    """Return the file `content` with `after` in place of the text `before` that was read from it.

    What is around the text stays, and so does its encoding, but for one that could not hold every letter.
    """
    encoding = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(content[:2], "utf-8")
    text = before.text.encode(encoding)
    at = content.find(text)
    if at < 0:
        return after.text.encode()
    return content[:at] + after.text.encode(encoding) + content[at + len(text) :]


def _check_bounds(text: str, what: str) -> None:
    marks = _OTHERS.sub("", _STRING.sub("", text))
    if len(marks) > MAX_VALUES:
        raise FileRefusedError(f"{what} has more than {MAX_VALUES:,} values.")
    depth = 0
    for mark in _NESTED.findall(marks):
        depth += 1 if mark in "[{" else -1
        if depth > MAX_DEPTH:
            raise FileRefusedError(f"{what} is nested deeper than {MAX_DEPTH} levels.")


def _splices(
    text: str, start: int, end: int, tree: Mapping[str | int, Any]
) -> Iterator[tuple[int, int, str]]:
    """Yield what replaces what for the new values in `tree`, below the value from `start` to `end`."""
    if text.startswith("null", start) and all(isinstance(step, str) for step in tree):
        yield start, end, _written(_plain(tree))
        return
    members = list(_members(text, start))
    known = {member.name: member for member in members}
    missing: list[str] = []
    for step, below in tree.items():
        member = known.get(step)
        if member is None:
            if text[start] != "{" or not isinstance(step, str):
                raise KeyError(step)
            missing.append(f"{_written(step)}: {_written(_plain(below))}")
        elif isinstance(below, _New):
            yield member.value, member.end, _written(below.value)
        else:
            yield from _splices(text, member.value, member.end, below)
    if missing:
        yield _added(text, start, end, members, missing)


def _plain(below: Any) -> Any:
    if isinstance(below, _New):
        return below.value
    return {step: _plain(value) for step, value in below.items()}


def _added(
    text: str, start: int, end: int, members: Sequence[_Member], new: Sequence[str]
) -> tuple[int, int, str]:
    """Return the splice that adds members at the end, spaced as those before them are."""
    if not members:
        return start + 1, end - 1, ", ".join(new)
    between = text[members[-2].end : members[-1].start] if len(members) > 1 else ", "
    return members[-1].end, members[-1].end, "".join(between + member for member in new)


def _written(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def _spliced(text: str, splices: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with each of these spans, which do not overlap, replaced."""
    parts, at = [], 0
    for start, end, new in sorted(splices):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _find(text: str, path: Sequence[str | int]) -> tuple[int, int] | None:
    """Return the span of the value at `path`, or None. Of two equal names the last counts."""
    start, end = _space(text, 0), len(text)
    for step in path:
        found = [member for member in _members(text, start) if member.name == step]
        if not found:
            return None
        start, end = found[-1].value, found[-1].end
    return start, end


def _members(text: str, start: int) -> Iterator[_Member]:
    """Yield the members of the object or list that begins at `start`; none for another value."""
    opening = text[start]
    if opening not in "[{":
        return
    at, number = _space(text, start + 1), 0
    while text[at] not in "]}":
        begin = at
        name: str | int = number
        if opening == "{":
            name, at = _DECODER.raw_decode(text, at)
            at = _space(text, _space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield _Member(name, begin, at, end)
        number += 1
        at = _space(text, end)
        if text[at] == ",":
            at = _space(text, at + 1)


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
