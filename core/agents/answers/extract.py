"""Memory for a model that is too small to summarise: it picks clauses of the source.

A very small model that writes freely invents, repeats itself and copies its example. So the schemas
that it is held to offer, for every text, the clauses of the source themselves: whatever it picks
is canon, word for word. Arrays are tuples whose places each draw on their own stretch of the source,
so that the whole of it is covered and nothing is picked twice. Only llama.cpp's engine is asked this.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from core.agents.answers.schema import Schema, fixed, record
from core.config.models.model_config import PromptStyle
from core.context.tokens import estimate_tokens
from core.text.graphemes import head
from core.text.letters import STOPS

CLAUSE_LENGTH, CLAUSE_TOKENS = 120, 60
"""Characters and tokens of the longest clause: what is picked must fit the output cap in any script."""
FITTED_SHARE = 0.8
"""Share of its cap that the longest answer may take by estimate. The rest is for white space in the JSON,
which the schema leaves to the model: an answer of about 600 tokens by estimate took 696."""

Option = TypeVar("Option")
EMPTY_LIST: Schema = {"type": "array", "const": []}
MAX_CLAUSES = 24
"""Maximum number of clauses that one place offers; evenly taken from a longer source."""

# How English says that something changes or is found; in another language nothing is found.
_CHANGES = (
    r"(?:is now|are now|becomes?|became|breaks|broke|opens|opened|closes|closed|locks|locked|unlocked|"
    r"falls|fell|dies|died|sinks|sank|collapses|collapsed|stops|stopped|starts|started|wakes|woke|"
    r"goes out|went out|burns|burned|vanishes|vanished|disappears|disappeared|is gone|are gone|is open|"
    r"is shut|is broken|is dead)"
)
_ENDS_A_THING = (
    r"and|or|but|of|in|on|at|to|from|with|by|for|as|into|onto|out|off|up|down|under|over|through|behind|that|"
    r"which|who|where|when|while|is|are|was|were|has|have|had|i|you|he|she|it|we|they|the|an?|my|your|his|her"
)
_THING = (
    r"\b(?P<thing>(?:the|an?|my|his|her|their|our|its)\s+[\w'’-]+"
    rf"(?:\s+(?!(?:{_ENDS_A_THING}|{_CHANGES})\b)[\w'’-]+){{0,2}})"
)
_CHANGE = re.compile(rf"{_THING}\s+{_CHANGES}\b", re.IGNORECASE)
_FIND = re.compile(
    r"\b(?:finds?|found|picks? up|picked up|takes?|took|grabs?|grabbed|draws?|drew|lifts?|lifted|holds?|held|"
    rf"pulls? out|pulled out|discovers?|discovered|reveals?|revealed)\s+{_THING}",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"\byou(?:r|rs|rself)?\b", re.IGNORECASE)
_QUESTION = ("?", "？", "؟")

# Where a clause ends: at the end of a line, or after a full stop in any of the usual scripts.
_CLAUSE_END = re.compile(rf"(?<=[{STOPS};])\s+|(?<=[。！？；])|\n+")


def clauses(text: str) -> list[str]:
    """Return the clauses of `text`, each once, none too long, none blank."""
    found: dict[str, None] = {}
    for sentence in _CLAUSE_END.split(text):
        rest = " ".join(sentence.split())
        while rest:
            piece = _bounded(rest)
            rest = rest[len(piece) :].strip()
            if any(char.isalnum() for char in piece):
                found[piece.strip()] = None
    return list(found)


def pick(options: Sequence[str], *, optional: bool = False) -> Schema:
    """Return the schema of one of `options`; of none of them too when `optional`, or when there are none."""
    offered = list(_spread(options))
    return {"type": "string", "enum": [*offered, ""] if optional or not offered else offered}


def picks(options: Sequence[str], count: int) -> Schema:
    """Return the schema of a list of up to `count` of `options`, each from its own stretch."""
    return tuple_of([pick(stretch) for stretch in stretches(options, count)])


def pick_any(options: Sequence[str], most: int) -> Schema:
    """Return the schema of a list of none to `most` of `options`."""
    if not options or not most:
        return EMPTY_LIST
    return {"type": "array", "items": pick(options), "minItems": 0, "maxItems": most}


def tuple_of(places: Sequence[Schema]) -> Schema:
    """Return the schema of a list with these places; of the empty list when there are none."""
    if not places:
        return EMPTY_LIST
    return {"type": "array", "prefixItems": list(places), "minItems": len(places), "maxItems": len(places)}


def stretches(options: Sequence[Option], count: int) -> list[Sequence[Option]]:
    """Return `options` cut into at most `count` runs of about equal length, none empty."""
    count = min(count, len(options))
    return [options[i * len(options) // count : (i + 1) * len(options) // count] for i in range(count)]


def fitted(build: Callable[[int], Schema], most: int, tokens: int) -> Schema:
    """Return `build(count)` of the highest count up to `most` whose longest answer fits in `tokens`.

    `count` bounds the entries of each list, so 0 is the least that the schema asks for, and is returned even
    when it does not fit.
    """
    room = int(tokens * FITTED_SHARE)
    counts = range(most, 0, -1)
    return next((made for made in map(build, counts) if longest_answer(made) <= room), None) or build(0)


def longest_answer(schema: Schema) -> int:
    """Return the estimated tokens of the longest JSON that `schema` permits."""
    return _tokens(_longest(schema))


def _longest(schema: Schema) -> object:
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return max(schema["enum"], key=_tokens)
    if schema["type"] == "object":
        return {key: _longest(inner) for key, inner in schema["properties"].items()}
    places = schema.get("prefixItems") or [schema["items"]] * schema["maxItems"]
    return [_longest(place) for place in places]


def _tokens(value: object) -> int:
    return estimate_tokens(json.dumps(value, ensure_ascii=False), PromptStyle.SMALL)


def _spread(options: Sequence[str]) -> Sequence[str]:
    if len(options) <= MAX_CLAUSES:
        return options
    return [options[i * len(options) // MAX_CLAUSES] for i in range(MAX_CLAUSES)]


def _bounded(text: str) -> str:
    """Return the beginning of `text` up to the last comma or word that fits."""
    piece = head(text, CLAUSE_LENGTH)
    while estimate_tokens(piece, PromptStyle.SMALL) > CLAUSE_TOKENS:
        piece = head(piece, len(piece) * 3 // 4)
    if len(piece) == len(text):
        return text
    for mark in (", ", " ", "、", "，"):
        at = piece.rfind(mark)
        if at >= len(piece) // 3:
            return piece[: at + len(mark)]
    return piece


def changes(told: Sequence[str]) -> list[dict[str, str]]:
    """Return a state change for every clause that says one, all in its own words."""
    found = [
        {"key": changed["thing"], "before": "", "after": clause, "notes": ""}
        for clause in told
        if (changed := _CHANGE.search(clause))
    ]
    return found[:MAX_CLAUSES]


def finds(told: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Return an item for every thing that a clause says is found or taken.

    `told` has clauses, each with the character who says it; empty for the GM.
    """
    things: dict[str, dict[str, str]] = {}
    for clause, name in told:
        for match in _FIND.finditer(clause):
            item = {"thing": match["thing"], "who_found": name, "why_it_matters": ""}
            things.setdefault(match["thing"].casefold(), item)
    return list(things.values())[:MAX_CLAUSES]


def questions(told: Sequence[str]) -> list[str]:
    """Return the clauses that ask something and are still open: all but questions to a character."""
    return [clause for clause in told if clause.endswith(_QUESTION) and not _ADDRESSED.search(clause)]


def addressed(told: Sequence[str]) -> list[str]:
    """Return the clauses that say something of the character they are said to, and ask nothing."""
    return [clause for clause in told if _ADDRESSED.search(clause) and not asks(clause)]


def asks(clause: str) -> bool:
    """Whether a clause is a question."""
    return clause.endswith(_QUESTION)


def records(options: Sequence[Mapping[str, str]], count: int) -> Schema:
    """Return the schema of a list of up to `count` of these objects: the first of each stretch."""
    taken = [stretch[0] for stretch in stretches(options, count)]
    return tuple_of([record(**{key: fixed(value) for key, value in one.items()}) for one in taken])
