"""Reads a chat as SillyTavern stores it: one JSON value a line, a header and then the messages.

Its fields, as of 2025: `name`, `is_user`, `is_system` (the message is hidden), `mes`, `send_date`, `swipes`,
`swipe_id`, and in `extra` a `type`, which is `narrator` where no one in the scene says it. Files of groups
have the same lines; older ones have no header. Of its `chat_metadata` the author's note is read:
`note_prompt`, and `note_interval`, which is 0 where it is off.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from core.domain.session.limits import is_storable_time
from core.library.json_document import parse_json
from core.library.refusal import FileRefusedError
from core.text.cleaning import clean, clean_line, is_blank

MOST_MESSAGES: Final = 100_000
MOST_SWIPES: Final = 200
LONGEST_MESSAGE: Final = 60_000
"""Characters of a message, as of a reply that the GM corrects."""
_NARRATOR: Final = "narrator"
_NO_CHAT: Final = "The file is no chat of SillyTavern: "
_DAY_AND_CLOCK: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?"
)
_FORMATS: Final = ("%B %d, %Y %I:%M%p", "%b %d, %Y %I:%M%p")
_SECONDS_END: Final = 100_000_000_000
"""An epoch above it counts milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedMessage:
    """One message; `swipes` are all of its texts, of which the one at `swipe` counts."""

    name: str
    is_user: bool
    is_hidden: bool
    is_narrated: bool = False
    """Whether no one in the scene says it, as with `/sys`."""
    swipes: tuple[str, ...]
    swipe: int
    left_out: int = 0
    """Number of swipes beyond the most that are read."""
    sent_at: datetime | None

    @property
    def text(self) -> str:
        """The text that counts."""
        return self.swipes[self.swipe]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLog:
    """The messages of a chat that have a text, and its author's note."""

    messages: tuple[LoggedMessage, ...]
    note: str = ""
    is_note_on: bool = True


def read_chat(document: bytes) -> ChatLog:
    """Read a chat. Raises FileRefusedError for any other file."""
    # A message may hold other ends of lines, which are no ends of records.
    try:
        lines = document.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise FileRefusedError(f"{_NO_CHAT}it is not text in UTF-8.") from error
    records = _records(line for line in lines if not is_blank(line))
    header = records.pop(1) if records and "mes" not in records[1] else {}
    messages = tuple(filter(None, map(_message, records.values(), records)))
    if not messages:
        raise FileRefusedError(f"{_NO_CHAT}it has no message.")
    metadata = header.get("chat_metadata")
    noted = metadata if isinstance(metadata, dict) else {}
    note = noted.get("note_prompt")
    return ChatLog(
        messages=messages,
        note=clean(note).strip() if isinstance(note, str) else "",
        is_note_on=noted.get("note_interval") != 0,
    )


def _records(lines: Iterable[str]) -> dict[int, Mapping[str, Any]]:
    """Return the objects of the lines, by their numbers from 1."""
    records: dict[int, Mapping[str, Any]] = {}
    for number, line in enumerate(lines, start=1):
        if number > MOST_MESSAGES:
            raise FileRefusedError(f"The chat has more than {MOST_MESSAGES:,} messages.")
        record = parse_json(line, f"Line {number:,} of the chat").value
        if not isinstance(record, dict):
            raise FileRefusedError(f"{_NO_CHAT}line {number:,} is not an object.")
        records[number] = record
    return records


def _message(record: Mapping[str, Any], number: int) -> LoggedMessage | None:
    """Return the message of a line; None for one without any text."""
    if "mes" not in record:
        raise FileRefusedError(f"{_NO_CHAT}line {number:,} has no message.")
    listed = record.get("swipes")
    stored = _texts(listed)
    texts = [clean(one).strip() for one in stored[:MOST_SWIPES]]
    chosen = record.get("swipe_id")
    text = record["mes"]
    if not isinstance(text, str):
        raise FileRefusedError(f"{_NO_CHAT}the message of line {number:,} is not a text.")
    text = clean(text).strip()
    # The text was edited after the swipe was stored, or swipes are missing: what the chat shows counts.
    if text not in texts and not is_blank(text):
        if isinstance(chosen, int) and 0 <= chosen < len(texts):
            texts[chosen] = text
        else:
            texts.append(text)
    swipes = tuple(one for one in dict.fromkeys(texts) if not is_blank(one))
    if not swipes:
        return None
    if any(len(one) > LONGEST_MESSAGE for one in texts):
        raise FileRefusedError(f"Line {number:,} of the chat is longer than {LONGEST_MESSAGE:,} characters.")
    extra = record.get("extra")
    return LoggedMessage(
        name=clean_line(str(record.get("name") or "")),
        is_user=record.get("is_user") is True,
        is_hidden=record.get("is_system") is True,
        is_narrated=isinstance(extra, dict) and extra.get("type") == _NARRATOR,
        swipes=swipes,
        # The swipe that the chat shows is blank where its generation failed: the last of the others counts.
        swipe=swipes.index(text) if text in swipes else len(swipes) - 1,
        left_out=max(0, len(stored) - MOST_SWIPES),
        sent_at=_time(record.get("send_date")),
    )


def _texts(listed: object) -> list[str]:
    """Return a list of texts; an empty one for anything else."""
    texts = listed if isinstance(listed, list) else []
    return texts if all(isinstance(one, str) for one in texts) else []


def _time(stored: object) -> datetime | None:
    """Return a time in any of the forms that chats have had, as UTC; None for another one."""
    try:
        time = _parsed(stored)
    except (ValueError, OverflowError, OSError):
        return None
    return time if time is not None and is_storable_time(time) else None


def _parsed(stored: object) -> datetime | None:
    if isinstance(stored, str) and stored.isdecimal():
        stored = int(stored)
    if isinstance(stored, int | float) and not isinstance(stored, bool):
        return datetime.fromtimestamp(stored / 1_000 if stored > _SECONDS_END else stored, UTC)
    if not isinstance(stored, str):
        return None
    if found := _DAY_AND_CLOCK.fullmatch(stored.strip()):
        year, month, day, hour, minute, second, ms = (int(part or 0) for part in found.groups())
        return datetime(year, month, day, hour, minute, second, ms * 1_000, UTC)
    for form in _FORMATS:
        try:
            return datetime.strptime(stored.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    read = datetime.fromisoformat(stored.strip())
    return read if read.tzinfo else read.replace(tzinfo=UTC)
