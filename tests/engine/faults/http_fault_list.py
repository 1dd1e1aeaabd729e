"""Every fault that the HTTP server of `tests.http_faults` can play, by name, with the code it must become."""

import asyncio
from collections.abc import Callable
from functools import partial

from core.domain.errors import ErrorCode
from tests.http_faults import CUT, DONE, Reply, chunk, error_reply, sse, text_reply, usage_chunk

Make = Callable[[], Reply]


def _stream(*steps: bytes) -> Make:
    return lambda: Reply((*steps, chunk(finish="stop"), usage_chunk(reasoning=0), DONE))


def _error_in_the_stream(payload: object) -> Reply:
    return Reply((chunk("Once"), sse(payload), DONE))


def _html() -> Reply:
    return Reply((b"<html>oops",), 502, {"Content-Type": "text/html"})


_STATUSES: dict[str, tuple[Make, ErrorCode]] = {
    "401": (lambda: error_reply(401), ErrorCode.LLM_AUTH_ERROR),
    "403": (lambda: error_reply(403), ErrorCode.LLM_AUTH_ERROR),
    "402": (lambda: error_reply(402), ErrorCode.LLM_CREDIT_EXHAUSTED),
    "429, no quota": (lambda: error_reply(429, code="insufficient_quota"), ErrorCode.LLM_CREDIT_EXHAUSTED),
    "404": (lambda: error_reply(404, code="model_not_found"), ErrorCode.LLM_REQUEST_ERROR),
    "400": (lambda: error_reply(400), ErrorCode.LLM_REQUEST_ERROR),
    "422": (lambda: error_reply(422), ErrorCode.LLM_REQUEST_ERROR),
    "400, too long": (
        lambda: error_reply(400, code="context_length_exceeded"),
        ErrorCode.LLM_CONTEXT_OVERFLOW,
    ),
    "413": (lambda: error_reply(413), ErrorCode.LLM_CONTEXT_OVERFLOW),
    "400, filtered": (lambda: error_reply(400, code="content_filter"), ErrorCode.LLM_CONTENT_FILTERED),
    "408": (lambda: error_reply(408), ErrorCode.LLM_TIMEOUT),
    "429": (lambda: error_reply(429, headers={"Retry-After": "2"}), ErrorCode.LLM_RATE_LIMITED),
    "429, beyond any time": (
        lambda: error_reply(429, headers={"Retry-After": "1e300"}),
        ErrorCode.LLM_RATE_LIMITED,
    ),
    "200 in HTML": (
        lambda: Reply((b"<html>log in first</html>",), 200, {"Content-Type": "text/html"}),
        ErrorCode.LLM_REQUEST_ERROR,
    ),
    "200 in one piece": (
        lambda: Reply((b'{"choices": []}',), 200, {"Content-Type": "application/json"}),
        ErrorCode.LLM_REQUEST_ERROR,
    ),
    "500": (lambda: error_reply(500), ErrorCode.LLM_SERVER_ERROR),
    "503": (lambda: error_reply(503), ErrorCode.LLM_SERVER_ERROR),
    "529": (lambda: error_reply(529), ErrorCode.LLM_SERVER_ERROR),
    "418": (lambda: error_reply(418), ErrorCode.LLM_ERROR),
    "502 in HTML": (_html, ErrorCode.LLM_SERVER_ERROR),
    "500, cut": (lambda: Reply((b'{"error":', CUT), 500), ErrorCode.LLM_SERVER_ERROR),
    "cut at once": (lambda: Reply((CUT,)), ErrorCode.LLM_SERVER_ERROR),
}
_IN_THE_STREAM: dict[str, tuple[object, ErrorCode]] = {
    "429 in the stream": ({"error": {"message": "busy", "code": 429}}, ErrorCode.LLM_RATE_LIMITED),
    "502 in the stream": ({"error": {"message": "bad", "code": "502"}}, ErrorCode.LLM_SERVER_ERROR),
    "too long, in the stream": (
        {"error": {"message": "x", "code": "context_length_exceeded"}},
        ErrorCode.LLM_CONTEXT_OVERFLOW,
    ),
    "no quota, in the stream": (
        {"error": {"message": "x", "code": "insufficient_quota"}},
        ErrorCode.LLM_CREDIT_EXHAUSTED,
    ),
    "filtered, in the stream": (
        {"error": {"message": "x", "code": "content_filter"}},
        ErrorCode.LLM_CONTENT_FILTERED,
    ),
    "words in the stream": ({"error": "only words"}, ErrorCode.LLM_ERROR),
}
_BROKEN: dict[str, Make] = {
    "cut in the stream": lambda: Reply((chunk("Once"), CUT)),
    "no end": lambda: Reply((chunk("Once"),)),
    "no finish reason": lambda: Reply((chunk("Once"), DONE)),
    "no body": lambda: Reply(()),
    "HTML for a stream": lambda: Reply((b"<html>log in first</html>",)),
    "no JSON in the stream": _stream(chunk("Once"), sse("{not json")),
    "no UTF-8 in the stream": _stream(chunk("Once"), b"data: \xff\xfe\n\n"),
    "a number in the stream": _stream(chunk("Once"), sse("42")),
    "null in the stream": _stream(chunk("Once"), sse("null")),
    "choices are words": _stream(sse({"choices": "none"})),
    "choices are null": _stream(sse({"choices": [None]})),
    "a delta is a number": _stream(sse({"choices": [{"delta": 7}]})),
    "JSON a hundred thousand deep": _stream(sse("[" * 100_000)),
    "finish reason error": lambda: Reply((chunk("Once"), chunk(finish="error"), DONE)),
}
_BLANK: dict[str, Make] = {
    "nothing": _stream(),
    "white space": _stream(chunk(" \n\t")),
    "zero-width characters": _stream(chunk("\u200b \u200d \ufeff")),
    "escape sequences alone": _stream(chunk("\x1b[2J\x1b]0;t\x07\x00")),
    "thought alone": _stream(chunk(reasoning_content="Hmm.")),
}

HTTP_FAULTS: dict[str, tuple[Make, ErrorCode]] = {
    **_STATUSES,
    **{
        name: (partial(_error_in_the_stream, payload), code)
        for name, (payload, code) in _IN_THE_STREAM.items()
    },
    **{name: (make, ErrorCode.LLM_SERVER_ERROR) for name, make in _BROKEN.items()},
    **{name: (make, ErrorCode.LLM_ERROR) for name, make in _BLANK.items()},
    "thought up to the cap": (
        lambda: Reply((chunk(reasoning_content="Hmm."), chunk(finish="length"), DONE)),
        ErrorCode.LLM_TRUNCATED,
    ),
    "cut by the cap": (lambda: text_reply("Once upon", finish="length"), ErrorCode.LLM_TRUNCATED),
    "withheld": (
        lambda: text_reply("Once upon", finish="content_filter"),
        ErrorCode.LLM_CONTENT_FILTERED,
    ),
    "silence": (lambda: Reply((chunk("Once"), asyncio.Event())), ErrorCode.LLM_TIMEOUT),
}
