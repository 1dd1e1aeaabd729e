"""A provider without a model: replies from a file, or made up from the request, with faults on demand.

It is the offline demo and the double that tests use (design 8). Its answer depends on the request
alone, so a chapter that is resumed after a restart goes on as it would have; only
entries that count calls (`calls`, `times`) and `order = "sequence"` remember anything, for one process.
The file is described in `core/providers/scripted/script.py`.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path

from core.config.models.assignments import SCRIPT
from core.domain.errors import ErrorCode
from core.domain.requests.request import Usage
from core.providers.answer import Answer, AnswerChunk, cut_off
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.scripted.script import Entry, Fault, Script, load_script
from core.providers.scripted.synthetic import json_from_schema, synthesize_reply

_TOKEN = re.compile(r"\s*\S+|\s+\Z")
_CHARACTERS_PER_TOKEN = 4
_RATE_LIMIT_SECONDS = 1.0
_ERRORS: dict[Fault, ErrorCode] = {
    Fault.TIME_OUT: ErrorCode.LLM_TIMEOUT,
    Fault.RATE_LIMITED: ErrorCode.LLM_RATE_LIMITED,
    Fault.AUTH: ErrorCode.LLM_AUTH_ERROR,
    Fault.CREDIT_EXHAUSTED: ErrorCode.LLM_CREDIT_EXHAUSTED,
    Fault.SERVER_ERROR: ErrorCode.LLM_SERVER_ERROR,
    Fault.REQUEST_ERROR: ErrorCode.LLM_REQUEST_ERROR,
    Fault.CONTEXT_OVERFLOW: ErrorCode.LLM_CONTEXT_OVERFLOW,
}
_LITTER = "\x1b[2J\x1b]0;title\x07\x1b[31m{}\x00\x08\x9b0m\u202e [/x] "


class ScriptedProvider:
    """Answers from a script; without one, everything is made up from the request."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script or Script()
        self._served = [0] * len(self._script.reply)
        """Number of answers of each entry in this process."""
        self._seen = [0] * len(self._script.reply)
        """Number of calls that each entry has matched in this process, answered or not."""

    @classmethod
    def from_file(cls, file: Path) -> "ScriptedProvider":
        """Read a script; raise StoryEngineError when it cannot be read or is not valid."""
        return cls(load_script(file))

    @property
    def name(self) -> str:
        """Name of the provider in artifacts."""
        return "scripted"

    @property
    def base_url(self) -> str | None:
        """None: nothing leaves this process."""
        return None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        """Yield the deltas and the completion; see `Provider.stream`."""
        entry = self._choose(request) or Entry()
        pace = self._script.pace.overridden(entry)
        await _wait(pace.first_token, request.timeout)
        _raise_fault(entry)
        if entry.fault is Fault.HANG:
            await _wait(float("inf"), request.timeout)
        text = _text_of(entry, request)
        answer = Answer(SCRIPT)
        for number, token in enumerate(_tokens(text)):
            if number:
                await _wait(pace.between_tokens, request.timeout)
            if shown := answer.add(AnswerChunk(text=token)):
                yield TextDelta(shown)
        if entry.fault is Fault.CUT:
            raise cut_off()
        answer.add(_last_piece(entry, request, text))
        if shown := answer.rest():
            yield TextDelta(shown)
        yield answer.completion()

    async def aclose(self) -> None:
        """Nothing is held."""

    def _choose(self, request: ModelRequest) -> Entry | None:
        """Return the entry that answers, one with conditions before one of the pool; None: make it up."""
        matching = [index for index, entry in enumerate(self._script.reply) if entry.match.accepts(request)]
        for index in matching:
            self._seen[index] += 1
        able = [index for index in matching if self._is_able(index)]
        named = [index for index in able if self._script.reply[index].is_specific]
        if not able:
            return None
        chosen = named[0] if named else able[self._place(request) % len(able)]
        self._served[chosen] += 1
        return self._script.reply[chosen]

    def _is_able(self, index: int) -> bool:
        entry = self._script.reply[index]
        if entry.calls and self._seen[index] not in entry.calls:
            return False
        return entry.times is None or self._served[index] < entry.times

    def _place(self, request: ModelRequest) -> int:
        if self._script.order == "sequence":
            return sum(
                served
                for served, entry in zip(self._served, self._script.reply, strict=True)
                if not entry.is_specific
            )
        return int(fingerprint(request)[:8], 16)


def fingerprint(request: ModelRequest) -> str:
    """Return a hexadecimal hash of the request, the same in every process."""
    content = [[message.role, message.content] for message in request.messages]
    name = request.schema.name if request.schema else ""
    return hashlib.sha256(json.dumps([name, content]).encode("ascii")).hexdigest()


async def _wait(seconds: float, limit: float) -> None:
    """Sleep; raise LLM_TIMEOUT where `limit`, the request's time-out, comes first."""
    if seconds > 0:
        await asyncio.sleep(min(seconds, limit))
    if seconds > limit:
        raise ProviderError(ErrorCode.LLM_TIMEOUT)


def _raise_fault(entry: Entry) -> None:
    if entry.fault is None or entry.fault not in _ERRORS:
        return
    retry_after = entry.retry_after
    if retry_after is None and entry.fault is Fault.RATE_LIMITED:
        retry_after = _RATE_LIMIT_SECONDS
    raise ProviderError(_ERRORS[entry.fault], retry_after=retry_after)


def _text_of(entry: Entry, request: ModelRequest) -> str:
    """Return what the entry answers, spoilt as its fault says."""
    text = _sound_text(entry, request)
    match entry.fault:
        case Fault.EMPTY | Fault.REASONING_ONLY | Fault.CONTENT_FILTERED:
            return ""
        case Fault.WHITE_SPACE:
            return " \n\t\u200b \n"
        case Fault.INVALID_JSON:
            return '{"memory_type": [unclosed, "quote: }\n' + text[1 : len(text) // 2]
        case Fault.WRONG_SHAPE:
            return '{"memory_type": 7, "surprise": ["not", "what", "was", "asked"]}'
        case Fault.TRUNCATED | Fault.CUT:
            return text[: max(1, len(text) // 2)]
        case Fault.CONTROL_CHARACTERS if request.schema is None:
            return _LITTER.format(text)
        case _:
            return text


def _sound_text(entry: Entry, request: ModelRequest) -> str:
    if entry.text is not None:
        return entry.text
    if entry.payload is not None:
        return json.dumps(entry.payload, ensure_ascii=False)
    if request.schema is None:
        return synthesize_reply(request)
    source = request.messages[-1].content if request.messages else ""
    if entry.fault is Fault.CONTROL_CHARACTERS:
        source = _LITTER.format(source)
    is_bloated = entry.fault is Fault.BLOATED_JSON
    made = json_from_schema(request.schema.schema, source, is_bloated=is_bloated)
    if is_bloated:
        return json.dumps(made, indent=1)
    return json.dumps(made, ensure_ascii=False)


def _tokens(text: str) -> list[str]:
    """Cut a text into the pieces that are streamed: words with the white space before them."""
    return _TOKEN.findall(text) if text.strip() else [text] * bool(text)


def _last_piece(entry: Entry, request: ModelRequest, text: str) -> AnswerChunk:
    finish = {Fault.TRUNCATED: "length", Fault.CONTENT_FILTERED: "content_filter"}
    sent = sum(len(message.content) for message in request.messages)
    return AnswerChunk(
        has_reasoning=entry.fault is Fault.REASONING_ONLY,
        finish_reason=finish.get(entry.fault, "stop") if entry.fault else "stop",
        usage=Usage(sent // _CHARACTERS_PER_TOKEN + 1, len(text) // _CHARACTERS_PER_TOKEN),
    )
