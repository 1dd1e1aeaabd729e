"""How much of a model's answer is read as memory: bounds in length, depth and repair."""

import json
import unicodedata
from typing import Any, Literal

import pytest

from core.agents import character
from core.agents.answers.json_output import InvalidMemoryError, read_object
from core.agents.memory import context_summary
from core.config.models.model_config import PromptStyle
from core.domain.prompt_range import PromptRange
from tests.core.values.sessions import delta_payload, session


def of_length(length: int, ending: str = '"}') -> str:
    """An object of so many characters."""
    beginning = '{"a": "'
    return beginning + "x" * (length - len(beginning) - len(ending)) + ending


def read(text: str) -> Any:
    return read_object(text, "a").value


def refused(text: str) -> str:
    with pytest.raises(InvalidMemoryError) as caught:
        read_object(text, "a")
    [problem] = caught.value.problems
    return problem


def test_an_answer_is_read_up_to_its_longest_length() -> None:
    assert len(read(of_length(200_000))["a"]) > 200_000 - 20
    assert "far too long" in refused(of_length(200_000 + 1))


def test_a_broken_answer_is_repaired_up_to_a_length_and_a_number_of_brackets() -> None:
    assert read(of_length(40_000, ending=""))["a"].startswith("xxx")
    assert "not JSON" in refused(of_length(40_000 + 1, ending=""))
    flat = '{"a": [' + "[1], " * (1_000 - 2)
    assert len(read(flat)["a"]) == 1_000 - 2
    assert "not JSON" in refused('{"a": [' + "[1], " * (1_000 - 1))


@pytest.mark.parametrize(
    "shape", [lambda inner: {"in": inner}, lambda inner: [inner]], ids=["object", "list"]
)
def test_what_is_nested_deeper_than_memory_ever_is_is_left_out(shape: Any) -> None:
    value: Any = "the bottom"
    for _ in range(12):
        value = shape(value)
    assert "the bottom" in json.dumps(read(json.dumps({"a": value})))
    assert "the bottom" in json.dumps(read(json.dumps({"a": shape("the bottom")})))
    assert "the bottom" not in json.dumps(read(json.dumps({"a": shape(shape(value))})))


@pytest.mark.parametrize("value", [1, 0.5, True, False, None, "text", [], {}])
def test_every_kind_of_value_is_kept(value: object) -> None:
    assert read(json.dumps({"a": value, "b": [value]})) == {"a": value, "b": [value]}


def test_keys_and_texts_at_every_depth_are_cleaned() -> None:
    assert read(json.dumps({"a": {"b\x07": ["c\x1b[31m"]}})) == {"a": {"b": ["c"]}}


@pytest.mark.parametrize("actions", ["She dives.", ["She dives."], [{"name": "Mara"}, 7], 7])
def test_actions_of_another_shape_are_asked_for_again(actions: object) -> None:
    memory = json.dumps({**delta_payload(), "character_actions": actions})
    with pytest.raises(InvalidMemoryError) as refused:
        context_summary.parse(memory, session(prompts=7), PromptRange(1, 7), 10_000, PromptStyle.FULL)
    assert any("character_actions" in problem for problem in refused.value.problems)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('"What is it?" I ask. I wait. "A map," she says. "Thank you."', '"What is it?" I ask. I wait.'),
        ('I hold it out. "A map," says Joss, and I nod.', "I hold it out."),
        ('I hold it out. Joss Bellamy said, "A map." I nod.', "I hold it out."),
        ('I wait for them. They ask: "Who is there?"', "I wait for them."),
        ("I hold it out.\nJoss Bellamy: A map.", "I hold it out."),
        ("I hold it out.\n4) The lamp goes out.", "I hold it out."),
        ('"A map," I say. "Joss, look at it."', '"A map," I say. "Joss, look at it."'),
        ('"A map," she said. "I am a rigger."', '"A map," she said. "I am a rigger."'),
        ("Joss Bellamy: A map.", "Joss Bellamy: A map."),
        ("I ask what they say of me in the harbour.", "I ask what they say of me in the harbour."),
    ],
)
def test_a_small_model_s_reply_ends_where_it_lets_another_speak(text: str, kept: str) -> None:
    reply, cut = character.trim_small_reply(text, ["Joss Bellamy"], is_unfinished=False)
    assert reply.strip() == kept
    assert bool(cut) is (kept != text)


@pytest.mark.parametrize(
    "text",
    [
        "Mira: \nJoss Bellamy: The oil is gone.",
        "Joss Bellamy: The oil is gone.",
        'Mira: "The oil is gone," she said.',
        "**Mira**:\n2) The oil is gone.",
    ],
)
def test_a_reply_in_which_only_others_speak_is_kept_rather_than_none(text: str) -> None:
    reply, _ = character.trim_small_reply(text, ["Joss Bellamy"], own="Mira", is_unfinished=False)
    assert "The oil is gone." in character.strip_speaker_name(reply, "Mira").replace(",", ".")


@pytest.mark.parametrize("said", ["卡拉：我在听。", "**卡拉**：我在听。", "卡拉 : 我在听。"])
def test_a_reply_does_not_begin_with_its_speaker_before_a_wide_colon_either(said: str) -> None:
    assert character.strip_speaker_name(said, "卡拉") == "我在听。"
    kept, _ = character.trim_small_reply("我在听。\n卡拉：走吧。", ["卡拉"], own="米", is_unfinished=False)
    assert kept == "我在听。\n"


@pytest.mark.parametrize(
    "said",
    [
        "[Mara]: I knock.",
        "**[Mara]** I knock.",
        "[Mara]\nI knock.",
        "**Mara**\n\nI knock.",
        "### Mara\nI knock.",
        "## **Mara**\n\nI knock.",
    ],
)
def test_a_reply_does_not_begin_with_its_speaker_in_brackets_or_as_a_heading_either(said: str) -> None:
    assert character.strip_speaker_name(said, "Mara") == "I knock."


@pytest.mark.parametrize(
    "said",
    ["Mara\nis what they call me.", "*Mara* is what they call me.", "[Mara knocks.]", "# Marauders\nSo."],
)
def test_a_name_that_is_a_part_of_what_is_said_stays(said: str) -> None:
    assert character.strip_speaker_name(said, "Mara") == said


@pytest.mark.parametrize(("form", "other"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_speaker_is_known_however_the_accents_of_its_name_are_written(
    form: Literal["NFC", "NFD"], other: Literal["NFC", "NFD"]
) -> None:
    name, written = (unicodedata.normalize(one, "Zoë") for one in (form, other))
    assert character.strip_speaker_name(f"{written}: I knock.", name) == "I knock."
    kept, _ = character.trim_small_reply(
        f"I knock.\n{written}: Come in.", [name], own="Mara", is_unfinished=False
    )
    assert kept == "I knock.\n"
