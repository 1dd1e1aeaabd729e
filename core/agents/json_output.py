"""From a model's text to memory that may be stored (design 7).

The text is repaired where it is not quite JSON, cleaned, overridden with what the engine knows, and
validated. Keys that nobody asked for are dropped; a required key that is missing, a value of the wrong
type and a text or list beyond its bounds make it invalid.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TypeVar

import json_repair
from pydantic import BaseModel, ValidationError

from core.errors import ErrorCode, StoryEngineError
from core.memory_digest import compact_json
from core.text import clean

MAX_OUTPUT = 200_000
"""Characters of output beyond which nothing is tried: memory is far shorter."""
MAX_REPAIRED, MAX_BRACKETS = 40_000, 1_000
"""Characters and opening brackets beyond which no repair is tried: its time grows with their square."""
MAX_PROBLEMS = 10
MAX_DEPTH = 12
"""How deep values are followed; memory is four levels deep."""

SOURCE_FACTOR, SOURCE_ALLOWANCE = 4, 2_000
"""A summary is refused when it is longer than four times its source and 2,000 characters: that is no
summary but a model that ran on. The keys alone take about 600 characters, so a chunk of seven short
prompts must be allowed memory that is longer than itself."""

Model = TypeVar("Model", bound=BaseModel)


class InvalidMemoryError(StoryEngineError):
    """Output that cannot be stored; `problems` are at most ten lines for the model's one more try."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems[:MAX_PROBLEMS])
        super().__init__(ErrorCode.LLM_INVALID_JSON)


def read_object(text: str) -> dict[str, object]:
    """Return the one JSON object in `text`, cleaned; raise InvalidMemoryError when there is none."""
    if len(text) > MAX_OUTPUT:
        raise InvalidMemoryError([f"The answer has {len(text):,} characters; that is far too long."])
    start = text.find("{")
    if start < 0:
        raise InvalidMemoryError(["There is no JSON object in the answer."])
    try:
        value = _loads(text[start:])
        if isinstance(value, dict):
            return {str(key): _cleaned(inner, MAX_DEPTH) for key, inner in value.items()}
    except (ValueError, RecursionError):
        raise InvalidMemoryError(["The answer is not JSON, and nothing close to it."]) from None
    raise InvalidMemoryError(["The answer is not one JSON object."])


def validated(model: type[Model], value: Mapping[str, object]) -> Model:
    """Return `value` as `model`, unknown keys dropped; raise InvalidMemoryError with what is wrong."""
    try:
        return model.model_validate(value, extra="ignore")
    except ValidationError as error:
        raise InvalidMemoryError([_problem(detail) for detail in error.errors()]) from error


def refuse_longer_than_source(payload: Mapping[str, object], source_length: int) -> None:
    """Raise InvalidMemoryError when the compact payload is too long to be a summary of its source."""
    length, allowed = len(compact_json(payload)), SOURCE_FACTOR * source_length + SOURCE_ALLOWANCE
    if length > allowed:
        raise InvalidMemoryError(
            [f"The summary has {length:,} characters, its source {source_length:,}; write far less."]
        )


def _loads(text: str) -> object:
    """Parse the object at the start of `text`; what stands after it is ignored.

    Raise ValueError or RecursionError when it is beyond repair.
    """
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        if len(text) > MAX_REPAIRED or text.count("{") + text.count("[") > MAX_BRACKETS:
            raise
        repaired: object = json_repair.loads(text, skip_json_loads=True)
    if isinstance(repaired, list):  # An object, then prose that looked like more.
        return next((item for item in repaired if isinstance(item, dict)), None)
    return repaired


def _cleaned(value: object, depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if depth and isinstance(value, list):
        return [_cleaned(item, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return {clean(str(key)): _cleaned(inner, depth - 1) for key, inner in value.items()}
    return value if isinstance(value, int | float | bool) else None


def _problem(detail: Mapping[str, object]) -> str:
    place = detail.get("loc")
    path = ".".join(str(step) for step in place) if isinstance(place, tuple) else ""
    return f"{path or 'object'}: {detail.get('msg')}"
