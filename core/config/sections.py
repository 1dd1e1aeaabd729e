"""The tables of the settings: agents, accounts, profiles, money, embedding, with bounds for each value."""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from core.config.consent import normalise_base_url
from core.domain.errors import StoryEngineError
from core.domain.requests.cost import MOST_DOLLARS
from core.domain.story.condensed import USUAL_RATIO
from core.text.cleaning import has_controls

ProviderName = Literal["local", "openai", "scripted"]
RecentContext = Literal["exact", "stable"]
StyleName = Literal["full", "small"]
StrategyName = Literal["off", "adaptive", "fixed"]
FadingName = Literal["prompts", "hours"]
ProfileName = Literal["local", "staging", "production"]

LONGEST_SHOWN_NAME = 100
LONGEST_MODEL_NAME = 200
MAX_SECONDS = 86_400
"""A day: what is longer is a mistake, and would not fit the times and the numbers that are stored."""
Tokens = Annotated[int, Field(gt=0, le=100_000_000)]
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
ModelName = Annotated[str, Field(max_length=LONGEST_MODEL_NAME)]
DollarsPerMillion = Annotated[Decimal, Field(ge=0, le=MOST_DOLLARS, max_digits=15, decimal_places=9)]
Dollars = Annotated[Decimal, Field(ge=Decimal("0.01"), le=MOST_DOLLARS, max_digits=12, decimal_places=4)]
Tries = Annotated[int, Field(ge=1, le=1_000)]
RecallPercent = Annotated[int, Field(ge=1, le=50)]
RecallItems = Annotated[int, Field(ge=0, le=200)]
CallsPerMinute = Annotated[int, Field(gt=0, le=1_000_000)]
OPENAI_BASE_URL = "https://api.openai.com/v1"


def refuse_controls(value: object) -> object:
    """A name or an address is shown, stored and sent: what could act on a terminal gets no further than here.

    Secrets are not looked at; they are shown nowhere, and a password may be anything.
    """
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str | Path) and has_controls(str(text)):
            raise PydanticCustomError("control_characters", "it holds control characters")
    return value


class Section(BaseModel):
    """A table of settings without control characters in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*")
    @classmethod
    def _is_plain(cls, value: object) -> object:
        return refuse_controls(value)


class AgentSettings(Section):
    """Parameters of one kind of agent's calls. A field that is None takes the provider's default."""

    model_config = ConfigDict(defer_build=True)

    model: ModelName | None = None
    """Name of the model, as the service knows it; `account:model` for one of another account."""
    context_window: Tokens | None = None
    """Tokens that the model can hold, input and output together."""
    max_input_tokens: Tokens | None = None
    """Cap for the input; what is over budget is reduced in the documented order
    (`core.agents.context_builder`)."""
    max_memory_tokens: Tokens | None = None
    """Cap for structured memory within the input."""
    max_output_tokens: Tokens | None = None
    """Cap for the output, reasoning included."""
    timeout: Seconds | None = None
    """Seconds until the first token, and between two."""
    temperature: Annotated[float, Field(ge=0, le=10)] | None = None
    """Left out when None; reasoning models take none."""
    requests_per_minute: CallsPerMinute | None = None
    """Rate limit for this agent; None takes the default of the provider."""
    style: StyleName | None = None
    """`full` or `small`: the prompts that the model gets. Left out, its size decides."""
    recall_percent: RecallPercent | None = None
    """Maximum share of a character's input for recalled items, in percent; None takes the profile's."""
    recall_items: RecallItems | None = None
    """Maximum number of items recalled for a character; None takes the profile's."""


MOST_ACCOUNTS = 100
MOST_PRICES = 200
MOST_HEADERS = 20
_LONGEST_HEADER = 4_000
_ACCOUNT_NAME = re.compile(r"(?=.{1,40}\Z)[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
"""Pattern of an account's name that fits into a variable: `STORYENGINE_ACCOUNTS__NAME__API_KEY`."""
_RESERVED_NAMES = frozenset({"local"})
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\Z")
_OUR_HEADERS = re.compile(
    r"(?:host|accept(?:-.*)?|authorization|connection|content-.*|cookie|expect|keep-alive|proxy-.*|te|trailer"
    r"|transfer-encoding|upgrade|user-agent)\Z"
)


def is_account_name(name: str) -> bool:
    """Whether an account of the GM's may be called `name`."""
    return bool(_ACCOUNT_NAME.match(name)) and name not in _RESERVED_NAMES


class AccountSettings(Section):
    """A service beside the profile's own; its name is the part before the colon in `account:model`."""

    model_config = ConfigDict(defer_build=True)

    base_url: str
    """Address of an OpenAI-compatible service."""
    api_key: SecretStr | None = None
    """Prefer the environment or the keyring to a file."""
    model: ModelName | None = None
    """The model that answers where only the account is named: `account:`."""
    token_limit: Tokens | None = None
    """Tokens that its models can hold, input and output together, where an agent sets no window."""
    headers: Annotated[dict[str, SecretStr], Field(max_length=MOST_HEADERS)] = {}
    """Sent with every call to it, and shown nowhere."""
    concurrency: Annotated[int, Field(gt=0, le=1_000)] | None = None
    """Maximum number of concurrent calls; None sets no limit."""
    requests_per_minute: CallsPerMinute | None = None
    """Maximum number of calls, of all agents together, that begin within a minute."""
    alternate_roles: bool | None = None
    """Whether it takes only alternating messages of user and assistant; None goes by its known properties."""
    enabled: bool = True

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        try:
            return normalise_base_url(value)
        except StoryEngineError:
            raise PydanticCustomError("address", "it is no address such as https://host/v1") from None

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, value in headers.items():
            text = value.get_secret_value()
            if not _HEADER_NAME.match(name):
                raise PydanticCustomError("header", "a name in it is no name of a header")
            if _OUR_HEADERS.match(name.lower()):
                raise PydanticCustomError("header", "a header in it is set by the program itself")
            if len(text) > _LONGEST_HEADER or not _HEADER_VALUE.match(text):
                raise PydanticCustomError("header", "a value in it cannot be sent in a header")
        if len({name.lower() for name in headers}) < len(headers):
            raise PydanticCustomError("header", "a header is in it twice")
        return headers


DEFAULT_LORE_PERCENT: Final = 25
DEFAULT_RECALL_PERCENT: Final = 10
DEFAULT_RECALL_ITEMS: Final = 200
"""An item takes some 25 tokens. In a small input the percentage says how many there is room for."""


class ProfileSettings(Section):
    """One environment: who answers, where, with which key."""

    provider: ProviderName = "local"
    base_url: str = OPENAI_BASE_URL
    """Address of an OpenAI-compatible service; read by the provider `openai` only."""
    api_key: SecretStr | None = None
    """Prefer the environment or the keyring to a file."""
    model_path: Path | None = None
    """Another GGUF file for the provider `local`."""
    script: Path | None = None
    """The file of replies for the provider `scripted`."""
    recent_context: RecentContext | None = None
    """`exact`: a character reads the last seven prompts, and what is not in memory yet. `stable`: up to
    seven more, so that consecutive inputs begin alike, which a prompt cache rewards. Left out, it is what
    was measured to be better for the provider (`core.config.models.assignments`)."""
    avoid_repeats: bool = True
    """Whether a character whose reply only repeats its prompt, an earlier reply or the GM is asked again."""
    recent_prompts: Annotated[int, Field(ge=10, le=100)] | None = None
    """Least number of prompts that a character reads, where that is to be more than the last seven."""
    lore_percent: Annotated[int, Field(ge=1, le=75)] = DEFAULT_LORE_PERCENT
    """Maximum share of a character's input for lorebook entries, in percent."""
    memory_strategy: StrategyName = "off"
    """`adaptive`: the oldest memory is condensed by a call where an input would leave its details out.
    `fixed`: all but the newest memory is. `off`: no call is made for it."""
    memory_ratio: Annotated[float, Field(ge=0.1, le=0.8)] = USUAL_RATIO
    """Length of condensed memory as a share of its source."""
    recall_percent: RecallPercent = DEFAULT_RECALL_PERCENT
    """Maximum share of it for recalled items of the memory bank, in percent."""
    recall_items: RecallItems = DEFAULT_RECALL_ITEMS
    """Maximum number of recalled items; 0 recalls none."""
    recall_fading: FadingName = "prompts"
    """Clock by which items of the memory bank fade: prompts played since, or hours."""
    world_lock: AgentSettings = AgentSettings()
    character: AgentSettings = AgentSettings()
    context_summary: AgentSettings = AgentSettings()
    narrative: AgentSettings = AgentSettings()
    characters: dict[Annotated[int, Field(ge=1, le=7)], AgentSettings] = {}
    """Settings of single characters by slot; others are taken from `character`."""

    @field_validator("world_lock", "context_summary", "narrative")
    @classmethod
    def _recalls_nothing(cls, value: AgentSettings) -> AgentSettings:
        if value.recall_percent is not None or value.recall_items is not None:
            raise PydanticCustomError("recalls_nothing", "only characters recall items of the memory bank")
        return value


class Profiles(BaseModel):
    """The three environments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    local: ProfileSettings = ProfileSettings()
    staging: ProfileSettings = ProfileSettings(provider="openai")
    production: ProfileSettings = ProfileSettings(provider="openai")

    @field_validator("*", mode="before")
    @classmethod
    def _over_its_defaults(cls, value: object, info: ValidationInfo) -> object:
        """Lay what is set over the defaults of this profile, which are not those of ProfileSettings."""
        default = cls.model_fields[info.field_name or ""].default
        return {**default.model_dump(exclude_unset=True), **value} if isinstance(value, Mapping) else value


class PriceSettings(BaseModel):
    """Prices of a model, in US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: DollarsPerMillion
    output: DollarsPerMillion
    cached_input: DollarsPerMillion | None = None
    """Input that the service had in its cache; None where it costs what other input does."""
    reasoning: DollarsPerMillion | None = None
    """Output that is spent on reasoning; None where it costs what other output does."""


class CeilingSettings(BaseModel):
    """US dollars that may be spent before the GM is asked; None never asks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    chapter: Dollars | None = None
    day: Dollars | None = None
    """From midnight to midnight, in all chapters together."""


MOST_TEXTS: Final = 64
"""Texts that are made into vectors in one call."""


class EmbeddingSettings(Section):
    """The embedding model, which makes the vectors by which texts are found by meaning."""

    service: Annotated[str, Field(min_length=1, max_length=LONGEST_MODEL_NAME)] | None = None
    """`local` for the bundled model, `account:model` for one of an account, `off` for none. Left out, it is
    the bundled one where its weights are."""
    batch: Annotated[int, Field(ge=1, le=MOST_TEXTS)] = 16
    """Number of texts in one batch of vectors, beside the play."""
