"""Differences between OpenAI-compatible services, and how one is learned from a refusal (design 8).

Servers that speak the same protocol refuse each other's fields. A dialect says which fields a model is
sent; when a refusal names one, `adapted` gives the next simpler dialect to try.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final
from urllib.parse import urlsplit

from core.config.models.model_config import OPENAI_SAMPLING
from core.providers.base import ChatMessage, ModelRequest, OutputSchema
from core.providers.openai.errors import ServiceFault

# Reasoning models of OpenAI by name, also behind a vendor's prefix; the chat variants are ordinary ones.
_REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-5)(?!.*-chat)")
_REFUSING_STATUS = frozenset({400, 404, 422, 501})
_REFUSAL = re.compile(
    r"unsupported|not support|n't support|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)"
    r"|not permitted|not allowed|not available|no endpoints|extra_forbidden|deprecated|cannot both"
    r"|may only be|only \S{1,9} is allowed"
)


class SchemaMode(IntEnum):
    """Method of asking for JSON, the strictest first."""

    JSON_SCHEMA = 0
    JSON_OBJECT = 1
    NOTE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Request fields that a model accepts."""

    cap_field: str = "max_tokens"
    takes_temperature: bool = True
    takes_stop: bool = True
    takes_stream_options: bool = True
    takes_llama_sampling: bool = False
    """Whether it is sent the fields of `Sampling` that llama.cpp knows and OpenAI does not."""
    takes_openai_sampling: bool = True
    schema_mode: SchemaMode = SchemaMode.JSON_SCHEMA

    @classmethod
    def of(cls, model: str, *, takes_llama_sampling: bool = False) -> "Dialect":
        """Return what is known of a model by its name alone, and of its server by where that is."""
        if _REASONING.search(model.lower()):
            return cls(
                cap_field="max_completion_tokens",
                takes_temperature=False,
                takes_stop=False,
                takes_openai_sampling=False,
            )
        return cls(takes_llama_sampling=takes_llama_sampling)

    def sampling(self, request: ModelRequest) -> dict[str, float]:
        """Return the fields of the request's sampling that the model is sent."""
        return {
            name: value
            for name, value in request.sampling.sent().items()
            if (self.takes_openai_sampling if name in OPENAI_SAMPLING else self.takes_llama_sampling)
        }


def adapted(dialect: Dialect, fault: ServiceFault, request: ModelRequest) -> Dialect | None:
    """Return the dialect to try after `fault`; None when the fault is not about a field that was sent."""
    if fault.status not in _REFUSING_STATUS:
        return None
    names = f"{fault.param} {fault.words}".lower()
    if request.schema is not None and _is_about_schema(names) and dialect.schema_mode < SchemaMode.NOTE:
        return replace(dialect, schema_mode=SchemaMode(dialect.schema_mode + 1))
    if (
        request.schema is not None
        and "json_validate_failed" in names
        and dialect.schema_mode < SchemaMode.NOTE
    ):
        return replace(dialect, schema_mode=SchemaMode.NOTE)  # Groq threw an answer away that we may read
    if not _REFUSAL.search(names):
        return None
    if dialect.takes_stream_options and re.search(r"stream_options|include_usage", names):
        return replace(dialect, takes_stream_options=False)
    if dialect.takes_temperature and request.temperature is not None and "temperature" in names:
        return replace(dialect, takes_temperature=False)
    if dialect.takes_stop and request.stop and re.search(r"['\"`]?\bstop\b", names):
        return replace(dialect, takes_stop=False)
    named = {name for name in dialect.sampling(request) if re.search(rf"\b{name}\b", names)}
    if named:
        if named & OPENAI_SAMPLING:
            return replace(dialect, takes_openai_sampling=False)
        return replace(dialect, takes_llama_sampling=False)
    if dialect.cap_field == "max_tokens" and "max_tokens" in names:
        return replace(dialect, cap_field="max_completion_tokens")
    if dialect.cap_field == "max_completion_tokens" and "max_completion_tokens" in names:
        return replace(dialect, cap_field="max_tokens")
    return None


def _is_about_schema(names: str) -> bool:
    return bool(re.search(r"response.?format|schema|json_object|structured output|guided|grammar", names))


def parameters(request: ModelRequest, dialect: Dialect) -> dict[str, object]:
    """Return the fields of the call without `stream`; what the SDK does not know is in `extra_body`."""
    fields: dict[str, object] = {
        "model": request.model,
        "messages": [
            {"role": message.role, "content": encodable(message.content)}
            for message in _with_note(request, dialect)
        ],
        dialect.cap_field: request.max_output_tokens,
    }
    if request.temperature is not None and dialect.takes_temperature:
        fields["temperature"] = request.temperature
    if request.stop and dialect.takes_stop:
        fields["stop"] = list(request.stop)
    if dialect.takes_stream_options:
        fields["stream_options"] = {"include_usage": True}
    if request.schema is not None and dialect.schema_mode is not SchemaMode.NOTE:
        fields["response_format"] = _response_format(request.schema, dialect.schema_mode)
    sampling = dialect.sampling(request)
    fields |= {name: sampling[name] for name in sampling if name in OPENAI_SAMPLING}
    if unknown := {name: sampling[name] for name in sampling if name not in OPENAI_SAMPLING}:
        fields["extra_body"] = unknown
    return fields


def refused_fields(request: ModelRequest, dialect: Dialect) -> tuple[str, ...]:
    """Return what `request` asks for and its model is not sent, by the names of the fields."""
    refused = {
        "temperature": request.temperature is not None and not dialect.takes_temperature,
        "stop": bool(request.stop) and not dialect.takes_stop,
        "json_schema": request.schema is not None and dialect.schema_mode is not SchemaMode.JSON_SCHEMA,
    }
    asked = OPENAI_SAMPLING & request.sampling.sent().keys()
    refused |= dict.fromkeys(sorted(asked), not dialect.takes_openai_sampling)
    return tuple(name for name, is_refused in refused.items() if is_refused)


def _response_format(schema: OutputSchema, mode: SchemaMode) -> Mapping[str, object]:
    if mode is SchemaMode.JSON_OBJECT:
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": schema.name, "strict": True, "schema": dict(schema.schema)},
    }


def _with_note(request: ModelRequest, dialect: Dialect) -> tuple[ChatMessage, ...]:
    """Add the schema in words for a server that cannot be held to it.

    The note joins the first system message, because many chat templates take only one.
    """
    if request.schema is None or dialect.schema_mode is SchemaMode.JSON_SCHEMA:
        return request.messages
    note = (
        "Answer with one JSON object and nothing else: no prose around it and no code fence. "
        f"It must follow this JSON schema:\n{json.dumps(request.schema.schema, ensure_ascii=False)}"
    )
    first, *rest = request.messages
    if first.role == "system":
        return (ChatMessage("system", f"{first.content}\n\n{note}"), *rest)
    return (ChatMessage("system", note), *request.messages)


def encodable(text: str) -> str:
    """Return `text` with each lone surrogate, which UTF-8 cannot carry, as a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


OPENING: Final = "Begin."
"""Text of a user message put before a first message of the assistant."""

_STRICT_HOSTS: Final = frozenset(
    {
        # Refuses with "user and assistant roles should be alternating".
        "api.perplexity.ai",
        # Its compatible endpoint hoists every system message to the beginning, which changes the order.
        "api.anthropic.com",
    }
)
# The chat templates that come with these models raise "conversation roles must alternate user/assistant";
# a server that renders them (vLLM, llama.cpp, text-generation-webui) answers with that error.
_STRICT_MODELS: Final = re.compile(
    r"(?<![a-z])(?:gemma|mistral|mixtral|ministral|codestral|llama-?2(?![\d.]))"
)


def must_alternate(setting: bool | None, base_url: str, model: str) -> bool:
    """Whether `model` at `base_url` takes roles only by turns: as it is set, else what is known of it."""
    if setting is not None:
        return setting
    return urlsplit(base_url).hostname in _STRICT_HOSTS or bool(_STRICT_MODELS.search(model.lower()))


def bridged(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return `messages` with one system message at most, then user and assistant by turns, the user first.

    Neighbours with the same role become one, in their order; a system message after the first other one is
    the user's. Messages that are so already come back as they are.
    """
    joined: list[ChatMessage] = []
    for message in messages:
        is_late = message.role == "system" and joined and joined[-1].role != "system"
        role = "user" if is_late else message.role
        if joined and joined[-1].role == role:
            joined[-1] = ChatMessage(role, f"{joined[-1].content}\n\n{message.content}")
            continue
        if role == "assistant" and not any(one.role == "user" for one in joined):
            joined.append(ChatMessage("user", OPENING))
        joined.append(ChatMessage(role, message.content))
    return tuple(joined)
