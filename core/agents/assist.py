"""Helps the GM with one text of their own: continues, tightens or rewrites it, or suggests what it lacks.

The narrative agent's model answers, with a prompt of its own. What comes back is a proposal: nothing of the
GM's is changed by it.
"""

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from core.agents.answers.prose import unfenced
from core.agents.memory.world_lock import roster_text
from core.agents.role.setup import AgentSetup, total
from core.config.models.model_config import PromptStyle
from core.context.segments import Context, Segment
from core.domain.errors import ErrorCode, IllegalCommandError, StoryEngineError
from core.domain.session.session import Session, Tab1Inputs
from core.domain.slot import Slot
from core.text.canonical_json import canonical
from core.text.cleaning import clean, clean_line, is_blank
from core.text.delimiters import SegmentName, opening_mark
from core.text.graphemes import head
from core.text.letters import LETTER, STOPS, UNSPACED
from core.text.prose import cut_in_words, to_last_sentence

PROMPT: Final = "assist"
"""The name of the prompt files, and how the version of the prompt begins on an artifact."""
LONGEST_NOTE: Final = 500
LEAST_ROOM: Final = 40
"""Characters that a proposal has at least; a fuller field is to be tightened first."""
MOST_OUTPUT: Final = 8_000
"""Tokens of output, reasoning included: enough for the longest field."""
LONGEST_FIELD: Final = 1_000_000
"""Characters that no field exceeds."""
_UNREADABLE: Final = "The request cannot be read; ask for it again."
_TIGHTER: Final = (2, 3)
"""To which part of its length a text is tightened that is not over its limit."""
_MARK: Final = re.compile(rf"^[ \t]*=== (?:END )?(?:{'|'.join(SegmentName)})(?: |$)", re.MULTILINE)
_IN_WORD: Final = re.compile(rf"[-'’]?{LETTER}")
"""The beginning of a text that continues the word before it; a script without spaces has no such text."""
_UNSPACED: Final = re.compile(rf"{UNSPACED}|[\u3001-\u303f\uff01-\uff1f]")
"""A letter or a mark that has no space beside it."""


class Task(StrEnum):
    """Writing task on a text of the GM."""

    CONTINUE = "continue"
    TIGHTEN = "tighten"
    REWRITE = "rewrite"
    SUGGEST = "suggest"

    @property
    def adds(self) -> bool:
        """Whether the proposal comes behind the text, word for word as it is; else it replaces the text."""
        return self in (Task.CONTINUE, Task.SUGGEST)


class Field(StrEnum):
    """The edited field."""

    WORLD = "world"
    CHAPTER = "chapter"
    IDENTITY = "identity"
    DEFINITION = "definition"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistRequest:
    """The GM's request for a proposal; `slot` is the character of an identity or a prompt."""

    task: Task
    field: Field
    text: str
    limit: int
    """Characters that the field holds."""
    note: str = ""
    slot: Slot | None = None

    def to_text(self) -> str:
        """Return it as the text of a request."""
        return canonical({**asdict(self), "slot": None if self.slot is None else self.slot.value}).decode()

    @classmethod
    def from_text(cls, text: str) -> "AssistRequest":
        """Return what `to_text` wrote; raises StoryEngineError for anything else, as from a file."""
        try:
            read = json.loads(text)
            slot = read["slot"]
            limit = read["limit"]
            if type(limit) is not int or not 0 < limit <= LONGEST_FIELD:
                raise ValueError("a limit that no field has")
            return cls(
                task=Task(read["task"]),
                field=Field(read["field"]),
                text=clean(str(read["text"])),
                limit=limit,
                note=clean(str(read["note"])),
                slot=None if slot is None else Slot(slot),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoryEngineError(ErrorCode.ILLEGAL_COMMAND, _UNREADABLE) from error

    @property
    def room(self) -> int:
        """Characters that the proposal may have."""
        length = len(self.text)
        if self.task.adds:
            return self.limit - (0 if is_blank(self.text) else length + len(self.separator(" ")))
        if self.task is Task.TIGHTEN and length <= self.limit:
            return length * _TIGHTER[0] // _TIGHTER[1]
        return self.limit

    def separator(self, proposal: str) -> str:
        """Return what goes between the text, which is not blank, and a proposal behind it."""
        if self.task is Task.SUGGEST:
            return "" if self.text.endswith("\n\n") else "\n" if self.text.endswith("\n") else "\n\n"
        is_apart = self.text[-1].isspace() or proposal[:1] in (",", ".", ";", ":", "!", "?", "\n")
        return "" if is_apart or any(map(_UNSPACED.match, (self.text[-1], proposal))) else " "

    def with_proposal(self, proposal: str) -> str:
        """Return the text of the field once the proposal is taken."""
        if not self.task.adds or is_blank(self.text):
            return proposal
        return f"{self.text}{self.separator(proposal)}{proposal}"


@dataclass(frozen=True, slots=True)
class SuggestedText:
    """A text that can be taken, and a description of the parts of the answer that it lacks."""

    text: str
    cut: tuple[str, ...] = ()


def require_possible(asked: AssistRequest) -> None:
    """Raise IllegalCommandError where the task has nothing to work with, or the field no room."""
    if is_blank(asked.text) and asked.task is not Task.SUGGEST:
        raise IllegalCommandError("There is no text yet; write one, or let one be suggested.")
    if asked.task is Task.REWRITE and is_blank(asked.note):
        raise IllegalCommandError("Say in the note how it is to be rewritten.")
    if len(asked.note) > LONGEST_NOTE:
        raise IllegalCommandError(f"A note has at most {LONGEST_NOTE:,} characters.")
    if asked.room < LEAST_ROOM:
        why = "is too short to be tightened" if asked.task is Task.TIGHTEN else "is full; tighten it first"
        raise IllegalCommandError(f"The text {why}.")


def assist_context(setup: AgentSetup, session: Session, tab1: Tab1Inputs, asked: AssistRequest) -> Context:
    """Return the input: system prompt, what the GM has set up, the text, the note, the task.

    Over budget the world is left out, then the chapter, then the roster; the GM's text never is.
    """
    text = setup.fenced(SegmentName.GM_TEXT, asked.text)
    note = () if is_blank(asked.note) else (setup.fenced(SegmentName.NOTE, asked.note),)
    task = setup.fenced(SegmentName.TASK, task_text(asked, session))
    cue = setup.cue()
    fixed = total((*setup.beginning, text, *note, task, *cue))
    around, left_out = _around(setup, session, tab1, asked, setup.budget - fixed)
    return setup.context((*around, text, *note, task, *cue), left_out=left_out)


def _around(
    setup: AgentSetup, session: Session, tab1: Tab1Inputs, asked: AssistRequest, room: int
) -> tuple[list[Segment], tuple[str, ...]]:
    material = [
        (Field.WORLD, SegmentName.WORLD_TEXT, tab1.world, "The world"),
        (Field.CHAPTER, SegmentName.CHAPTER_TEXT, tab1.chapter, "The chapter"),
        (None, SegmentName.AGENT_ROSTER, roster_text(session), "The roster"),
    ]
    listed = [
        (setup.fenced(name, text), words)
        for field, name, text, words in material
        if field is not asked.field and not is_blank(text)
    ]
    left_out: list[str] = []
    while listed and total([segment for segment, _ in listed]) > room:
        left_out.append(listed.pop(0)[1])
    return [segment for segment, _ in listed], tuple(left_out)


def task_text(asked: AssistRequest, session: Session) -> str:
    """Return what the text is, what is to be done, and how long the answer may be."""
    name = clean_line(session.name_of(asked.slot)) if asked.slot is not None else ""
    what = {
        Field.WORLD: "the world of the story",
        Field.CHAPTER: "the chapter: where it begins and what goes on",
        Field.IDENTITY: f"who the character {name} is",
        Field.DEFINITION: "the wishes for the writer of the chapter: style, voice, rules",
        Field.PROMPT: f"what the Game Master tells and asks the character {name}",
    }[asked.field]
    most = f"at most {asked.room:,} characters"
    match asked.task:
        case Task.CONTINUE:
            done = f"Continue it from where it ends, in its manner. Write only what follows, {most}."
        case Task.TIGHTEN:
            done = f"Write it again in {most}. Keep every name, fact and rule."
        case Task.REWRITE:
            done = f"Write it again as NOTE says, {most}."
        case Task.SUGGEST if is_blank(asked.text):
            done = f"It is empty. Propose a text for it, {most}."
        case Task.SUGGEST:
            done = f"Propose what it leaves open. Write only what is to be added, {most}."
    return f"GM_TEXT is {what}. {done}"


def read_proposal(
    asked: AssistRequest, output: str, *, is_unfinished: bool, style: PromptStyle
) -> SuggestedText:
    """Return the proposal in an answer; one behind the text ends at the last whole sentence that fits.

    A replacement is never cut, for it would lose what the GM wrote. Raises StoryEngineError: `LLM_TRUNCATED`
    for one that is unfinished, `LLM_ERROR` when nothing usable is left.
    """
    if is_unfinished and not asked.task.adds:
        raise StoryEngineError(ErrorCode.LLM_TRUNCATED)
    text, cut = _bare(output), list[str]()
    if asked.task.adds and not is_blank(asked.text):
        text = _without_echo(asked, text)
    if asked.task.adds and (style is PromptStyle.SMALL or is_unfinished):
        kept = to_last_sentence(text)
        cut += cut_in_words("after its last whole sentence", text, kept)
        text = kept
    if not asked.task.adds and len(text) > asked.limit:
        raise _unusable(f"is longer than the {asked.limit:,} characters that fit")
    if asked.task.adds and len(text) > asked.room:
        kept = to_last_sentence(head(text, asked.room))
        if len(kept) > asked.room or _ends_amid(kept, text):
            raise _unusable(f"is longer than the {asked.room:,} characters that fit")
        cut += cut_in_words("that the field has no room for", text, kept)
        text = kept
    if is_blank(text):
        raise _unusable("is empty")
    if text == asked.text.strip():
        raise _unusable("is the text that you have")
    if asked.task is Task.TIGHTEN and len(text) >= len(asked.text):
        raise _unusable("is no shorter than your text")
    return SuggestedText(text, tuple(cut))


def _without_echo(asked: AssistRequest, text: str) -> str:
    """Return an addition without the GM's text in front of it; one that only begins alike stays whole."""
    own = asked.text.strip()
    if not text.startswith(own):
        return text
    rest = text[len(own) :]
    # A sentence to be added may begin with the name that is all there is.
    is_name = asked.task is Task.SUGGEST and own[-1:] not in _ENDS and rest[:1] not in ("", "\n")
    return text if is_name or _IN_WORD.match(rest) else rest.strip()


def _bare(output: str) -> str:
    """Return an answer without a code fence and the mark of GM_TEXT in front, up to the next mark."""
    text = unfenced(clean(output)).removeprefix(opening_mark(SegmentName.GM_TEXT)).lstrip()
    mark = _MARK.search(text)
    return text if mark is None else text[: mark.start()].rstrip()


def _ends_amid(kept: str, text: str) -> bool:
    """Whether a text was cut within a sentence, for want of the end of one."""
    return to_last_sentence(kept) == kept and kept[-1:] not in _ENDS and kept != text


_ENDS: Final = (
    *STOPS,
    *"。！？\"'”’»)]」』）",
)


def _unusable(why: str) -> StoryEngineError:
    return StoryEngineError(ErrorCode.LLM_ERROR, f"The proposal {why}; your text is as it was, try again.")
