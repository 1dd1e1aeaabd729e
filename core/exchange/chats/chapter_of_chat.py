"""Makes a chapter of a chat: prompts and replies of its messages, takes of its swipes.

The chapter is being set up still: world, chapter text and identities are not in a chat, so the GM writes
them and locks. The prompts are there from the beginning, and memory is made of them after the lock.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from core.domain.agent_role import AgentRole
from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.ids import EventId, SessionId, new_uuid
from core.domain.session.limits import LONGEST_TITLE, Limits
from core.domain.session.prompt_block import (
    LONGEST_PROMPT_BLOCK,
    NO_PROMPT_BLOCKS,
    BlockPlace,
    PromptBlock,
    PromptBlocks,
)
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot, first_slots
from core.domain.story.event import CONTEXT, NEVER, Event, Role
from core.exchange.chats.chat_log import MOST_SWIPES, ChatLog, LoggedMessage
from core.exchange.session_export import SessionBody
from core.library.refusal import FileRefusedError
from core.text.cleaning import clean_line, is_blank
from core.text.graphemes import head
from core.text.name_list import name_key
from core.text.numbers import counted

NO_WORDS: Final = "…"
"""The prompt to a character that spoke without one."""
AUTHORS_NOTE: Final = "Author's note"
"""The name of the prompt block that it becomes."""
_HIDDEN: Final = {CONTEXT: NEVER}


_Entry = tuple[Role, Slot | None, str, Audience]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChapter:
    """The chapter, and what became of the messages."""

    body: SessionBody
    prompts: int
    replies: int
    further_takes: int
    left_out: int
    """Number of swipes that became nothing: a line has one text."""
    hidden: int
    narrated: int
    without_slot: tuple[str, ...]
    """The names for which the cast has no place; what they say are lines."""
    is_note_left_out: bool = False
    """Whether the chat has an author's note that is too long for a prompt block."""

    @property
    def report(self) -> tuple[str, ...]:
        """Report for the GM: where each part went, and what to do next."""
        counts = [counted(self.prompts, "prompt"), counted(self.replies, "reply", "replies")]
        if self.further_takes:
            counts.append(counted(self.further_takes, "further take"))
        if self.hidden:
            counts.append(f"{counted(self.hidden, 'hidden message')} that no character knows")
        if self.narrated:
            counts.append(f"{counted(self.narrated, 'line')} of the narrator")
        lines = [", ".join(counts)]
        if self.left_out:
            what = counted(self.left_out, "further swipe")
            lines.append(f"Left out: {what}, of lines or beyond {MOST_SWIPES} of a reply")
        if self.without_slot:
            names = ", ".join(self.without_slot)
            lines.append(f"Said as lines of yours, because a cast has {len(Slot)} characters: {names}")
        if self.is_note_left_out:
            lines.append(f"Left out: the author's note, longer than {LONGEST_PROMPT_BLOCK:,} characters")
        elif self.body.prompt_blocks:
            lines.append("Its author's note is a prompt block for the characters")
        lines.append(
            "Write world, chapter and identities on tab 1, then lock: memory is made of the prompts then."
        )
        return tuple(lines)


@dataclass(slots=True)
class _Turn:
    """A prompt, the replies to it, and the lines behind them."""

    prompt: str
    sent_at: datetime | None
    replies: list[tuple[Slot, LoggedMessage]] = field(default_factory=list)
    lines: list[tuple[str, Audience]] = field(default_factory=list)


def chapter_of(chat: ChatLog, title: str, now: datetime) -> ChatChapter:
    """Return the chapter of a chat; raise FileRefusedError if no character says anything in it."""
    messages = chat.messages
    cast, others = _cast(messages)
    if not cast:
        raise FileRefusedError("No character says anything in the chat; there is nothing to play on.")
    limits = Limits()
    opening, turns, unsent = _turns(messages, cast, limits)
    session_id = SessionId(new_uuid())
    counts = [_take_count(turn) for turn in turns]
    further = sum(count - 1 for count, _ in counts)
    spoke_last = turns[-1].replies[-1][0]
    session = Session(
        id=session_id,
        title=head(clean_line(title), LONGEST_TITLE),
        slots=first_slots(len(cast)),
        names=_names(cast, limits),
        prompt_index=len(turns),
        canon_version=int(further > 0),
        limits=limits,
        created_at=now,
        updated_at=now,
    )
    session = replace(session, next_slot=session.speaker_after(spoke_last))
    body = SessionBody(
        session=session,
        tab1=Tab1Inputs(),
        prompt_blocks=_noted(chat),
        unsent={session.next_slot: unsent} if unsent else {},
        events=tuple(_events(session_id, opening, turns, now)),
        takes=tuple(canon for _, canon in counts) if further else (),
    )
    return ChatChapter(
        body=body,
        prompts=len(turns),
        replies=sum(len(turn.replies) for turn in turns),
        further_takes=further,
        left_out=sum(one.left_out + len(one.swipes) - 1 for one in messages) - further,
        hidden=sum(message.is_hidden for message in messages),
        narrated=sum(_is_line(message) for message in messages),
        without_slot=others,
        is_note_left_out=len(chat.note) > LONGEST_PROMPT_BLOCK,
    )


def _noted(chat: ChatLog) -> PromptBlocks:
    """Return the author's note as a prompt block: as material, since a file of others sets no rules."""
    if is_blank(chat.note) or len(chat.note) > LONGEST_PROMPT_BLOCK:
        return NO_PROMPT_BLOCKS
    note = PromptBlock(
        id=1,
        name=AUTHORS_NOTE,
        text=chat.note,
        place=BlockPlace.MATERIAL,
        is_on=chat.is_note_on,
        roles=(AgentRole.CHARACTER,),
    )
    return PromptBlocks(blocks=(note,))


def _cast(messages: Sequence[LoggedMessage]) -> tuple[dict[str, Slot], tuple[str, ...]]:
    """Return the slots of those who say most, in the order in which they begin, and who has none."""
    said = Counter(one.name for one in messages if not (one.is_user or one.is_hidden or one.is_narrated))
    chosen = {name for name, _ in said.most_common(len(Slot))}
    names = [name for name in said if name in chosen]
    return dict(zip(names, Slot, strict=False)), tuple(name for name in said if name not in chosen)


def _names(cast: dict[str, Slot], limits: Limits) -> dict[Slot, str]:
    """Return names that no two characters share, as tab 1 demands."""
    names: dict[Slot, str] = {}
    taken = {name_key(slot.default_name) for slot in Slot}
    for name, slot in cast.items():
        short = head(name, limits.name).strip()
        number = 2
        while short and name_key(short) in taken:
            short = f"{head(name, limits.name - 4).strip()} {number}"
            number += 1
        taken.add(name_key(short))
        if short:
            names[slot] = short
    return names


def _turns(
    messages: Sequence[LoggedMessage], cast: dict[str, Slot], limits: Limits
) -> tuple[list[tuple[str, Audience]], list[_Turn], str]:
    """Return the lines before the first prompt, the prompts, and what the GM wrote last without an answer."""
    opening: list[tuple[str, Audience]] = []
    turns: list[_Turn] = []
    waiting: list[tuple[str, datetime | None]] = []
    for message in messages:
        lines = turns[-1].lines if turns else opening
        if message.is_hidden:
            lines += [(piece, NOBODY) for piece in _pieces(message.text, limits.prompt)]
        elif _is_line(message):
            lines += [(piece, EVERYONE) for piece in _pieces(message.text, limits.prompt)]
        elif message.is_user:
            waiting += [(piece, message.sent_at) for piece in _pieces(message.text, limits.prompt)]
        elif message.name not in cast:
            lines += [
                (piece, EVERYONE) for piece in _pieces(f"{message.name}: {message.text}", limits.prompt)
            ]
        else:
            slot = cast[message.name]
            if waiting or not turns or not _may_follow(turns[-1], slot):
                lines += [(piece, EVERYONE) for piece, _ in waiting[:-1]]
                turns.append(_Turn(*(waiting[-1] if waiting else (NO_WORDS, message.sent_at))))
                waiting = []
            turns[-1].replies.append((slot, message))
    if waiting and turns:
        turns[-1].lines += [(piece, EVERYONE) for piece, _ in waiting[:-1]]
    return opening, turns, waiting[-1][0] if waiting else ""


def _is_line(message: LoggedMessage) -> bool:
    """Whether a message is a line that everyone hears and no one says."""
    return message.is_narrated and not (message.is_user or message.is_hidden)


def _may_follow(turn: _Turn, slot: Slot) -> bool:
    """Whether a reply without a prompt is a further reply to the prompt before it."""
    return not turn.lines and all(slot is not other for other, _ in turn.replies)


def _pieces(text: str, most: int) -> Iterator[str]:
    """Yield a text in pieces that fit a prompt, cut at the ends of lines where there are any."""
    while len(text) > most:
        piece = head(text, most)
        end = max(piece.rfind("\n\n"), piece.rfind("\n"), 0) or piece.rfind(" ") + 1 or len(piece)
        if piece[:end].strip():
            yield piece[:end].strip()
        text = text[end:].strip()
    if text:
        yield text


def _take_count(turn: _Turn) -> tuple[int, int]:
    """Return how many takes a prompt has, and which of them counts.

    A prompt with one reply has a take for each swipe. Of several replies each further swipe is a take that
    ends with it, and the take that counts comes last.
    """
    if len(turn.replies) == 1:
        message = turn.replies[0][1]
        return len(message.swipes), message.swipe + 1
    count = 1 + sum(len(message.swipes) - 1 for _, message in turn.replies)
    return count, count


def _takes(turn: _Turn) -> Iterator[list[tuple[Slot, str]]]:
    """Yield the replies of each take, in order."""
    if len(turn.replies) == 1:
        slot, message = turn.replies[0]
        yield from ([(slot, text)] for text in message.swipes)
        return
    chosen = [(slot, message.text) for slot, message in turn.replies]
    for place, (slot, message) in enumerate(turn.replies):
        for number, text in enumerate(message.swipes):
            if number != message.swipe:
                yield [*chosen[:place], (slot, text)]
    yield chosen


def _events(
    session_id: SessionId, opening: Sequence[tuple[str, Audience]], turns: Sequence[_Turn], now: datetime
) -> Iterator[Event]:
    """Yield the log: the lines before the first prompt, then every take of each prompt."""
    at = next((turn.sent_at for turn in turns if turn.sent_at is not None), now)
    yield from _numbered(session_id, 0, 1, at, ((Role.SYSTEM, None, *line) for line in opening))
    for index, turn in enumerate(turns, start=1):
        at = turn.sent_at or at
        _, canon = _take_count(turn)
        for take, replies in enumerate(_takes(turn), start=1):
            said: list[_Entry] = [(Role.USER, None, turn.prompt, EVERYONE)]
            said += [(Role.AGENT, slot, text, EVERYONE) for slot, text in replies]
            if take == canon:
                said += [(Role.SYSTEM, None, *line) for line in turn.lines]
            yield from _numbered(session_id, index, take, at, said)


def _numbered(
    session_id: SessionId, index: int, take: int, at: datetime, said: Iterable[_Entry]
) -> Iterator[Event]:
    for ordinal, (role, slot, text, audience) in enumerate(said):
        yield Event(
            id=EventId(new_uuid()),
            session_id=session_id,
            prompt_index=index,
            take=take,
            ordinal=ordinal,
            role=role,
            slot=slot,
            text=text,
            audience=audience,
            metadata=_HIDDEN if audience == NOBODY else {},
            created_at=at,
        )
