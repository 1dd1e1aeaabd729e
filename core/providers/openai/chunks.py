"""Reads the chunks of a stream, which the SDK hands over without having checked them."""

from collections.abc import Sequence
from decimal import Decimal

from core.domain.requests.cost import MOST_DOLLARS, is_amount
from core.domain.requests.request import Usage
from core.providers.answer import AnswerChunk
from core.providers.base import MAX_NAME_LENGTH, MAX_TOKENS
from core.text.cleaning import clean_line


class ChunkReader:
    """Turns chunks into pieces; one reader for each stream.

    Some servers cut an emoji in two and send each half as an escaped surrogate: a half waits here
    for the other.
    """

    def __init__(self) -> None:
        self._half = ""
        self.has_read = False
        """Whether any chunk came at all."""

    def read(self, chunk: object) -> AnswerChunk:
        """Return what `chunk` brought; fields that are missing or of a strange type count as absent.

        Raises ValueError for an object that is not a chunk: text may have been lost with it.
        """
        choices = getattr(chunk, "choices", None)
        if not hasattr(chunk, "model_fields_set") or not isinstance(choices, list | None):
            raise ValueError("not a chunk")
        self.has_read = True
        choice = _first_answer(choices or ())
        delta = getattr(choice, "delta", None)
        if choice is not _NO_CHOICE and not hasattr(delta, "model_fields_set"):
            raise ValueError("not a chunk")
        finish_reason = _text(choice, "finish_reason") or None
        text, has_thought = _content(getattr(delta, "content", None))
        return AnswerChunk(
            text=self._joined(text, is_last=finish_reason is not None),
            has_reasoning=has_thought or bool(_text(delta, "reasoning_content") or _text(delta, "reasoning")),
            refusal=_text(delta, "refusal"),
            finish_reason=finish_reason,
            usage=_usage(getattr(chunk, "usage", None)),
            billed=billed_of(getattr(chunk, "usage", None)),
            model=_name(chunk, "model"),
        )

    def _joined(self, text: str, *, is_last: bool) -> str:
        text, self._half = self._half + text, ""
        if text and not is_last and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if not any("\ud800" <= character <= "\udfff" for character in text):
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


_NO_CHOICE = object()


def _first_answer(choices: Sequence[object]) -> object:
    """Return the choice with the index 0: some services send more answers than the one that was asked for."""
    return next((choice for choice in choices if getattr(choice, "index", 0) in (0, None)), _NO_CHOICE)


def _content(content: object) -> tuple[str, bool]:
    """Return the text of a delta, and whether it has a thought: some services send a list of parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else "", False
    parts = [part for part in content if isinstance(part, dict)]
    texts = [part.get("text") for part in parts if part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str)), any(
        part.get("type") == "thinking" for part in parts
    )


def _name(source: object, name: str) -> str:
    text = clean_line(_text(source, name)[: 4 * MAX_NAME_LENGTH])
    return text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…"


def _text(source: object, name: str) -> str:
    value = getattr(source, name, None)
    return value if isinstance(value, str) else ""


def _usage(source: object) -> Usage | None:
    if source is None:
        return None
    read, written, total = (
        _count(source, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    if not (read or written):
        return Usage()  # zeros are no count
    if read is not None and written is not None:
        # xAI and Gemini count the tokens of thoughts beside those of the answer, and bill both.
        written = max(written, (total or 0) - read)
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cached_tokens=_count(getattr(source, "prompt_tokens_details", None), "cached_tokens"),
        reasoning_tokens=_count(getattr(source, "completion_tokens_details", None), "reasoning_tokens"),
    )


def billed_of(usage: object) -> Decimal | None:
    """Return what a service says that the call cost, as OpenRouter does in `usage.cost`.

    With a key of the GM for the service behind it, that is its fee alone; the other bill is named beside it.
    """
    billed = _amount(usage, "cost")
    if billed is None or _field(usage, "is_byok") is not True:
        return billed
    behind = _amount(_field(usage, "cost_details"), "upstream_inference_cost")
    return None if behind is None else billed + behind


def _amount(source: object, name: str) -> Decimal | None:
    value = _field(source, name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= int(MOST_DOLLARS):
        return None
    # By its shortest decimal notation: the binary fraction has further digits that were not sent.
    amount = Decimal(str(value))
    return amount if is_amount(amount) else None


def _count(source: object, name: str) -> int | None:
    value = _field(source, name)
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


def _field(source: object, name: str) -> object:
    return source.get(name) if isinstance(source, dict) else getattr(source, name, None)
