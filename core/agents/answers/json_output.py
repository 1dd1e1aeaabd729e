"""Parses the text of a model into memory that may be stored (design 7).

Of the objects in the text the one with most of the wanted keys is meant. It is repaired where it is not
quite JSON, cleaned, overridden with facts of the engine, and validated. A required key that is missing and a
value of the wrong type make it invalid, but for null in place of a text or a list, which is an empty one, and
a number in place of a text; other keys are kept. Memory that is valid but too long is refused from a very
small model; any other model is asked once to write less.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError

from core.agents.answers.plain_problem import in_plain_words
from core.config.models.model_config import PromptStyle
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.story.memory import SMALL_BOUNDS, WIDE_BOUNDS, compact_json
from core.text.cleaning import clean
from core.text.numbers import read_count

MAX_OUTPUT = 200_000
"""Characters of output beyond which nothing is tried: memory is far shorter."""
MAX_REPAIRED, MAX_BRACKETS = 40_000, 1_000
"""Characters and opening brackets beyond which no repair is tried: its time grows with their square."""
MAX_PLACES = 50
"""Opening braces at which an object is looked for."""
MAX_PROBLEMS = 10
MAX_DEPTH = 12
"""Maximum depth to which values are followed; memory is four levels deep."""

MAX_MEMORY = 40_000
"""Characters of the longest block that is stored, as compact JSON: inputs carry it from then on."""
SOURCE_FACTOR, SOURCE_ALLOWANCE = 4, 2_000
"""A summary is too long when it is longer than four times its source and 2,000 characters: that is no
summary but a model that ran on. The keys alone take about 600 characters, so a chunk of seven short
prompts must be allowed memory that is longer than itself."""


class InvalidMemoryError(StoryEngineError):
    """Output that cannot be stored; `problems` are at most ten lines for the model's one more try.

    `plain` are sentences about the same for the GM, where the text is not a model's.
    """

    def __init__(self, problems: Sequence[str], plain: Sequence[str] = ()) -> None:
        self.problems = tuple(problems[:MAX_PROBLEMS])
        self.plain = tuple(plain[:MAX_PROBLEMS]) or tuple(f"{problem}." for problem in self.problems)
        super().__init__(ErrorCode.LLM_INVALID_JSON)


@dataclass(frozen=True, slots=True)
class Answer:
    """The one JSON object in a model's text, cleaned; `text` is its JSON, empty where it was repaired."""

    value: dict[str, object]
    text: str


@dataclass(frozen=True, slots=True)
class ParsedMemory:
    """Memory that may be stored; `too_long` says in lines for the model what should be shorter.

    `json_text` is as in `MemoryBlock`.
    """

    payload: Mapping[str, object]
    json_text: str
    too_long: tuple[str, ...] = ()


def read_object(text: str, keys: Collection[str]) -> Answer:
    """Return the object in `text` with most of `keys`, of several the first that is in no other one.

    A list alone is the value of the only key. Raise InvalidMemoryError when there is none.
    """
    if len(text) > MAX_OUTPUT:
        raise InvalidMemoryError([f"The answer has {len(text):,} characters; that is far too long."])
    if len(keys) == 1 and (answer := _bare_list(text, *keys)) is not None:
        return answer
    if "{" not in text:
        raise InvalidMemoryError(["There is no JSON object in the answer."])
    best: Answer | None = None
    most = (-1, False)
    for found, is_inner in _objects(text, keys):
        count = (len(found.value.keys() & set(keys)), not is_inner)
        if count > most:
            best, most = found, count
        if most == (len(keys), True):
            break
    if best is None:
        raise InvalidMemoryError(["The answer is not JSON, and nothing close to it."])
    renamed = _with_plain_keys(best.value, MAX_DEPTH)
    if isinstance(renamed, dict) and len(renamed.keys() & set(keys)) > most[0]:
        best = Answer(renamed, "")
    value = {clean(str(key)): _cleaned(inner, MAX_DEPTH) for key, inner in best.value.items()}
    return Answer(value, best.text)


def is_whole(text: str) -> bool:
    """Whether the first object in a text that was cut off is complete."""
    try:
        return bool(_DECODER.raw_decode(text, text.index("{")))
    except (ValueError, RecursionError):
        return False


def prompt_of(value: object) -> int | None:
    """Return the number of a prompt, also one in words (`3)`, `prompt 3`); None for anything else."""
    if isinstance(value, str):
        numbers = re.findall(r"\d+", value)
        return read_count(numbers[0]) if len(numbers) == 1 else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_true(value: object) -> bool:
    """Whether a value says yes; some models write it as text."""
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes"))


def checked(
    model: type[BaseModel],
    payload: dict[str, object],
    answer: Answer,
    style: PromptStyle,
    source_length: int | None = None,
) -> ParsedMemory:
    """Return `payload`, which the engine made of `answer`, as memory of the shape `model`.

    `source_length` is the length of the summarised text, where memory should be shorter than that.
    Raise InvalidMemoryError when it has another shape, is longer than `MAX_MEMORY`, or comes from a very
    small model and is too long.
    """
    payload = _filled(model, payload)
    try:
        model.model_validate(payload)
    except ValidationError as error:
        details = error.errors()
        raise InvalidMemoryError(
            [_problem(detail) for detail in details], [in_plain_words(model, detail) for detail in details]
        ) from error
    written = compact_json(payload)
    if len(written) > MAX_MEMORY:
        raise InvalidMemoryError(
            [f"The object has {len(written):,} characters; write far less than {MAX_MEMORY:,}."]
        )
    bounds = SMALL_BOUNDS if style is PromptStyle.SMALL else WIDE_BOUNDS
    too_long = [*bounds.exceeded_by(payload), *_longer_than_source(len(written), source_length)]
    if too_long and style is PromptStyle.SMALL:
        raise InvalidMemoryError(too_long)
    json_text = answer.text if _is_text_of(answer.text, written) else ""
    return ParsedMemory(payload, "" if json_text == written else json_text, tuple(too_long[:MAX_PROBLEMS]))


def overridden(given: object, truth: Mapping[str, object]) -> dict[str, object]:
    """Return an object with the facts of the engine in it; its other keys and their order are kept."""
    return {**(given if isinstance(given, Mapping) else {}), **truth}


def _longer_than_source(length: int, source_length: int | None) -> Iterator[str]:
    if source_length is not None and length > SOURCE_FACTOR * source_length + SOURCE_ALLOWANCE:
        yield f"The summary has {length:,} characters, its source {source_length:,}; write far less."


def _is_text_of(text: str, written: str) -> bool:
    """Whether `text` is JSON for exactly what `written` is the compact JSON of.

    A number with a fraction is left to be written again: the database's range is not that of a float.
    """
    try:
        return compact_json(json.loads(text, parse_float=str)) == written
    except ValueError:
        return False


_DECODER = json.JSONDecoder()


def _objects(text: str, keys: Collection[str]) -> Iterator[tuple[Answer, bool]]:
    """Yield the objects in `text` that are JSON, then what can be repaired, and whether it is in another."""
    end = 0
    for _ in range(MAX_PLACES):
        place = text.find("{", end)
        if place < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
            continue
        yield Answer(value, text[place:end]), False
        yield from ((Answer(inner, ""), True) for inner in _inner(value, 2))
    # Prose may have braces too: an object of ours begins with one of its keys.
    begun = re.search(rf"\{{(?=[\s\\\"'“”]*(?:{'|'.join(map(re.escape, keys))})\b)", text)
    for place in dict.fromkeys((begun.start() if begun else text.index("{"), text.index("{"))):
        yield from ((Answer(value, ""), False) for value in _repaired(text[place:]))


def _bare_list(text: str, key: str) -> Answer | None:
    """Return a list, fenced or not, that is the whole answer, as the value of `key`."""
    try:
        value = json.loads(re.sub(r"\A\s*```\w*|```\s*\Z", "", text))
    except (ValueError, RecursionError):
        return None
    is_wrapper = isinstance(value, list) and any(isinstance(one, dict) and key in one for one in value)
    return (
        Answer({key: _cleaned(value, MAX_DEPTH)}, "") if isinstance(value, list) and not is_wrapper else None
    )


def _with_plain_keys(value: object, depth: int) -> object:
    """Return a value with keys such as `canonLocks` and `Canon Locks` in our form, `canon_locks`."""
    if depth and isinstance(value, list):
        return [_with_plain_keys(one, depth - 1) for one in value]
    if not depth or not isinstance(value, dict):
        return value
    return {
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[ -]+", "_", str(key).strip()).lower(): _with_plain_keys(
            one, depth - 1
        )
        for key, one in value.items()
    }


def _inner(value: object, depth: int) -> Iterator[dict[str, object]]:
    """Yield the objects in a value: some models wrap the one that was asked for."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(inner, dict):
            yield inner
        if depth:
            yield from _inner(inner, depth - 1)


def _repaired(text: str) -> list[dict[str, object]]:
    """Return the object that `text` begins with, repaired where that is possible, and others behind it."""
    if len(text) > MAX_REPAIRED or text.count("{") + text.count("[") > MAX_BRACKETS:
        return []
    import json_repair  # Half a megabyte, for output that is not JSON.

    try:
        made: object = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return []
    # A list is an object, then prose that looked like more.
    return [one for one in (made if isinstance(made, list) else [made]) if isinstance(one, dict)]


def _filled(model: type[BaseModel], payload: Mapping[str, object]) -> dict[str, object]:
    """Return `payload` with empty texts and lists in place of null, and with text in place of numbers."""
    return {
        **payload,
        **{
            name: _fitting(field.annotation, payload[name])
            for name, field in model.model_fields.items()
            if name in payload
        },
    }


def _fitting(kind: object, value: object) -> object:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _filled(kind, value) if isinstance(value, Mapping) else value
    if kind is str and (value is None or isinstance(value, int | float)):
        return "" if value is None else json.dumps(value)
    if get_origin(kind) is not list or (value is not None and not isinstance(value, list)):
        return value
    (inner,) = get_args(kind)
    return [one if inner is str else _fitting(inner, one) for one in value or ()]


def _cleaned(value: object, depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if depth and isinstance(value, list):
        return [_cleaned(item, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return {clean(str(key)): _cleaned(inner, depth - 1) for key, inner in value.items()}
    return value if isinstance(value, int) or (isinstance(value, float) and isfinite(value)) else None


def _problem(detail: Mapping[str, object]) -> str:
    place = detail.get("loc")
    path = ".".join(str(step) for step in place) if isinstance(place, tuple) else ""
    return f"{path or 'object'}: {detail.get('msg')}"
