"""Finds characters that were silent for long, by rule, as a hint to the GM (design 17)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from core.domain.requests.request import BackgroundRequest
from core.domain.requests.request_kinds import RequestKind
from core.domain.session.session import USUAL_HINT_MINUTES, Session
from core.domain.slot import Slot
from core.domain.story.memory import BlockType, MemoryBlock
from core.storage.snapshot import Snapshot
from core.text.cleaning import clean_line
from core.text.graphemes import composed
from core.text.letters import LETTER
from core.text.numbers import counted


@dataclass(frozen=True, slots=True)
class HintRules:
    """The GM's settings of hints, for every chapter."""

    minutes: int = USUAL_HINT_MINUTES
    """Minutes of play after which a character counts as silent, also with fewer prompts than the GM named."""
    by_model: bool = False
    """Whether the model of a silent character is asked, too, what it would speak about."""


USUAL_HINTS: Final = HintRules()


@dataclass(frozen=True, slots=True)
class Hint:
    """A character in the scene that was silent for long."""

    slot: Slot
    prompts: int
    """Number of prompts that others answered since its last reply."""
    minutes: int = 0
    """The minutes from its last reply to the newest of all, if they are many; otherwise 0."""
    thread: str = ""
    """A thread of the story that lies open: one that names it, else the newest; empty without any."""
    wish: str = ""
    """The subject that it would speak about, by its model; empty where it was not asked, or has none."""

    @property
    def text(self) -> str:
        """The reason of the hint, for the GM."""
        time = f" ({counted(self.minutes, 'minute')})" if self.minutes else ""
        about = (
            f"; asks for a word: {self.wish}"
            if self.wish
            else f"; open: {self.thread}"
            if self.thread
            else ""
        )
        return f"silent for {counted(self.prompts, 'prompt')}{time}{about}"


def unsettled(snapshot: Snapshot) -> tuple[BackgroundRequest, ...]:
    """Return the heartbeats that are not settled, with those whose tries are used up."""
    return tuple(one for one in snapshot.background if one.kind is RequestKind.HEARTBEAT)


def hints_of(
    session: Session,
    replies: Mapping[Slot, tuple[int, datetime]],
    blocks: Sequence[MemoryBlock],
    rules: HintRules = USUAL_HINTS,
) -> tuple[Hint, ...]:
    """Return a hint for each character of the scene that had no reply for long, longest first.

    `replies` has the number and the time of the newest reply of each. Long are the prompts that the GM named,
    or so many minutes of play, in which everyone in the scene could have had a turn.
    """
    if not session.hint_after or not replies:
        return ()
    here = [slot for slot in session.slots if slot in session.here]
    newest = max(at for _, at in replies.values())
    hints: list[Hint] = []
    for slot in here:
        last, at = replies.get(slot, (0, newest))
        prompts, minutes = session.prompt_index - last, int((newest - at).total_seconds() // 60)
        is_long = minutes >= rules.minutes
        if prompts >= session.hint_after or (is_long and prompts >= len(here)):
            hints.append(
                Hint(slot, prompts, minutes if is_long else 0, _thread_of(session.name_of(slot), blocks))
            )
    return tuple(sorted(hints, key=lambda hint: -hint.prompts))


def _thread_of(name: str, blocks: Sequence[MemoryBlock]) -> str:
    threads = list(_threads(blocks))
    whole = re.compile(f"(?<!{LETTER}){re.escape(composed(name))}(?!{LETTER})", re.IGNORECASE)
    naming = (thread for thread in threads if whole.search(composed(thread)))
    return next(naming, threads[0] if threads else "")


def _threads(blocks: Sequence[MemoryBlock]) -> Iterator[str]:
    """Yield the open threads of the newest chunk with some, else the mysteries of the beginning."""
    for block in reversed(blocks):
        listed: object = ()
        if block.type is BlockType.TURN_DELTA:
            listed = block.payload.get("unresolved_threads")
        elif block.type is BlockType.WORLD_CHAPTER_LOCK:
            chapter = block.payload.get("chapter")
            listed = chapter.get("open_mysteries") if isinstance(chapter, Mapping) else ()
        found = [line for entry in listed if (line := _line_of(entry))] if isinstance(listed, list) else []
        if found:
            yield from found
            return


def _line_of(entry: object) -> str:
    thread = entry.get("thread") if isinstance(entry, Mapping) else entry
    return clean_line(thread) if isinstance(thread, str) else ""
