"""Agent 8 condenses memory: several deltas become one that is shorter and has nothing of its own.

Canon locks are not its business: inputs have them from the deltas, word for word. What the answer has of
names and numbers that the deltas do not have is dropped, with the entry that it is in; the model is shown
that once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.agents.answers.extract import EMPTY_LIST, fitted, pick, stretches, tuple_of
from core.agents.answers.json_output import MAX_PROBLEMS, InvalidMemoryError, ParsedMemory
from core.agents.answers.schema import Schema, fixed, record
from core.agents.memory import context_summary
from core.agents.role.setup import AgentSetup, total
from core.config.models.model_config import ModelConfig, PromptStyle
from core.context.segments import Context, Segment
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.story.condensed import FEWEST, range_of
from core.domain.story.memory import BlockType, MemoryBlock, compact_json, without_empty
from core.providers.base import OutputSchema
from core.text.analysis.grounding import Vocabulary
from core.text.delimiters import SegmentName

PROMPT: Final = "condense"
_TOLERANCE: Final = 1.25
"""Length of an answer, as a multiple of the wanted one, above which the model is asked to write less."""
_LOCKS: Final = "canon_locks"
_ENGINE: Final = ("memory_type", "range", "agent_slot")
"""Keys whose values are the engine's."""
_NAMES: Final = ("participants", "between", "who_found", "name")


@dataclass(frozen=True, slots=True)
class Condensation:
    """Deltas without their canon locks, as those who know them know them, and how they are condensed."""

    session: Session
    sources: tuple[MemoryBlock, ...]
    choice: ModelConfig
    ratio: float

    @property
    def prompts(self) -> PromptRange:
        """The prompts that the answer is about."""
        return range_of(self.sources)

    @property
    def length(self) -> int:
        """The characters of the sources, as inputs have them."""
        return sum(_length(block.payload) for block in self.sources)

    @property
    def limit(self) -> int:
        """The characters that the answer should have at most."""
        return int(self.length * self.ratio)


def task_of(
    session: Session, deltas: Sequence[MemoryBlock], choice: ModelConfig, ratio: float
) -> Condensation:
    """Return the task for as many of the deltas, from the first, as fit into one input; two at least."""
    bare = tuple(replace(one, payload={**one.payload, _LOCKS: []}, json_text="") for one in deltas)
    task = Condensation(session, bare, choice, ratio)
    setup = AgentSetup.for_task(choice, PROMPT)
    while len(task.sources) > FEWEST and total((*setup.beginning, *_segments(setup, task))) > setup.budget:
        task = replace(task, sources=task.sources[:-1])
    return task


def condensing_context(task: Condensation) -> Context:
    """Return the input; raise StoryEngineError (`LLM_CONTEXT_OVERFLOW`) where two deltas are too long."""
    setup = AgentSetup.for_task(task.choice, PROMPT)
    segments = (*_segments(setup, task), *setup.cue())
    return setup.context(segments, schema=_output_schema(task))


def parse(text: str, task: Condensation) -> ParsedMemory:
    """Return the condensed memory of an answer, without what its sources do not have.

    Raises InvalidMemoryError when it cannot be stored, or is no shorter than its sources.
    """
    answer = context_summary.parse(text, task.session, task.prompts, task.length, task.choice.style)
    known = Vocabulary.of(
        (*_texts([one.payload for one in task.sources]), *dict(task.session.roster).values())
    )
    payload: dict[str, object] = {**answer.payload, _LOCKS: []}
    problems: list[str] = []
    kept = {key: _grounded(value, key, known, problems) for key, value in payload.items()}
    if not any(one for key, one in kept.items() if key not in _ENGINE and without_empty(one)):
        raise InvalidMemoryError(problems or ["The answer says nothing about the events."])
    length = _length(kept)
    too_long = f"The object has {length:,} characters; write at most {task.limit:,}."
    if length >= task.length:
        raise InvalidMemoryError([too_long])
    if length > task.limit * _TOLERANCE:
        problems.append(too_long)
    return ParsedMemory(kept, "", tuple(dict.fromkeys((*problems, *answer.too_long)))[:MAX_PROBLEMS])


def _segments(setup: AgentSetup, task: Condensation) -> tuple[Segment, ...]:
    lines = "\n".join(setup.digester.compact(block).text for block in task.sources)
    wanted = f"Condense the memory of prompts {_marked(task.prompts)}, to at most {task.limit:,} characters."
    return (setup.fenced(SegmentName.STRUCTURED_MEMORY, lines), setup.fenced(SegmentName.TASK, wanted))


def _marked(prompts: PromptRange) -> str:
    """Return a range in the numbers of the transcript."""
    first, last = prompts.first, prompts.last
    return f"{first}" if first == last else f"{first}–{last}"


def _output_schema(task: Condensation) -> OutputSchema:
    """Return the schema of a delta without canon locks; a small model picks phrases of the sources."""
    if task.choice.style is PromptStyle.SMALL:
        return OutputSchema(PROMPT, _small_schema(task))
    schema: Schema = dict(context_summary.output_schema(task.session, task.prompts, (), task.choice).schema)
    properties = {**schema["properties"], _LOCKS: {**schema["properties"][_LOCKS], "maxItems": 0}}
    return OutputSchema(PROMPT, {**schema, "properties": properties})


def _small_schema(task: Condensation) -> Schema:
    """Return a schema with one event of each delta and what is open at the end, in words of the sources."""
    events = [text for one in task.sources for text in _phrases(one, "major_events", "event")]
    actions = [text for one in task.sources for text in _phrases(one, "character_actions", "did")]
    threads = _phrases(task.sources[-1], "unresolved_threads", "thread")
    told = events or actions
    span = {key: fixed(value) for key, value in context_summary.range_json(task.prompts).items()}

    def build(most: int) -> Schema:
        return record(
            memory_type=fixed(BlockType.TURN_DELTA.value),
            range=record(**span),
            location_updates=record(where=fixed(""), notable_environment_changes=EMPTY_LIST),
            major_events=tuple_of(
                [
                    record(event=pick(one), cause=fixed(""), effect=fixed(""), participants=EMPTY_LIST)
                    for one in stretches(told, most)
                ]
            ),
            character_actions=EMPTY_LIST,
            state_changes=EMPTY_LIST,
            relationship_shifts=EMPTY_LIST,
            items_clues_discovered=EMPTY_LIST,
            unresolved_threads=tuple_of(
                [
                    record(thread=pick(one), stakes=fixed(""), next_likely_trigger=fixed(""))
                    for one in stretches(threads, min(1, most))
                ]
            ),
            canon_locks=EMPTY_LIST,
            contradictions_or_questions=EMPTY_LIST,
        )

    return fitted(build, len(task.sources), task.choice.max_output_tokens)


def _phrases(block: MemoryBlock, listed: str, key: str) -> list[str]:
    entries = block.payload.get(listed)
    found = [one.get(key) for one in entries if isinstance(one, Mapping)] if isinstance(entries, list) else []
    return [text for text in found if isinstance(text, str) and text]


def _grounded(value: object, key: str, known: Vocabulary, problems: list[str]) -> object:
    """Return a value without texts, and entries of lists, that have names or numbers of their own."""
    if key in _ENGINE:
        return value
    if isinstance(value, str):
        return "" if _is_foreign(value, key, known, problems) else value
    if isinstance(value, Mapping):
        return {inner: _grounded(one, inner, known, problems) for inner, one in value.items()}
    if isinstance(value, list):
        return [one for one in value if not _is_foreign(one, key, known, problems)]
    return value


def _is_foreign(value: object, key: str, known: Vocabulary, problems: list[str]) -> bool:
    foreign = list(_foreign(value, key, known))
    problems += (f"{key}: “{word[:80]}” is not in the memory that you were given." for word in foreign)
    return bool(foreign)


def _foreign(value: object, key: str, known: Vocabulary) -> Iterator[str]:
    if key in _ENGINE:
        return
    if isinstance(value, str):
        yield from known.unknown_in(value, is_name=key in _NAMES and value != "unknown")
    elif isinstance(value, Mapping):
        for inner, one in value.items():
            yield from _foreign(one, str(inner), known)
    elif isinstance(value, list):
        for one in value:
            yield from _foreign(one, key, known)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from () if key in _ENGINE else _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _length(payload: object) -> int:
    return len(compact_json(without_empty(payload)))
