"""The file of replies for the provider `scripted`: TOML or JSON, read and checked at once.

    order = "content"              # which of several unconditional replies: by the request (the same
                                   # after a restart), or "sequence": one after the other, per process
    synonyms = [["key", "latchkey"], ["boat", "skiff"]]   # count as one word where vectors are made

    [pace]
    first_token = 0.2              # seconds
    between_tokens = 0.01

    [[reply]]                      # the first entry with conditions that holds is taken
    match = { schema = "turn_delta", last = "lantern", anywhere = "You are Mira", model = "o4-mini" }
    text = "…"                     # or `payload`, an object sent as JSON; neither: made up
    fault = "rate_limited"         # see `Fault`
    retry_after = 2.0              # seconds, with a fault
    calls = [1, 3]                 # only for the first and third call that match in this process
    times = 1                      # answers that often in this process, then the next entry does
    first_token = 1.0              # overrides the pace

Every condition of `match` must hold: `schema` is the name of the wanted JSON schema, or "text" for a
request without one; `last` is a part of the last message, `anywhere` of any message (so a character's
name picks a slot).
"""

import json
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveInt, ValidationError

from core.config.files.bounded_file import read_bounded
from core.domain.errors import ErrorCode, StoryEngineError
from core.providers.base import ModelRequest

LARGEST_SCRIPT: Final = 10_000_000
"""Bytes of a file of replies; one for a chapter of a thousand prompts has fewer."""


class Fault(StrEnum):
    """Faults that a script can raise on demand."""

    TIME_OUT = "time_out"
    """Fails with a time-out at once."""
    HANG = "hang"
    """Says nothing until the request's own time-out is over."""
    RATE_LIMITED = "rate_limited"
    AUTH = "auth"
    CREDIT_EXHAUSTED = "credit_exhausted"
    SERVER_ERROR = "server_error"
    REQUEST_ERROR = "request_error"
    CONTEXT_OVERFLOW = "context_overflow"
    CUT = "cut"
    """The connection breaks off after half of the answer."""
    EMPTY = "empty"
    WHITE_SPACE = "white_space"
    REASONING_ONLY = "reasoning_only"
    TRUNCATED = "truncated"
    """Half of the answer, with the finish reason `length`."""
    CONTENT_FILTERED = "content_filtered"
    INVALID_JSON = "invalid_json"
    WRONG_SHAPE = "wrong_shape"
    """Valid JSON that is not what the schema asks for."""
    BLOATED_JSON = "bloated_json"
    """JSON that fits the schema and is longer than the text it was made from."""
    CONTROL_CHARACTERS = "control_characters"
    """The answer among escape sequences and control characters."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptMatch(_Part):
    """The conditions under which an entry answers; all of those given must hold."""

    json_schema: str | None = Field(default=None, alias="schema")
    last: str | None = None
    anywhere: str | None = None
    model: str | None = None

    def accepts(self, request: ModelRequest) -> bool:
        """Whether the entry may answer `request`."""
        wanted = request.schema.name if request.schema else "text"
        contents = [message.content for message in request.messages]
        return (
            self.json_schema in (None, wanted)
            and self.model in (None, request.model)
            and (self.last is None or self.last in "".join(contents[-1:]))
            and (self.anywhere is None or any(self.anywhere in content for content in contents))
        )


class Entry(_Part):
    """One reply, or one fault."""

    match: ScriptMatch = ScriptMatch()
    text: str | None = None
    payload: dict[str, object] | None = None
    fault: Fault | None = None
    retry_after: NonNegativeFloat | None = None
    calls: tuple[PositiveInt, ...] = ()
    times: PositiveInt | None = None
    first_token: NonNegativeFloat | None = None
    between_tokens: NonNegativeFloat | None = None

    @property
    def is_specific(self) -> bool:
        """Whether it has a condition, and so goes before the pool of unconditional replies."""
        return bool(self.match != ScriptMatch() or self.calls or self.times or self.fault)


class Pace(_Part):
    """Duration of an answer, in seconds."""

    first_token: NonNegativeFloat = 0.0
    between_tokens: NonNegativeFloat = 0.0

    def overridden(self, entry: Entry) -> "Pace":
        """Return the pace for one entry."""
        return Pace(
            first_token=self.first_token if entry.first_token is None else entry.first_token,
            between_tokens=self.between_tokens if entry.between_tokens is None else entry.between_tokens,
        )


class Script(_Part):
    """A whole file; the empty one makes everything up."""

    order: Literal["content", "sequence"] = "content"
    pace: Pace = Pace()
    reply: tuple[Entry, ...] = ()
    synonyms: tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] = ()


def load_script(file: Path) -> Script:
    """Read a `.toml` or `.json` script; raise StoryEngineError when it cannot be used."""
    try:
        text = read_bounded(file, LARGEST_SCRIPT).decode("utf-8")
        content = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
        return Script.model_validate(content)
    except OSError as error:
        raise _unusable(file, error.strerror or "it cannot be read") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _unusable(file, f"{where}: {first['msg']}") from error
    except ValueError as error:
        raise _unusable(file, str(error)) from error
    except RecursionError as error:
        raise _unusable(file, "its brackets are too deep to be read") from error


def _unusable(file: Path, reason: str) -> StoryEngineError:
    return StoryEngineError(
        ErrorCode.ILLEGAL_COMMAND,
        f"The script {file} cannot be used ({reason}); nothing was asked of any model.",
        "Correct the file, or unset STORYENGINE_SCRIPT and leave --replies out: replies are made up then.",
    )
