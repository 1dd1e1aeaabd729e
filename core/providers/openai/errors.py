"""Maps errors of a service to our codes and words (design 8). No SDK, no network: plain values in.

A service's message may repeat the key, whole or masked, or a header; `scrub` takes that out, and the
message of a refused key is never shown at all.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast

from core.domain.errors import ErrorCode
from core.providers.base import ProviderError, bounded_wait
from core.text.cleaning import clean_line

KEY_HINT = "Set STORYENGINE_API_KEY, or store the key with `storyengine model key`."
URL_HINT = "When it happens again, check STORYENGINE_BASE_URL."
_LONGEST_QUOTE = 240
_SHORTEST_SECRET = 6
"""Characters of a key or a header; a shorter one is no secret, and may be a part of any word."""
_SECRETS = re.compile(
    r"(?i)(?:bearer|basic)\s+[\w.~+/*=-]+"
    r"|(?:authorization|api[ _-]?key|x-api-key)\s*[\"']?\s*[:=]\s*[\"']?[^\s\"',}]+"
    r"|\b(?:sk|pk|rk|gsk|xai|key)-[\w*.-]+"
)
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context length exceeded"
    r"|exceeds? (?:the )?(?:available |model'?s? )?context|prompt is too long|context window"
    r"|too large to process"  # llama.cpp, of a text whose vector is wanted
    r"|context length of only|greater than the context length|maximum (?:prompt|model) length"
    r"|(?:input|prompt) is too long|input token count|prompt token count|too many tokens|exceeded model token"
    r"|prompt exceeds|input length should be|max_seq_len|`inputs` (?:tokens|must have)"
)
_FILTERED = re.compile(r"content_?filter|content_policy|content management policy|moderation|flagged")
_NO_CREDIT = re.compile(
    r"insufficient_(?:quota|credit|balance|funds)|billing_|credit_balance|credits?_exhausted"
    r"|credit balance|(?:insufficient|out of|not enough|no|requires more) (?:credits?|balance|funds)"
)


_BAD_KEY = re.compile(r"(?:invalid|incorrect) api[ _]key|api[ _]key (?:is )?(?:not valid|invalid)")
_CAP = re.compile(r"max_(?:completion_|output_|new_)?tokens")
_WAIT = re.compile(
    r"(?:try again|retry) in (?:(?P<minutes>\d{1,4})m)?(?P<number>\d{1,9}(?:\.\d{1,9})?)(?P<unit>ms|s)\b"
)


@dataclass(frozen=True, slots=True)
class RedactedValues:
    """Values of a request that must not be shown: the key, which may be empty, and extra headers."""

    key: str = field(default="", repr=False)
    headers: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFault:
    """An error as the service put it. `status` is that of HTTP, or the number that a stream named."""

    status: int | None
    code: str = ""
    kind: str = ""
    param: str = ""
    message: str = ""
    retry_after: float | None = None

    @property
    def words(self) -> str:
        """Code, kind and message in lower case, to look for telling words in."""
        return f"{self.code} {self.kind} {self.message}".lower()


def read_fault(status: int | None, body: object, headers: Mapping[str, str]) -> ServiceFault:
    """Return the fault in a decoded error body: OpenAI's shape, FastAPI's `detail`, or a bare text.

    It may be in a list (Google), or in the message (Mistral); a gateway has the words of the service that it
    asked in the metadata (OpenRouter).
    """
    if isinstance(body, list) and len(body) == 1 and isinstance(body[0], Mapping):
        body = body[0]
    fields = cast("Mapping[str, object]", body) if isinstance(body, Mapping) else {"message": body}
    inner = fields.get("error")
    if isinstance(inner, Mapping):
        fields = cast("Mapping[str, object]", inner)
    said, behind = fields.get("message"), fields.get("metadata")
    if isinstance(said, Mapping):
        fields = {**fields, "message": said.get("detail")}

    def text(*names: str) -> str:
        values = (fields.get(name) for name in names)
        return next((str(value) for value in values if isinstance(value, str | int | list) and value), "")

    code, message = text("code"), text("message", "error", "detail")
    if isinstance(behind, Mapping) and isinstance(raw := behind.get("raw"), str) and raw:
        message = f"{message}: {raw}"
    if status is None and re.fullmatch(r"[45]\d\d", code):
        status = int(code)
    return ServiceFault(
        status=status,
        code=code,
        kind=text("type"),
        param=text("param"),
        message=message,
        retry_after=retry_after_seconds(headers, datetime.now(UTC), message),
    )


def retry_after_seconds(headers: Mapping[str, str], now: datetime, message: str = "") -> float | None:
    """Return how many seconds the service asks us to wait, from any of the three ways of saying so.

    What is no number and no date counts as not said; the message of the error may say it then.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return bounded_wait(milliseconds / 1000)
    value = headers.get("retry-after", "")
    if (seconds := _number(value)) is not None:
        return bounded_wait(seconds)
    try:
        until = parsedate_to_datetime(value)
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        return bounded_wait((until - now).total_seconds())
    except (ValueError, OverflowError):
        said = _WAIT.search(message.lower())
    if said is None:
        return None
    seconds = float(said["number"]) / (1000 if said["unit"] == "ms" else 1)
    return bounded_wait(60 * int(said["minutes"] or 0) + seconds)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def code_of(fault: ServiceFault) -> ErrorCode:
    """Return our code for a fault."""
    words, status = fault.words, fault.status
    if _NO_CREDIT.search(words) or status == 402:
        return ErrorCode.LLM_CREDIT_EXHAUSTED
    if (status != 429 and _OVERFLOW.search(words)) or status == 413:
        return ErrorCode.LLM_CONTEXT_OVERFLOW
    if status in (None, 400, 403, 422) and _FILTERED.search(words):
        return ErrorCode.LLM_CONTENT_FILTERED
    if status == 400 and _BAD_KEY.search(words):
        return ErrorCode.LLM_AUTH_ERROR
    if status is None:
        return _code_by_name(words)
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return ErrorCode.LLM_SERVER_ERROR
    return ErrorCode.LLM_REQUEST_ERROR if 300 <= status < 400 else ErrorCode.LLM_ERROR


_BY_STATUS = {
    400: ErrorCode.LLM_REQUEST_ERROR,
    401: ErrorCode.LLM_AUTH_ERROR,
    403: ErrorCode.LLM_AUTH_ERROR,
    404: ErrorCode.LLM_REQUEST_ERROR,
    408: ErrorCode.LLM_TIMEOUT,
    422: ErrorCode.LLM_REQUEST_ERROR,
    429: ErrorCode.LLM_RATE_LIMITED,
}
_BY_NAME = (
    (re.compile(r"rate_?limit|too many requests"), ErrorCode.LLM_RATE_LIMITED),
    (re.compile(r"time_?d?[ _-]?out"), ErrorCode.LLM_TIMEOUT),
    (re.compile(r"authentication|invalid_api_key|permission"), ErrorCode.LLM_AUTH_ERROR),
    (re.compile(r"invalid_request|not_found"), ErrorCode.LLM_REQUEST_ERROR),
    (re.compile(r"server_error|overloaded|unavailable|internal"), ErrorCode.LLM_SERVER_ERROR),
)


def _code_by_name(words: str) -> ErrorCode:
    """For an error inside a stream, which has no status of its own."""
    return next((code for pattern, code in _BY_NAME if pattern.search(words)), ErrorCode.LLM_ERROR)


def not_a_stream(content_type: str) -> ProviderError | None:
    """Return the error for an answer with status 200 that held no chunk, None where its type says nothing.

    A page comes from an address that is not the service's, and so does JSON without an answer.
    """
    match content_type.partition(";")[0].strip().lower():
        case "text/html" | "application/xhtml+xml":
            message = "The address answered with a web page, not as a model's service; nothing is lost."
            hint = (
                "STORYENGINE_BASE_URL may be wrong (it often ends in /v1), or your network asks for a login."
            )
        case "application/json":
            message = "The model's service answered with JSON that holds no answer; nothing is lost."
            hint = URL_HINT
        case _:
            return None
    return ProviderError(ErrorCode.LLM_REQUEST_ERROR, message, hint=hint)


def scrub(text: str, secrets: RedactedValues) -> str:
    """Return a service's words on one line, short, and without anything that looks like a secret."""
    line = clean_line(text)
    for header in sorted(secrets.headers, key=len, reverse=True):
        if len(header) >= _SHORTEST_SECRET:
            line = line.replace(header, "[header]")
    if len(secrets.key) >= _SHORTEST_SECRET:
        line = line.replace(secrets.key, "[key]")
    line = _SECRETS.sub("[key]", line)
    return line if len(line) <= _LONGEST_QUOTE else line[:_LONGEST_QUOTE] + "…"


def provider_error(fault: ServiceFault, secrets: RedactedValues) -> ProviderError:
    """Return the error that the GM sees; `secrets` are what must not be in it."""
    code = code_of(fault)
    return ProviderError(
        code, _message(code, fault, secrets), hint=_hint(code, fault), retry_after=fault.retry_after
    )


def _message(code: ErrorCode, fault: ServiceFault, secrets: RedactedValues) -> str:
    if code is ErrorCode.LLM_AUTH_ERROR:
        if not secrets.key:
            return "The model's service requires a key, and no key is set; nothing is lost: set it and retry."
        return code.sentence
    if fault.status is not None and 300 <= fault.status < 400:
        return "The model's service has moved to another address, and we do not follow; nothing is lost."
    said = scrub(fault.message, secrets)
    end = "" if said.endswith((".", "!", "?", "…")) else "."
    return f"{code.sentence} The service said: “{said}”{end}" if said else code.sentence


def _hint(code: ErrorCode, fault: ServiceFault) -> str:
    match code:
        case ErrorCode.LLM_AUTH_ERROR:
            return KEY_HINT
        case ErrorCode.LLM_RATE_LIMITED if fault.retry_after:
            return f"The service asks to wait {math.ceil(fault.retry_after)} s."
        case ErrorCode.LLM_REQUEST_ERROR | ErrorCode.LLM_CONTEXT_OVERFLOW if _CAP.search(fault.words):
            return "F6 has the length of each agent's answers (tokens out); a lower one may be accepted."
        case _ if "roles must alternate" in fault.words:
            return "Set alternate_roles = true for its account in config.toml."
        case ErrorCode.LLM_REQUEST_ERROR:
            return "The settings STORYENGINE_MODEL and STORYENGINE_BASE_URL say what is asked and where."
        case _:
            return ""
