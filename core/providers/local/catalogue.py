"""The models that can be fetched, read from `catalogue.toml` beside this file (design 8)."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from core.config.consent import is_loopback
from core.config.files.bounded_file import read_bounded
from core.config.models.model_config import PromptStyle
from core.domain.errors import ErrorCode, StoryEngineError
from core.text.cleaning import clean_line, has_controls

CATALOGUE = Path(__file__).with_name("catalogue.toml")
LARGEST_MODEL = 500_000_000_000
"""Bytes of a model file; larger ones run on no machine that plays stories."""
_MOST_ENTRIES = 100

Bytes = Annotated[int, Field(strict=True, gt=0, le=LARGEST_MODEL)]
Line = Annotated[str, Field(min_length=1, max_length=200)]
PlainName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class RegistryPart(BaseModel):
    """A piece of a model file, packed as the one file with the entry's `member` name in a wheel."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    requirement: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}==[A-Za-z0-9.+!-]{1,50} --hash=sha256:[0-9a-f]{64}$")
    ]
    """Requirement for pip: one version with its hash."""
    bytes: Bytes


class CatalogueEntry(BaseModel):
    """A model file, what it needs, and where it comes from: the parts of a registry, or one address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: PlainName
    title: Line
    file_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.gguf$")]
    bytes: Bytes
    memory: Annotated[int, Field(strict=True, gt=0, le=1_000_000)]
    """Megabytes that the server needs with a context of `context` tokens, its caches included."""
    licence: Line
    quantisation: Line
    context: Annotated[int, Field(strict=True, ge=1_024, le=10_000_000)]
    """Tokens that the local server gives it."""
    style: PromptStyle
    """The prompt style that suits a model of this size."""
    sha256: Digest
    hash_source: Line
    """Address where the hash can be looked up."""
    package: str | None = None
    """The package that has the file where it is installed; such a model needs no fetching."""
    member: Line | None = None
    """Name, or pattern of names, of the file inside each wheel."""
    parts: Annotated[tuple[RegistryPart, ...], Field(max_length=10_000)] = ()
    address: Annotated[str, Field(max_length=2_000)] | None = None

    @field_validator("title", "licence", "quantisation", "hash_source", "address", "member")
    @classmethod
    def _is_plain(cls, value: str | None) -> str | None:
        if value is not None and has_controls(value):
            raise PydanticCustomError("control_characters", "it holds control characters")
        return value

    @field_validator("address")
    @classmethod
    def _is_encrypted(cls, value: str | None) -> str | None:
        if value is not None and not is_address_allowed(value):
            raise PydanticCustomError("address", "it is not an https address")
        return value

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if bool(self.parts) == bool(self.address) or bool(self.parts) != bool(self.member):
            raise PydanticCustomError("source", "it needs either parts with a member, or an address")
        if self.parts and sum(part.bytes for part in self.parts) != self.bytes:
            raise PydanticCustomError("size", "its parts are not as large as the whole")
        return self

    @property
    def megabytes(self) -> int:
        """Size of the download in megabytes."""
        return max(1, round(self.bytes / 1_000_000))

    @property
    def source(self) -> str:
        """Source of the download, as the GM is told before it begins."""
        if self.address is not None:
            return urlsplit(self.address).netloc
        return "the package registry that this Python is set up for"


class CatalogueError(StoryEngineError):
    """A catalogue that cannot be used, or a name that is not in it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(ErrorCode.ILLEGAL_COMMAND, message, hint)


def is_address_allowed(address: str) -> bool:
    """Whether a model may be fetched from there: over https, or from this machine."""
    try:
        parts = urlsplit(address)
        is_here = is_loopback(f"{parts.scheme}://{parts.netloc}")
    except (ValueError, StoryEngineError):
        return False
    return parts.scheme == "https" or is_here


def read_catalogue(file: Path) -> tuple[CatalogueEntry, ...]:
    """Return the entries of a catalogue; raise CatalogueError when the file is not a valid one."""
    try:
        found = tomllib.loads(read_bounded(file).decode("utf-8"))
        models = found.get("model")
        if not isinstance(models, list) or not 0 < len(models) <= _MOST_ENTRIES:
            raise ValueError(f"it needs 1 to {_MOST_ENTRIES} entries [[model]]")
        entries = tuple(CatalogueEntry.model_validate(model) for model in models)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise _unusable(file, f"{where}: {first['msg']}".removeprefix(": ")) from None
    except OSError as error:
        raise _unusable(file, error.strerror or "it cannot be read") from error
    except (ValueError, RecursionError) as error:
        raise _unusable(file, str(error)) from None
    for what in ({entry.name for entry in entries}, {entry.file_name for entry in entries}):
        if len(what) != len(entries):
            raise _unusable(file, "two entries have the same name")
    return entries


def _unusable(file: Path, reason: str) -> CatalogueError:
    shown = clean_line(reason)[:200]
    return CatalogueError(f"The catalogue of models {file.name} cannot be used: {shown}.", "Install again.")


@cache
def catalogue() -> tuple[CatalogueEntry, ...]:
    """Return the shipped entries, the bundled model first."""
    return read_catalogue(CATALOGUE)


def bundled() -> CatalogueEntry:
    """Return the model that comes with the installation."""
    return catalogue()[0]


def find_entry(name: str) -> CatalogueEntry:
    """Return the entry with this name or the only one whose name begins so; raise CatalogueError."""
    wanted = name.strip().lower()
    found = [entry for entry in catalogue() if entry.name == wanted]
    found = found or [entry for entry in catalogue() if wanted and entry.name.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    raise CatalogueError(
        f"There is no one model “{clean_line(name)[:100]}” in the catalogue; nothing was changed.",
        "List the names with `storyengine model list`.",
    )
