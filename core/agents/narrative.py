"""Agent 9: definition, full transcript and memory become prose, in one call or part by part.

The transcript is always used whole. When it does not fit beside the rest, or when a small model is to
write more than it can at once, the chapter is planned in parts: whole chunks as long as they fit, else
whole prompts, else whole events, and only of an event that is too long by itself the text is split.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from core.agents.role.setup import AgentSetup, overflow, total
from core.agents.sections.words_to_keep import tokens_to_reserve, words_to_keep
from core.config.models.model_config import PromptStyle
from core.context.segments import Context, Segment
from core.context.tokens import characters_for, estimate_tokens
from core.context.visibility import Knowledge
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.domain.story.transcript import SEPARATOR, in_order, render_event
from core.text.delimiters import SegmentName, escape_delimiters
from core.text.graphemes import head, tail

_TAIL_TOKENS = {PromptStyle.FULL: 600, PromptStyle.SMALL: 120}
"""Tokens of the previous part that the next one is shown; about 2,000 and 360 characters."""
_OUTPUT_TOKENS_PER_WORD = 2
"""Generous: the rest is for reasoning and for words of many tokens."""
_PART_MEMORY_SHARE = 0.25
_MOST_CHARACTERS_PER_TOKEN = 4
"""No text is estimated at more: what is longer by this measure alone need not be estimated."""
_MIN_PART_TOKENS = 200


@dataclass(frozen=True, slots=True)
class NarrativePart:
    """One call of a narrative: its place, its share of the words, and the transcript that it tells."""

    number: int
    total: int
    prompts: PromptRange
    transcript: str
    target_words: int | None


@dataclass(frozen=True, slots=True)
class _Unit:
    """A stretch of transcript that stays in one part. `is_continued` marks the rest of a split event."""

    prompts: PromptRange
    text: str
    tokens: int
    is_continued: bool


def plan(
    setup: AgentSetup, knowledge: Knowledge, definition: str, target_words: int | None
) -> tuple[NarrativePart, ...]:
    """Return the parts in which the chapter is written: one when it fits, none without events.

    Raise StoryEngineError (`LLM_CONTEXT_OVERFLOW`) when definition and canon leave no room at all.
    """
    ordered = in_order(knowledge.events)
    if not ordered:
        return ()
    planner = _Planner(setup, knowledge.session)
    fixed = frame_tokens(setup, knowledge.session, definition) + total(setup.secrets(knowledge))
    canon = setup.digester.digest(knowledge.blocks, 0).tokens
    words = tokens_to_reserve(setup, knowledge)
    if _room(setup, fixed + words, canon) >= _MIN_PART_TOKENS:  # else it is told without them
        fixed += words
    whole = planner.unit(ordered)
    told_at_once = planner.told_at_once(whole.tokens, target_words)
    if fixed + canon + whole.tokens <= setup.budget and whole.tokens <= told_at_once:
        return _numbered([[whole]], target_words)
    hard = _room(setup, fixed, canon)
    if hard < _MIN_PART_TOKENS:
        raise overflow(fixed + canon + _MIN_PART_TOKENS, setup.role, setup.choice)
    part_limit = min(told_at_once, hard)
    units = planner.units(ordered, hard if target_words is None else part_limit, hard)
    return _numbered(_packed(units, part_limit), target_words)


def _room(setup: AgentSetup, fixed: int, canon: int) -> int:
    """Return the tokens that the transcript of one part may have."""
    return setup.budget - fixed - max(canon, int((setup.budget - fixed) * _PART_MEMORY_SHARE))


def part_context(
    setup: AgentSetup, knowledge: Knowledge, part: NarrativePart, definition: str, previous_tail: str
) -> Context:
    """Return the input of one part: system prompt, definition, length, secrets, words to keep, transcript,
    memory.

    With more than one part it also says which part it is and how the one before ended. Over budget the
    oldest turn deltas shrink to their canon locks; the transcript tells what they held.
    """
    place = _place(setup, part, previous_tail) if part.total > 1 else ()
    instructions = _instructions(setup, knowledge.session, definition, part.target_words)
    before = (*instructions, *place, *setup.secrets(knowledge))
    transcript = setup.fenced(SegmentName.FULL_TRANSCRIPT, part.transcript)
    empty = setup.fenced(SegmentName.STRUCTURED_MEMORY, "")
    cue = setup.cue()
    fixed = total((*setup.beginning, *before, empty, *cue))
    without_room: tuple[str, ...] = ()
    if knowledge.quotes:
        canon = setup.digester.digest(knowledge.blocks, 0).tokens
        room = setup.budget - fixed - transcript.tokens - canon
        words, without_room = words_to_keep(setup, knowledge, part.prompts, room)
        before, fixed = (*before, *words), fixed + total(words)
    digest = setup.digester.digest(knowledge.blocks, setup.memory_budget(fixed, transcript.tokens))
    memory = setup.memory(SegmentName.STRUCTURED_MEMORY, digest)
    return setup.context((*before, transcript, memory, *cue), left_out=(*without_room, *digest.left_out))


def _instructions(
    setup: AgentSetup, session: Session, definition: str, target_words: int | None
) -> tuple[Segment, ...]:
    if target_words:
        length = f"About {target_words:,} words."
    elif setup.style is PromptStyle.SMALL:
        length = "One or two short paragraphs."
    else:
        length = f"At most {session.limits.draft_words:,} words."
    return (
        setup.fenced(SegmentName.NARRATIVE_AGENT_DEFINITION, definition),
        setup.fenced(SegmentName.LENGTH_TARGET, length),
    )


def _place(setup: AgentSetup, part: NarrativePart, previous_tail: str) -> tuple[Segment, ...]:
    if part.number == 1:
        task = "Begin the chapter; it goes on after this part, so do not end it."
    elif part.number < part.total:
        task = "Go on where STORY_SO_FAR stops, without telling it again; do not end the chapter yet."
    else:
        task = "Go on where STORY_SO_FAR stops, without telling it again, and bring the chapter to its end."
    text = f"Part {part.number} of {part.total}. FULL_TRANSCRIPT holds this part only. {task}"
    ending = _ending(previous_tail.strip(), setup.style)
    story = (setup.fenced(SegmentName.STORY_SO_FAR, ending),) if part.number > 1 else ()
    return (setup.fenced(SegmentName.PART, text), *story)


def _ending(text: str, style: PromptStyle) -> str:
    """Return the end of `text` in the tokens that are kept free for it."""
    most = _TAIL_TOKENS[style]
    ending = tail(text, most * 4)
    while estimate_tokens(escape_delimiters(ending), style) > most:
        ending = tail(ending, len(ending) * 9 // 10)
    return ending


def frame_tokens(setup: AgentSetup, session: Session, definition: str) -> int:
    """Return the tokens of everything around transcript and memory, at most."""
    part = NarrativePart(998, 999, PromptRange(1, 1), "", 99_999)
    segments = (
        *setup.beginning,
        *_instructions(setup, session, definition, part.target_words),
        *_place(setup, part, ""),
        setup.fenced(SegmentName.FULL_TRANSCRIPT, ""),
        setup.fenced(SegmentName.STRUCTURED_MEMORY, ""),
        *setup.cue(),
    )
    return total(segments) + _TAIL_TOKENS[setup.style]


class _Planner:
    """Cuts the transcript of one session into units."""

    def __init__(self, setup: AgentSetup, session: Session) -> None:
        self._setup = setup
        self._session = session

    def unit(self, events: Sequence[Event]) -> _Unit:
        text = SEPARATOR.join(render_event(event, self._session) for event in events)
        return self._of_text(events, text)

    def told_at_once(self, whole: int, target_words: int | None) -> int:
        """Return how many tokens of transcript one part may tell, so that its output has room.

        A small model without a target writes scene by scene, a chunk a part.
        """
        most_words = self._setup.choice.max_output_tokens // _OUTPUT_TOKENS_PER_WORD
        if target_words is None:
            return whole if self._setup.style is PromptStyle.FULL else 0
        return whole if target_words <= most_words else whole * most_words // target_words

    def units(self, events: Sequence[Event], chunk_limit: int, hard: int) -> list[_Unit]:
        """Return chunks that have at most `chunk_limit` tokens, and of longer ones the prompts.

        What is over `hard` even then comes apart further, to events and then to slices of their text.
        """
        size = self._session.limits.chunk_size
        units: list[_Unit] = []
        for chunk in _grouped(events, lambda event: (max(1, event.prompt_index) - 1) // size):
            unit = self.unit(chunk)
            units += [unit] if unit.tokens <= chunk_limit else self._prompts(chunk, hard)
        return units

    def _prompts(self, events: Sequence[Event], hard: int) -> Iterator[_Unit]:
        for prompt in _grouped(events, lambda event: max(1, event.prompt_index)):
            unit = self.unit(prompt)
            if unit.tokens <= hard:
                yield unit
                continue
            for event in prompt:
                yield from self._slices(event, hard)

    def _slices(self, event: Event, hard: int) -> Iterator[_Unit]:
        rest = render_event(event, self._session)
        is_continued = False
        while rest:
            piece = head(rest, hard * _MOST_CHARACTERS_PER_TOKEN)
            while self._tokens(piece) > hard and len(piece) > 1:
                # Nine tenths, because the beginning may be dearer than the average.
                limit = characters_for(hard, piece, self._setup.style) * 9 // 10
                piece = head(piece, min(len(piece) - 1, max(1, limit)))
            yield self._of_text((event,), piece, is_continued=is_continued)
            rest, is_continued = rest[len(piece) :], True

    def _tokens(self, text: str) -> int:
        return estimate_tokens(escape_delimiters(text), self._setup.style) + 1

    def _of_text(self, events: Sequence[Event], text: str, *, is_continued: bool = False) -> _Unit:
        return _Unit(_prompts_of(events), text, self._tokens(text), is_continued)


def _prompts_of(events: Sequence[Event]) -> PromptRange:
    """Return the prompts of `events`, which are in order; lines before the first prompt are told with it."""
    return PromptRange(max(1, events[0].prompt_index), max(1, events[-1].prompt_index))


def _grouped(events: Iterable[Event], key: Callable[[Event], int]) -> Iterator[list[Event]]:
    return (list(group) for _, group in groupby(events, key=key))


def _packed(units: Sequence[_Unit], most: int) -> list[list[_Unit]]:
    """Return the units in runs of at most `most` tokens; a unit that is longer is a run of its own."""
    runs: list[list[_Unit]] = []
    used = 0
    for unit in units:
        if runs and used + unit.tokens <= most:
            runs[-1].append(unit)
            used += unit.tokens
        else:
            runs.append([unit])
            used = unit.tokens
    return runs


def _numbered(runs: Sequence[Sequence[_Unit]], target_words: int | None) -> tuple[NarrativePart, ...]:
    """Return the runs as parts; each gets words in proportion to the length of its source."""
    words = _shares([sum(unit.tokens for unit in run) for run in runs], target_words)
    return tuple(
        NarrativePart(
            number, len(runs), PromptRange(run[0].prompts.first, run[-1].prompts.last), _joined(run), share
        )
        for number, (run, share) in enumerate(zip(runs, words, strict=True), start=1)
    )


def _shares(tokens: Sequence[int], target_words: int | None) -> list[int | None]:
    """Return the words of each part: in proportion, at least one, and together those of the chapter."""
    if target_words is None:
        return [None] * len(tokens)
    whole, told, given = sum(tokens), 0, 0
    shares: list[int | None] = []
    for left, part in zip(range(len(tokens) - 1, -1, -1), tokens, strict=True):
        told += part
        # Each part after this one needs a word too.
        share = max(1, min(target_words * told // whole, target_words - left) - given)
        given += share
        shares.append(share)
    return shares


def _joined(run: Sequence[_Unit]) -> str:
    text = run[0].text
    for unit in run[1:]:
        text += unit.text if unit.is_continued else SEPARATOR + unit.text
    return text
