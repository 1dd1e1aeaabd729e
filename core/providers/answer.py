"""Collects the stream of one call, and decides whether it counts as an answer (design 8)."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, auto
from typing import Final, get_args

from core.domain.errors import ErrorCode
from core.domain.requests.request import Usage
from core.providers.base import Completion, FinishReason, ProviderError
from core.text.cleaning import clean, clean_line, is_blank

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class _Part(Enum):
    BEGINNING = auto()
    THOUGHT = auto()
    GAP = auto()
    ANSWER = auto()


class ThoughtFilter:
    """Takes the thoughts out of the beginning of a streamed answer: they are no part of the story.

    Tags further on are text: a character may speak of them.
    """

    def __init__(self) -> None:
        self._part = _Part.BEGINNING
        self._held = ""
        """Text that may be part of a tag."""
        self.has_thought = False
        """Whether a thought was begun."""

    def visible(self, text: str) -> str:
        """Return the text of the answer that is known with the next text of the stream."""
        if self._part is _Part.ANSWER:
            return text
        self._held += text
        if self._part is _Part.BEGINNING:
            begun = self._held.lstrip()
            if begun.startswith(_OPEN):
                self._part, self._held = _Part.THOUGHT, begun[len(_OPEN) :]
                self.has_thought = True
            elif not begun or not _OPEN.startswith(begun):
                return self._answer(is_begun=bool(begun))
        if self._part is _Part.THOUGHT:
            _, tag, after = self._held.partition(_CLOSE)
            self._held = after if tag else self._held[1 - len(_CLOSE) :]
            self._part = _Part.GAP if tag else _Part.THOUGHT
        if self._part is _Part.GAP:
            self._held = self._held.lstrip()
            return self._answer(is_begun=bool(self._held))
        return ""

    def rest(self) -> str:
        """Return the text that was held back, at the end of the stream."""
        return "" if self._part is _Part.THOUGHT else self._answer(is_begun=True)

    def _answer(self, *, is_begun: bool) -> str:
        text, self._held = self._held, ""
        if is_begun:
            self._part = _Part.ANSWER
        return text


_LONGEST_REFUSAL = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChunk:
    """Content of one chunk of a stream; every field may be empty."""

    text: str = ""
    has_reasoning: bool = False
    refusal: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    billed: Decimal | None = None
    model: str = ""

    @property
    def is_progress(self) -> bool:
        """Whether the model did something; a chunk that only keeps the line open does not count."""
        return bool(self.text or self.has_reasoning or self.refusal or self.finish_reason)


class Answer:
    """The pieces of one answer, joined."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._thoughts = ThoughtFilter()
        self._texts: list[str] = []
        self._refusal = ""
        self._has_reasoning = False
        self._finish_reason: str | None = None
        self.usage: Usage | None = None
        self.billed: Decimal | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the model said that it was done; only the token counts may follow."""
        return self._finish_reason is not None

    def add(self, piece: AnswerChunk) -> str:
        """Take the next piece, and return its text without thoughts of the model."""
        text = self._thoughts.visible(piece.text)
        self._texts.append(text)
        if len(self._refusal) <= _LONGEST_REFUSAL:
            self._refusal += piece.refusal
        self._has_reasoning = self._has_reasoning or piece.has_reasoning or self._thoughts.has_thought
        self._finish_reason = piece.finish_reason or self._finish_reason
        if piece.usage not in (None, Usage()):  # one without counts takes no earlier ones back
            self.usage = piece.usage
        self.billed = self.billed if piece.billed is None else piece.billed
        self._model = piece.model or self._model
        return text

    def rest(self) -> str:
        """Return the text that may have been the beginning of a thought, once nothing follows."""
        text = self._thoughts.rest()
        self._texts.append(text)
        return text

    def completion(self) -> Completion:
        """Return the end of a call that went well; raise ProviderError when there is no answer in it.

        Text that was cut off at the cap is an answer: the caller decides whether it can be used.
        """
        if refusal := clean_line(self._refusal):
            shown = refusal if len(refusal) <= _LONGEST_REFUSAL else refusal[:_LONGEST_REFUSAL] + "…"
            raise self._error(
                ErrorCode.LLM_CONTENT_FILTERED,
                f"The model declined to answer (“{shown}”); nothing is lost, edit the text and retry.",
            )
        if self._finish_reason is None:
            raise cut_off(self.usage, self.billed)
        if self._finish_reason == "content_filter":
            raise self._error(ErrorCode.LLM_CONTENT_FILTERED)
        if self._finish_reason == "error":
            raise self._error(ErrorCode.LLM_SERVER_ERROR)
        if self._is_blank():
            raise self._blank_error()
        return Completion(
            finish_reason=_known(self._finish_reason),
            model=self._model,
            usage=self.usage or Usage(),
            billed=self.billed,
        )

    def _is_blank(self) -> bool:
        return is_blank(clean("".join(self._texts)))

    def _blank_error(self) -> ProviderError:
        reasoned = self._has_reasoning or bool(self.usage and self.usage.reasoning_tokens)
        if self._finish_reason == "length":
            return self._error(
                ErrorCode.LLM_TRUNCATED,
                "The model used up its room for the answer by thinking, before it had written a word; "
                "nothing is lost, raise its output cap and retry."
                if reasoned
                else "",
            )
        if reasoned:
            what = "The model thought, but did not write an answer"
        elif any(self._texts):
            what = "The model answered with nothing that can be seen"
        else:
            what = "The model returned an empty answer"
        return self._error(ErrorCode.LLM_ERROR, f"{what}; nothing is lost, retry.", is_blank=True)

    def _error(self, code: ErrorCode, message: str = "", *, is_blank: bool = False) -> ProviderError:
        return ProviderError(code, message, usage=self.usage, billed=self.billed, is_blank=is_blank)


def cut_off(usage: Usage | None = None, billed: Decimal | None = None) -> ProviderError:
    """Return the error of a stream that ended before the model had."""
    return ProviderError(
        ErrorCode.LLM_SERVER_ERROR,
        "The connection to the model's service broke off within the answer; nothing is lost, retry.",
        usage=usage,
        billed=billed,
    )


def _known(reason: str) -> FinishReason:
    return next((known for known in get_args(FinishReason) if known == reason), "other")
