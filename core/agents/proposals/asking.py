"""The inputs and schemas of the three questions about a character of the library.

What does it lack; what has a chapter changed about it; how could it come back to a topic. The model of
agent 8 answers, which writes JSON, each time with a prompt of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from core.agents.answers.extract import clauses, pick
from core.agents.answers.schema import Schema, one_of, record, text_of
from core.agents.role.setup import AgentSetup, total
from core.agents.role.shortening import fit_events, shortened
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context, Segment
from core.context.visibility import CharacterKnowledge
from core.domain.story.transcript import in_order, render_events
from core.providers.base import OutputSchema
from core.text.delimiters import SegmentName

ENOUGH: Final = 3
"""Number of traits, and of topics, from which on none are missing."""
LONGEST_PROPOSED_NAME: Final = 60
LONGEST_SHORT: Final = 200
"""Characters of a short description that is proposed."""
LONGEST_TEXT: Final = 400
LONGEST_QUOTE: Final = 300
_SHEET_SHARE: Final = 0.4
"""Maximum share of the budget for the description of the character."""
_MOST_CHANGES: Final = {PromptStyle.FULL: 8, PromptStyle.SMALL: 2}
_NO_ROOM: Final = " (not yet in memory; no room)"


class Question(StrEnum):
    """A question about a character, by the name of its prompt files and of its schema."""

    GAPS = "gaps"
    CHANGES = "changes"
    QUESTIONS = "questions"


class About(StrEnum):
    """The part of a character that an answer wants to change."""

    SHORT_DESCRIPTION = "short_description"
    IDENTITY = "identity"
    TRAIT = "trait"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A character of the library as text, and what it has by name."""

    name: str
    text: str
    has_short_description: bool
    traits: tuple[str, ...]
    topics: tuple[str, ...]

    @property
    def lacks_traits(self) -> int:
        """Number of missing traits."""
        return max(0, ENOUGH - len(self.traits))

    @property
    def lacks_topics(self) -> int:
        """Number of missing topics."""
        return max(0, ENOUGH - len(self.topics))

    @property
    def has_gaps(self) -> bool:
        """Whether anything can be asked for."""
        return not self.has_short_description or bool(self.lacks_traits or self.lacks_topics)


def gaps(choice: ModelConfig, sheet: Sheet) -> Context:
    """Return the input that asks for the missing details of a character."""
    wanted = [
        *(() if sheet.has_short_description else ("a short description",)),
        *_counted(sheet.lacks_traits, "trait"),
        *_counted(sheet.lacks_topics, "topic"),
    ]
    task = f"Propose for {sheet.name}: {', '.join(wanted)}."
    properties = {
        **({} if sheet.has_short_description else {"short_description": text_of(LONGEST_SHORT)}),
        **({"traits": _list(_TRAIT, sheet.lacks_traits)} if sheet.lacks_traits else {}),
        **({"topics": _list(_TOPIC, sheet.lacks_topics)} if sheet.lacks_topics else {}),
    }
    return _alone(choice, Question.GAPS, sheet, task, record(**properties))


def questions(choice: ModelConfig, sheet: Sheet, topics: Sequence[str]) -> Context:
    """Return the input that asks how a character could come back to topics that it neglects."""
    task = f"Topics that {sheet.name} has not spoken about for long: {'; '.join(topics)}."
    entry = record(topic=one_of(*topics), question=text_of(LONGEST_TEXT))
    schema = record(questions=_list(entry, len(topics)))
    return _alone(choice, Question.QUESTIONS, sheet, task, schema)


def changes(choice: ModelConfig, sheet: Sheet, knowledge: CharacterKnowledge) -> Context:
    """Return the input that asks how a chapter changed a character, by that character's own knowledge of it.

    Over budget the memory shrinks first, then the longest texts, and at last the oldest go.
    """
    setup = AgentSetup.for_task(choice, Question.CHANGES)
    identity, note = _identity(setup, sheet)
    called = knowledge.session.name_of(knowledge.character.slot)
    alias = "" if called == sheet.name else f" The chapter calls this character {called}."
    task = setup.fenced(SegmentName.TASK, f"Say what the chapter changed about {sheet.name}.{alias}")
    name, memory_name = SegmentName.FULL_TRANSCRIPT, SegmentName.STRUCTURED_MEMORY
    cue, empty = setup.cue(), setup.fenced(name, "")
    fixed = total((*setup.beginning, identity, task, *cue, setup.fenced(memory_name, "")))
    events = in_order(knowledge.events)
    transcript = setup.fenced(name, render_events(events, knowledge.session))
    digest = setup.digester.digest(knowledge.blocks, setup.memory_budget(fixed, transcript.tokens))
    memory = setup.fenced(memory_name, digest.text)
    room = setup.budget - fixed - memory.tokens
    left_out: tuple[str, ...] = (*note, *digest.left_out)
    if transcript.tokens > room:
        short = fit_events(events, knowledge.session, room - empty.tokens, setup.style)
        events = list(short.events)
        transcript = setup.fenced(name, render_events(events, knowledge.session))
        left_out += tuple(line.replace(_NO_ROOM, " (no room)") for line in short.left_out)
    quoted = [event.text for event in events if event.prompt_index]
    return setup.context(
        (identity, memory, transcript, task, *cue),
        schema=OutputSchema(Question.CHANGES, record(changes=_changes(setup.style, quoted))),
        left_out=left_out,
    )


def _changes(style: PromptStyle, texts: Sequence[str]) -> Schema:
    """Return the schema of the changes; a small model quotes one of the clauses that it was given."""
    if style is PromptStyle.SMALL:
        offered = [clause for text in texts for clause in clauses(text)]
        quote, prompt = pick(offered), {}
    else:
        quote, prompt = text_of(LONGEST_QUOTE), {"prompt": {"type": "integer", "minimum": 1}}
    entry = record(
        **prompt,
        quote=quote,
        about=one_of(*About),
        name=text_of(LONGEST_PROPOSED_NAME),
        text=text_of(LONGEST_SHORT if style is PromptStyle.SMALL else LONGEST_TEXT),
        value=_VALUE,
        why=text_of(LONGEST_SHORT),
    )
    return _list(entry, _MOST_CHANGES[style], least=0)


def _alone(choice: ModelConfig, question: Question, sheet: Sheet, task: str, schema: Schema) -> Context:
    """Return an input that has nothing but the character and the task."""
    setup = AgentSetup.for_task(choice, question)
    identity, note = _identity(setup, sheet)
    return setup.context(
        (identity, setup.fenced(SegmentName.TASK, task), *setup.cue()),
        schema=OutputSchema(question, schema),
        left_out=note,
    )


def _identity(setup: AgentSetup, sheet: Sheet) -> tuple[Segment, tuple[str, ...]]:
    """Return the section of the character, shortened in the middle where it is very long."""
    whole = setup.fenced(SegmentName.AGENT_IDENTITY, sheet.text)
    room = int((setup.budget - total(setup.beginning)) * _SHEET_SHARE)
    if whole.tokens <= room:
        return whole, ()
    text = shortened(sheet.text, room, setup.style)
    return setup.fenced(SegmentName.AGENT_IDENTITY, text), ("The middle of the description (no room)",)


def _counted(count: int, what: str) -> tuple[str, ...]:
    return (f"{count} {what}{'s' * (count > 1)}",) if count else ()


def _list(entry: Schema, most: int, least: int = 1) -> Schema:
    return {"type": "array", "items": entry, "minItems": least, "maxItems": most}


_VALUE: Final[Schema] = {"type": "number", "minimum": -1, "maximum": 1}
_SHARE: Final[Schema] = {"type": "number", "minimum": 0, "maximum": 1}
_TRAIT: Final = record(
    name=text_of(LONGEST_PROPOSED_NAME), description=text_of(LONGEST_TEXT), strength=_SHARE, sentiment=_VALUE
)
_TOPIC: Final = record(
    name=text_of(LONGEST_PROPOSED_NAME),
    perspective=text_of(LONGEST_TEXT),
    approach=text_of(LONGEST_TEXT),
    personal_stake=text_of(LONGEST_TEXT),
    sentiment=_VALUE,
    exposure_desired=_SHARE,
)
