"""Parses the text of a model into memory that may be stored (design 7).

The text is repaired where it is not quite JSON, cleaned, overridden with facts of the engine, and
validated. A required key that is missing and a value of the wrong type make it invalid; other keys are
kept. Memory that is valid but too long is refused from a very small model; any other model is asked once
to write less.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from pydantic import BaseModel, ValidationError

from core.config.models.model_config import PromptStyle
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.story.memory import SMALL_BOUNDS, WIDE_BOUNDS, compact_json
from core.text.cleaning import clean

MAX_OUTPUT = 200_000
"""Characters of output beyond which nothing is tried: memory is far shorter."""
MAX_REPAIRED, MAX_BRACKETS = 40_000, 1_000
"""Characters and opening brackets beyond which no repair is tried: its time grows with their square."""
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
    """Output that cannot be stored; `problems` are at most ten lines for the model's one more try."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems[:MAX_PROBLEMS])
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


def read_object(text: str) -> Answer:
    """Return the one JSON object in `text`; raise InvalidMemoryError when there is none."""
    if len(text) > MAX_OUTPUT:
        raise InvalidMemoryError([f"The answer has {len(text):,} characters; that is far too long."])
    start = text.find("{")
    if start < 0:
        raise InvalidMemoryError(["There is no JSON object in the answer."])
    try:
        value, found = _loads(text[start:])
        if isinstance(value, dict):
            return Answer(
                {clean(str(key)): _cleaned(inner, MAX_DEPTH) for key, inner in value.items()}, found
            )
    except (ValueError, RecursionError):
        raise InvalidMemoryError(["The answer is not JSON, and nothing close to it."]) from None
    raise InvalidMemoryError(["The answer is not one JSON object."])


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
    try:
        model.model_validate(payload)
    except ValidationError as error:
        raise InvalidMemoryError([_problem(detail) for detail in error.errors()]) from error
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


def _loads(text: str) -> tuple[object, str]:
    """Parse the object at the start of `text`, and return its JSON too, unless it had to be repaired.

    Text after it is ignored. Raise ValueError or RecursionError when it is beyond repair.
    """
    try:
        value, end = json.JSONDecoder().raw_decode(text)
        return value, text[:end]
    except ValueError:
        if len(text) > MAX_REPAIRED or text.count("{") + text.count("[") > MAX_BRACKETS:
            raise
        import json_repair  # Half a megabyte, for output that is not JSON.

        repaired: object = json_repair.loads(text, skip_json_loads=True)
    if isinstance(repaired, list):  # An object, then prose that looked like more.
        return next((item for item in repaired if isinstance(item, dict)), None), ""
    return repaired, ""


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
