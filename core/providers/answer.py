"""Collects the stream of one call, and decides whether it counts as an answer (design 8)."""

import re
from dataclasses import astuple, dataclass
from decimal import Decimal
from enum import Enum, auto
from typing import Final, Literal

from core.domain.errors import ErrorCode
from core.domain.requests.request import Usage
from core.providers.base import Completion, FinishReason, ProviderError
from core.text.cleaning import clean, clean_line, is_blank

_THOUGHTS: Final = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|channel|>analysis<|message|>": "<|channel|>final<|message|>",
}
"""The marks that models write around a thought, where their server does not take it out."""
_HEADERS: Final = (
    *("<|im_start|>", "<|start_header_id|>", "<|begin_of_text|>", "<|assistant|>", "<start_of_turn>model"),
    *("<|channel|>final<|message|>", "[/INST]", "assistant<|end_header_id|>", "assistant\n"),
)
"""Marks of chat templates before an answer."""
_STRUCK: Final = ("<s>", "</s>")
"""The last is an end mark too, but not in an answer that strikes something out."""
_ENDS: Final = (
    *("<|im_end|>", "<|im_start|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>"),
    *("<|end|>", "<|return|>", "<|start|>", "<|start_header_id|>"),
    *("<|user|>", "<|assistant|>", "<|system|>"),
    *("<end_of_turn>", "<start_of_turn>", "<｜end▁of▁sentence｜>", "<｜User｜>", "[INST]", "[/INST]", "</s>"),
)
"""Their marks behind one: a model that writes one is done, whatever it goes on with."""
_END: Final = re.compile("|".join(map(re.escape, _ENDS)))


class _Part(Enum):
    BEGINNING = auto()
    THOUGHT = auto()
    GAP = auto()
    ANSWER = auto()
    END = auto()


class AnswerFilter:
    """Takes out of a streamed answer the thoughts at its beginning and the marks of a chat template, with all
    text behind the first mark that follows the answer: they are no part of the story.

    Tags of thoughts further on are text: a character may speak of them.
    """

    def __init__(self) -> None:
        self._part = _Part.BEGINNING
        self._held = ""
        """Text that may be part of a mark."""
        self._closing = ""
        """The mark that ends the thought."""
        self._is_struck = False
        self.has_thought = False
        """Whether a thought was begun."""

    @property
    def is_ended(self) -> bool:
        """Whether there was a mark behind the answer."""
        return self._part is _Part.END

    def visible(self, text: str) -> str:
        """Return the text of the answer that is known with the next text of the stream."""
        if self._part is _Part.END:
            return ""
        self._held += text
        if self._part is _Part.BEGINNING:
            begun = self._without_headers()
            opening = next((mark for mark in _THOUGHTS if begun.startswith(mark)), "")
            if opening:
                self._part, self._closing = _Part.THOUGHT, _THOUGHTS[opening]
                self._held, self.has_thought = begun[len(opening) :], True
            elif begun and any(mark.startswith(begun) for mark in (*_THOUGHTS, *_HEADERS)):
                return ""
            elif begun:
                self._part = _Part.ANSWER
        if self._part is _Part.THOUGHT:
            _, tag, after = self._held.partition(self._closing)
            self._held = after if tag else self._held[1 - len(self._closing) :]
            self._part = _Part.GAP if tag else _Part.THOUGHT
        if self._part is _Part.GAP:
            self._held = self._held.lstrip()
            self._part = _Part.ANSWER if self._held else _Part.GAP
        return "" if self._part is _Part.THOUGHT else self._up_to_end()

    def rest(self) -> str:
        """Return the text that was held back, at the end of the stream."""
        text, self._held = self._held, ""
        return "" if self._part is _Part.THOUGHT else text

    def _without_headers(self) -> str:
        begun = self._held.lstrip()
        while header := next((mark for mark in _HEADERS if begun.startswith(mark)), ""):
            self._held = begun = begun[len(header) :].lstrip()
        return begun

    def _up_to_end(self) -> str:
        """Return what is known of the held text; its end is held back where it may be part of a mark."""
        text, self._held = self._held, ""
        self._is_struck = self._is_struck or _STRUCK[0] in text
        for end in _END.finditer(text):
            if not (self._is_struck and end[0] == _STRUCK[1]):
                self._part = _Part.END
                return text[: end.start()]
        at = max(text.rfind("<"), text.rfind("["))
        if at >= 0 and any(mark.startswith(text[at:]) for mark in (*_ENDS, *_STRUCK)):
            text, self._held = text[:at], text[at:]
        return text


def behind_thought(text: str) -> str:
    """Return an answer without a thought whose opening mark is missing, as a server may keep it back."""
    for opening, closing in _THOUGHTS.items():
        thought, mark, answer = text.partition(closing)
        if mark and opening not in thought:
            return answer.lstrip()
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
        self._filter = AnswerFilter()
        self._texts: list[str] = []
        self._refusal = ""
        self._has_reasoning = False
        self._finish_reason: FinishReason | Literal["error"] | None = None
        self.usage: Usage | None = None
        self.billed: Decimal | None = None
        self.is_begun = False
        """Whether the model did something, if only to think."""

    @property
    def is_finished(self) -> bool:
        """Whether the model said that it was done; only the token counts may follow."""
        return self._finish_reason is not None

    def add(self, piece: AnswerChunk) -> str:
        """Take the next piece, and return its text without thoughts of the model."""
        text = self._filter.visible(piece.text)
        self._texts.append(text)
        if len(self._refusal) <= _LONGEST_REFUSAL:
            self._refusal += piece.refusal
        self._has_reasoning = self._has_reasoning or piece.has_reasoning or self._filter.has_thought
        self.is_begun = self.is_begun or piece.is_progress
        if piece.finish_reason:
            self._finish_reason = _known(piece.finish_reason)
        if self._filter.is_ended and self._finish_reason in (None, "length"):
            self._finish_reason = "stop"
        self.usage = _more_of(self.usage, piece.usage)
        self.billed = self.billed if piece.billed is None else piece.billed
        self._model = piece.model or self._model
        return text

    def rest(self) -> str:
        """Return the text that may have been the beginning of a thought, once nothing follows."""
        text = self._filter.rest()
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
            raise cut_off(self)
        if self._finish_reason == "content_filter":
            raise self._error(ErrorCode.LLM_CONTENT_FILTERED)
        if self._finish_reason == "error":
            raise self._error(ErrorCode.LLM_SERVER_ERROR)
        if self._is_blank():
            raise self._blank_error()
        return Completion(
            finish_reason=self._finish_reason,
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
        return ProviderError(
            code,
            message,
            usage=self.usage,
            billed=self.billed,
            is_blank=is_blank,
            is_begun=self.is_begun,
        )


def _more_of(before: Usage | None, now: Usage | None) -> Usage | None:
    """Return the larger of each two counts: they only grow, and some services send each of them once."""
    if before is None or now is None:
        return before or now
    pairs = zip(astuple(before), astuple(now), strict=True)
    return Usage(*(max((count for count in pair if count is not None), default=None) for pair in pairs))


def cut_off(answer: Answer | None = None) -> ProviderError:
    """Return the error of a stream that ended before the model had, with the tokens of the `answer`."""
    return ProviderError(
        ErrorCode.LLM_SERVER_ERROR,
        "The connection to the model's service broke off within the answer; nothing is lost, retry.",
        usage=answer.usage if answer else None,
        billed=answer.billed if answer else None,
        is_begun=answer.is_begun if answer else False,
    )


def _known(reason: str) -> FinishReason | Literal["error"]:
    """Return the meaning of a reason, of which services behind a gateway pass on their own words."""
    word = reason.lower().partition(":")[0].strip()
    return next((known for known, words in _REASONS.items() if word in words), "other")


_REASONS: Final[dict[FinishReason | Literal["error"], tuple[str, ...]]] = {
    "stop": ("stop",),
    "length": ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"),
    "content_filter": (
        *("content_filter", "content_filtered", "safety", "recitation", "prohibited_content", "blocklist"),
        *("refusal", "sensitive"),
    ),
    "error": ("error", "abort", "network_error", "insufficient_system_resource"),
}
