"""What a service is sent where nothing is set but a model: kept as golden files, byte for byte."""

import hashlib
import json

import pytest

from core.agents.context_builder import Context, ContextBuilder, repair_context
from core.config.models.assignments import ModelAssignments, choose_models
from core.config.sections import AgentSettings, ProfileSettings
from core.context.visibility import Story, known_to_gm
from core.domain.prompt_range import PromptRange
from core.gateway.model_call import model_request
from core.providers.openai.dialect import Dialect, parameters
from tests.core.context.golden_text import GOLDEN, accepted
from tests.core.values.sessions import TAB1, known, memory, narrative_of, play, session

PROFILES = {
    "defaults": ProfileSettings(provider="openai"),
    "other": ProfileSettings(
        provider="openai",
        world_lock=AgentSettings(model="llama-70b", temperature=0.5),
        character=AgentSettings(model="llama-70b", temperature=0.5),
        context_summary=AgentSettings(model="llama-70b"),
        narrative=AgentSettings(model="llama-70b"),
    ),
}


def inputs(choices: ModelAssignments) -> dict[str, Context]:
    """One input of every role, and those that a repair and a chapter in parts have of their own."""
    build, mine = ContextBuilder(choices), session(prompts=9, boundary=7)
    events, blocks = play(1, 9, words=4), memory(1, words=4)
    summary = build.summary(known_to_gm(Story(mine, blocks, events)), PromptRange(8, 9))
    parts = build.plan_narrative(known_to_gm(Story(mine, blocks, play(1, 9, words=40))), "Plain.", 90_000)
    return {
        "world_lock": build.world_lock(mine, TAB1),
        "character": build.character(known(mine, blocks, events), "What do you do?"),
        "context_summary": summary,
        "repair": repair_context(summary, '{"memory_type": "none"}', ["range: Field required"]),
        "narrative": narrative_of(build, known_to_gm(Story(mine, blocks, events)), "Plain and vivid.", 800),
        "narrative_part": build.narrative_part(
            known_to_gm(Story(mine, blocks, ())), parts[1], "Plain.", "So it went."
        ),
    }


@pytest.mark.parametrize("name", PROFILES)
def test_a_service_is_sent_the_same_bytes_as_ever(name: str) -> None:
    choices = choose_models(PROFILES[name])
    told: dict[str, object] = {}
    for what, context in inputs(choices).items():
        choice = choices.of(context.role, context.agent_id)
        fields = parameters(model_request(context, choice), Dialect.of(choice.model))
        for key in ("messages", "response_format"):
            whole = json.dumps(fields.pop(key, None), ensure_ascii=False).encode()
            told[f"{what} {key}"] = f"{len(whole)} bytes, SHA-256 {hashlib.sha256(whole).hexdigest()}"
        told[what] = fields
    text = json.dumps(told, indent=1) + "\n"
    assert text == accepted(f"service.{name}.json", text)


def test_the_messages_of_every_input_are_in_the_golden_texts_too() -> None:
    """A hash says that something changed, and these files say what."""
    made = inputs(choose_models(PROFILES["defaults"]))
    for what in ("repair", "narrative_part"):
        text = "\n".join(f"[{message.role}]\n{message.content}\n" for message in made[what].messages)
        path = GOLDEN / f"{what}.full.txt"
        if not path.exists():
            path.write_text(text, encoding="utf-8")
            pytest.fail(f"{path.name} was written; look at it and commit it")
        assert path.read_text(encoding="utf-8") == text
