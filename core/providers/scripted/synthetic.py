"""Answers made up from the request itself, so that a chapter can be played with no model and no file.

Everything here is a pure function of the request: the same request always gets the same answer.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import cast

from core.providers.base import ModelRequest
from core.text.delimiters import SegmentName

_SENTENCE = re.compile(r"[^.!?\n]*[^\s.!?][^.!?\n]*[.!?]?")
_SECTION = re.compile(r"^=== ([A-Z_]+) ===$(.*?)^=== END \1 ===$", re.MULTILINE | re.DOTALL)
"""A section of an input, between its marks (`core.text.delimiters`)."""
_TAKEN_UP = (SegmentName.USER_PROMPT, SegmentName.FULL_TRANSCRIPT)
"""Sections that a reply and a narrative take up; the other sections are not for the reader."""
_DEEPEST = 12
_TOKENS_PER_PARAGRAPH = 4_000
_MOST_PARAGRAPHS = 8
_OPENINGS = (
    "I take it in before I move.",
    "I nod, slowly, and keep my voice low.",
    "I step closer to see for myself.",
    "I let the silence stand for a breath.",
    "I look from one to the other.",
    "I set my hand on the doorframe and listen.",
)
_MIDDLES = (
    "“{echo}” I say it again, to hear how it sounds.",
    "So that is how it stands: {echo}",
    "I keep coming back to one thing. {echo}",
    "There is no going around it. {echo}",
)
_ENDINGS = (
    "Then I do what has to be done, and wait for what comes of it.",
    "I will go first, if nobody else does.",
    "Whatever this is, I mean to see the end of it.",
    "I ask what the others make of it.",
    "I put it away for later, and stay where I am.",
)


def synthesize_reply(request: ModelRequest) -> str:
    """Return prose in the first person that takes up the last message; a larger cap gets more of it."""
    last = request.messages[-1].content if request.messages else ""
    sections = _sections(last)
    told = next((sections[name] for name in _TAKEN_UP if name in sections), "\n".join(sections.values()))
    echoes = _sentences(told) or ["Nothing was said."]
    count = min(max(request.max_output_tokens // _TOKENS_PER_PARAGRAPH, 1), _MOST_PARAGRAPHS)
    seed = "\n".join(message.content for message in request.messages)
    return "\n\n".join(_paragraph(f"{seed}{number}", echoes, number) for number in range(count))


def _paragraph(seed: str, echoes: Sequence[str], number: int) -> str:
    echo = echoes[number % len(echoes)]
    middle = _pick(seed + "m", _MIDDLES).format(echo=echo)
    return f"{_pick(seed + 'o', _OPENINGS)} {middle} {_pick(seed + 'e', _ENDINGS)}"


def _pick(seed: str, choices: Sequence[str]) -> str:
    digest = hashlib.sha256(seed.encode("utf-8", "replace")).digest()
    return choices[int.from_bytes(digest[:4], "big") % len(choices)]


def _sections(text: str) -> dict[str, str]:
    """Return the sections of an input that hold words of a story, by their names; JSON is skipped."""
    found = {name: body.strip() for name, body in _SECTION.findall(text)} or {"": text.strip()}
    return {name: body for name, body in found.items() if body and body[0] not in "{["}


def _sentences(text: str) -> list[str]:
    return [found.strip()[:200] for found in _SENTENCE.findall(text) if found.strip()]


def json_from_schema(schema: Mapping[str, object], source: str, *, is_bloated: bool = False) -> object:
    """Return a value that satisfies `schema`, with strings taken from the sentences of `source`.

    Knows what pydantic writes: `$ref`, `const`, `enum`, `anyOf`, objects, arrays with bounds and
    `prefixItems`, strings with lengths, numbers with bounds; not `pattern`. `is_bloated` fills every
    string and every array to its maximum.
    """
    told = "\n".join(_sections(source).values())
    return _SchemaFiller(schema, _sentences(told) or ["Nothing of note."], is_bloated).fill(schema)


_BLOATED_LIST, _BLOATED_TEXT = 10, 260
"""Entries of a bloated list and characters of a bloated text, where the schema allows so many."""


class _SchemaFiller:
    """Fills one schema; the sentences go round, in order."""

    def __init__(self, root: Mapping[str, object], sentences: Sequence[str], is_bloated: bool) -> None:
        self._root = root
        self._sentences = sentences
        self._is_bloated = is_bloated
        self._used = 0

    def fill(self, schema: Mapping[str, object], depth: int = 0) -> object:
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return _list(schema["enum"])[0]
        match _type_of(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer":
                return int(_number(schema))
            case "number":
                return _number(schema)
            case "boolean":
                return False
            case "null":
                return None
            case _:
                return self._string(schema)

    def _resolved(self, schema: Mapping[str, object]) -> Mapping[str, object]:
        """Follow references and take the first branch that is not null; siblings stay in force."""
        for _ in range(_DEEPEST):
            if isinstance(reference := schema.get("$ref"), str):
                target: object = self._root
                for part in reference.split("/")[1:]:
                    target = _mapping(target)[part.replace("~1", "/").replace("~0", "~")]
            elif branches := (schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")):
                options = [_mapping(branch) for branch in _list(branches)]
                target = next((option for option in options if option.get("type") != "null"), options[0])
            else:
                break
            own = {key: value for key, value in schema.items() if key not in _INDIRECT}
            schema = {**_mapping(target), **own}
        return schema

    def _object(self, schema: Mapping[str, object], depth: int) -> dict[str, object]:
        properties = _mapping(schema.get("properties") or {})
        if depth >= _DEEPEST:
            required = _list(schema.get("required") or [])
            properties = {name: properties[name] for name in properties if name in required}
        return {name: self.fill(_mapping(inner), depth + 1) for name, inner in properties.items()}

    def _array(self, schema: Mapping[str, object], depth: int) -> list[object]:
        if depth >= _DEEPEST:
            return []
        prefix = [self.fill(_mapping(inner), depth + 1) for inner in _list(schema.get("prefixItems") or [])]
        least, most = _integer(schema, "minItems", 0), _integer(schema, "maxItems", 2)
        wanted = min(most, max(least, _BLOATED_LIST if self._is_bloated else 1))
        inner = schema.get("items", True)
        if inner is False:
            return prefix
        rest = {} if inner is True else _mapping(inner)
        return [*prefix, *(self.fill(rest, depth + 1) for _ in range(wanted - len(prefix)))]

    def _string(self, schema: Mapping[str, object]) -> str:
        sentence = self._sentences[self._used % len(self._sentences)]
        self._used += 1
        least = _integer(schema, "minLength", 0)
        most = _integer(schema, "maxLength", max(least, 400))
        wanted = min(most, max(least, _BLOATED_TEXT if self._is_bloated else 1))
        while len(sentence) < wanted:
            sentence = f"{sentence} {sentence}"
        return sentence[: min(most, wanted) if self._is_bloated else most].strip().ljust(least, ".")


_INDIRECT = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


def _type_of(schema: Mapping[str, object]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), "null")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "string"


def _number(schema: Mapping[str, object]) -> float:
    """Return the smallest number within the bounds; 0 or 1 where they allow it."""
    for name, step in (("minimum", 0), ("exclusiveMinimum", 1)):
        if isinstance(bound := schema.get(name), int | float):
            return bound + step
    for name, step in (("maximum", 0), ("exclusiveMaximum", 1)):
        if isinstance(bound := schema.get(name), int | float):
            return min(1, bound - step)
    return 1


def _integer(schema: Mapping[str, object], name: str, default: int) -> int:
    value = schema.get(name)
    return value if isinstance(value, int) else default


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError("the JSON schema is not well formed")
    return cast("Mapping[str, object]", value)


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise ValueError("the JSON schema is not well formed")
    return value
