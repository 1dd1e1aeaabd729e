"""What an agent may know is decided in one place."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from mypy import api

from core.context.visibility import Secrets, Story, known_to, known_to_all_of, known_to_gm
from core.domain.audience import EVERYONE, Audience
from core.domain.session.cast import Cast
from core.domain.slot import Slot
from core.domain.story.event import CONTEXT, NEVER
from core.domain.story.secret import Reveal, Secret
from tests.core.values.sessions import TAB1, delta_block, lock_block, play, session

ROOT = Path(__file__).parents[4]
RED, ORANGE, YELLOW = Slot.RED, Slot.ORANGE, Slot.YELLOW


def test_without_audiences_everybody_knows_the_whole_story_and_only_its_own_identity() -> None:
    mine, blocks, recent = session(prompts=9, boundary=7), [lock_block(), delta_block(1)], play(8, 9)
    for slot in mine.slots:
        known = known_to(Cast(mine, TAB1)[slot], Story(mine, blocks, recent))
        assert (list(known.blocks), list(known.events)) == (blocks, recent)
        assert known.character.identity == TAB1.identities.get(slot, "")


def test_what_an_agent_knows_cannot_be_made_past_the_gate() -> None:
    known = known_to_gm(Story(session(), (), ()))
    with pytest.raises(TypeError, match="known_to"):
        replace(known, gate=object())


def test_less_of_what_is_known_is_still_known() -> None:
    known = known_to(Cast(session(), TAB1)[RED], Story(session(), [lock_block()], play(1, 2)))
    assert {event.prompt_index for event in known.since(1).events} == {2}


def test_a_character_knows_what_it_witnessed_and_the_gm_knows_everything() -> None:
    mine = session(prompts=9, boundary=7)
    whispered = replace(play(9, 9)[0], audience=Audience.of([ORANGE]))
    private = replace(delta_block(1), ordinal=1, audience=Audience.of([RED, ORANGE]))
    blocks, events = [lock_block(), delta_block(1), private], [*play(8, 8), whispered]
    cast = Cast(mine, TAB1)
    assert whispered not in known_to(cast[RED], Story(mine, blocks, events)).events
    assert whispered in known_to(cast[ORANGE], Story(mine, blocks, events)).events
    assert private in known_to(cast[RED], Story(mine, blocks, events)).blocks
    assert private not in known_to(cast[YELLOW], Story(mine, blocks, events)).blocks
    everything = known_to_gm(Story(mine, blocks, events))
    assert (list(everything.blocks), list(everything.events)) == (blocks, events)


def test_no_one_is_given_an_event_that_no_model_is_sent_not_even_the_narrative_agent() -> None:
    first, *others = play(1, 3)
    hidden = replace(first, metadata={CONTEXT: NEVER})
    now, events = session(prompts=3), [hidden, *others]
    red = Cast(now, TAB1)[RED]
    assert tuple(known_to(red, Story(now, (), events)).events) == tuple(others)
    assert tuple(known_to_all_of(EVERYONE, Story(now, (), events)).events) == tuple(others)
    assert tuple(known_to_gm(Story(now, (), events)).events) == tuple(others)


def test_what_a_group_knows_is_what_each_of_it_knows() -> None:
    mine = session(prompts=1)
    pair, alone = Audience.of([RED, ORANGE]), Audience.of([RED])
    events = [replace(event, audience=one) for event, one in zip(play(1, 1), (pair, alone), strict=True)]
    assert known_to_all_of(pair, Story(mine, (), events)).events == (events[0],)
    assert known_to_all_of(alone, Story(mine, (), events)).events == tuple(events)
    assert known_to_all_of(EVERYONE, Story(mine, (), events)).events == ()


def test_a_secret_is_known_to_those_who_had_it_and_those_to_whom_it_was_revealed() -> None:
    mine, cast = session(), Cast(session(), TAB1)
    secret = Secret(number=1, text="The door is painted on.", known_by=Audience.of([RED]))
    before, after = Secrets((secret,)), Secrets((secret,), (Reveal(3, 1, Audience.of([ORANGE])),))

    def told(slot: Slot, secrets: Secrets) -> tuple[str, ...]:
        return known_to(cast[slot], Story(mine, (), (), secrets)).secrets

    assert [told(slot, before) for slot in (RED, ORANGE)] == [(secret.text,), ()]
    assert [told(slot, after) for slot in (RED, ORANGE, YELLOW)] == [(secret.text,), (secret.text,), ()]
    [line] = known_to_gm(Story(mine, (), (), after)).secrets
    assert line == f"{secret.text} (known to: {mine.name_of(RED)}, {mine.name_of(ORANGE)})"


def test_a_pinned_lock_stays_with_those_who_may_know_it() -> None:
    pair = Audience.of([RED, ORANGE])
    mine = replace(session(), pinned=("The key is false.",), private_pins={"The key is false.": pair})
    cast, blocks = Cast(mine, TAB1), [lock_block()]

    def locks(slot: Slot) -> str:
        return str(known_to(cast[slot], Story(mine, blocks, ())).blocks[0].payload["canon_locks"])

    assert "The key is false." in locks(RED)
    assert "The key is false." not in locks(YELLOW)
    assert "The key is false." in str(known_to_gm(Story(mine, blocks, ())).blocks[0].payload["canon_locks"])


UNGATED = """
from dataclasses import replace

from core.agents.context_builder import ContextBuilder
from core.context.visibility import CharacterKnowledge, Knowledge
from core.domain.prompt_range import PromptRange
from core.domain.session.session import Session
from core.domain.story.event import Event
from core.domain.story.memory import MemoryBlock


def make(
    build: ContextBuilder,
    known: CharacterKnowledge,
    session: Session,
    events: tuple[Event, ...],
    blocks: tuple[MemoryBlock, ...],
) -> None:
    build.character(known, "So?")
    build.character(replace(known, events=events), "So?")  # refused
    build.character(replace(known, blocks=blocks), "So?")  # refused
    build.character(replace(known, secrets=("A secret.",)), "So?")  # refused
    build.character(events, "So?")  # refused
    build.summary(known, PromptRange(1, 7))
    build.summary(events, PromptRange(1, 7))  # refused
    build.plan_narrative(replace(known, events=events), "Plain.")  # refused
    Knowledge(session=session, blocks=blocks, events=(), secrets=(), gate=1)  # refused
"""


def test_the_type_checker_refuses_an_input_of_what_did_not_pass_the_gate(tmp_path: Path) -> None:
    source = tmp_path / "ungated.py"
    source.write_text(UNGATED)
    # What else these import is not read: of the parts that pass the gate, the types stand here.
    read = [
        str(source),
        *(str(ROOT / "core" / file) for file in ("context/visibility.py", "agents/context_builder.py")),
    ]
    told, _, _ = api.run(["--strict", "--follow-imports=skip", f"--cache-dir={tmp_path}", *read])
    refused = {
        int(line) for line in re.findall(r"^\S+ungated\.py:(\d+): error: Argument", told, re.MULTILINE)
    }
    expected = {n for n, line in enumerate(UNGATED.splitlines(), start=1) if line.endswith("# refused")}
    assert refused == expected, told
