"""The provider `scripted`: the same for ever, valid with no file, and wrong on demand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import Usage
from core.domain.story.memory import TurnDelta, WorldChapterLock
from core.providers.base import ChatMessage, OutputSchema
from core.providers.scripted.provider import ScriptedProvider, fingerprint
from core.providers.scripted.script import Fault, Script, load_script
from core.providers.scripted.synthetic import json_from_schema, synthesize_reply
from core.text.cleaning import clean, is_blank
from tests.core.providers.asking import TINY_SCHEMA, ask, fail, request

pytestmark = pytest.mark.anyio

LOCK = OutputSchema("world_chapter_lock", WorldChapterLock.model_json_schema())
DELTA = OutputSchema("turn_delta", TurnDelta.model_json_schema())


def scripted(*entries: dict[str, object], **top: object) -> ScriptedProvider:
    return ScriptedProvider(Script.model_validate({"reply": entries, **top}))


async def test_without_a_file_every_request_is_answered_the_same_for_ever() -> None:
    asked = request("The lantern goes out. Who is there?")
    first, completion = await ask(ScriptedProvider(), asked)
    provider = ScriptedProvider()
    await ask(provider, request("something in between"))
    assert (first, completion) == await ask(provider, asked)
    assert "lantern" in first
    assert completion.finish_reason == "stop"
    assert first != (await ask(provider, request("The lantern is lit.")))[0]


async def test_what_is_made_up_takes_up_the_prompt_and_shows_nothing_of_how_it_was_asked() -> None:
    asked = "\n".join(
        (
            "=== AGENT_IDENTITY ===\nName: Ines\n=== END AGENT_IDENTITY ===",
            '=== STRUCTURED_MEMORY ===\n{"world": "a marsh"}\n=== END STRUCTURED_MEMORY ===',
            "=== USER_PROMPT ===\nWho is with you?\n=== END USER_PROMPT ===",
        )
    )
    reply = synthesize_reply(request(asked))
    assert "Who is with you?" in reply
    made = json_from_schema({"type": "array", "items": {"type": "string"}, "minItems": 2}, asked)
    assert made == ["Name: Ines", "Who is with you?"]
    for hidden in ("===", "AGENT_IDENTITY", "{"):
        assert hidden not in reply


async def test_a_larger_cap_gets_a_longer_text() -> None:
    short, _ = await ask(ScriptedProvider(), request(max_output_tokens=100))
    long, _ = await ask(ScriptedProvider(), request(max_output_tokens=32_000))
    assert len(long) > 4 * len(short)


@pytest.mark.parametrize(("schema", "model"), [(LOCK, WorldChapterLock), (DELTA, TurnDelta)])
async def test_memory_made_up_validates(schema: OutputSchema, model: type[BaseModel]) -> None:
    text, _ = await ask(ScriptedProvider(), request(schema=schema))
    made = model.model_validate_json(text)
    assert made.model_dump()["memory_type"] == schema.name
    assert "door opens" in text


def test_what_the_schema_fixes_is_kept() -> None:
    schema = {
        "type": "object",
        "properties": {
            "fixed": {"const": {"from": 8}},
            "one": {"enum": ["a", "b"]},
            "short": {"type": "string", "maxLength": 3},
            "long": {"type": "string", "minLength": 50},
            "count": {"type": "integer", "minimum": 7, "maximum": 9},
            "above": {"type": "integer", "exclusiveMinimum": 7},
            "below": {"type": "integer", "maximum": -2},
            "pair": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
            "none": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
            "cast": {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": False},
            "maybe": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/deep"}]},
        },
        "$defs": {"deep": {"type": "object", "properties": {"flag": {"type": "boolean"}}}},
    }
    made = json_from_schema(schema, "One thing. Another thing!")
    assert isinstance(made, dict)
    assert len(made.pop("long")) >= 50
    assert made == {
        "fixed": {"from": 8},
        "one": "a",
        "short": "One",
        "count": 7,
        "above": 8,
        "below": -2,
        "pair": ["One thing.", "Another thing!"],
        "none": [],
        "cast": [1, 2],
        "maybe": {"flag": False},
    }


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault.TIME_OUT, ErrorCode.LLM_TIMEOUT),
        (Fault.RATE_LIMITED, ErrorCode.LLM_RATE_LIMITED),
        (Fault.AUTH, ErrorCode.LLM_AUTH_ERROR),
        (Fault.CREDIT_EXHAUSTED, ErrorCode.LLM_CREDIT_EXHAUSTED),
        (Fault.SERVER_ERROR, ErrorCode.LLM_SERVER_ERROR),
        (Fault.REQUEST_ERROR, ErrorCode.LLM_REQUEST_ERROR),
        (Fault.CONTEXT_OVERFLOW, ErrorCode.LLM_CONTEXT_OVERFLOW),
        (Fault.CUT, ErrorCode.LLM_SERVER_ERROR),
        (Fault.EMPTY, ErrorCode.LLM_ERROR),
        (Fault.WHITE_SPACE, ErrorCode.LLM_ERROR),
        (Fault.REASONING_ONLY, ErrorCode.LLM_ERROR),
        (Fault.CONTENT_FILTERED, ErrorCode.LLM_CONTENT_FILTERED),
    ],
)
async def test_faults_on_demand(fault: Fault, code: ErrorCode) -> None:
    await fail(scripted({"fault": fault}), code)


async def test_faults_that_are_answers() -> None:
    sound, _ = await ask(ScriptedProvider())
    half, completion = await ask(scripted({"fault": "truncated"}))
    assert completion.finish_reason == "length"
    assert sound.startswith(half)
    assert half != sound
    assert (await ask(scripted({"fault": "truncated", "text": "ab"})))[0] == "a"
    dirty, _ = await ask(scripted({"fault": "control_characters"}))
    assert "\x1b[2J" in dirty
    assert "\x00" in dirty
    assert "\x1b" not in clean(dirty)


async def test_faults_in_json() -> None:
    asked = request("A short source.", schema=DELTA)
    text, _ = await ask(scripted({"fault": "invalid_json"}), asked)
    with pytest.raises(ValueError):
        json.loads(text)
    text, _ = await ask(scripted({"fault": "wrong_shape"}), asked)
    json.loads(text)
    with pytest.raises(ValidationError):
        TurnDelta.model_validate_json(text)
    text, _ = await ask(scripted({"fault": "bloated_json"}), asked)
    TurnDelta.model_validate_json(text)
    assert len(text) > 10_000
    text, _ = await ask(scripted({"fault": "control_characters"}), asked)
    assert any("\x1b" in lock for lock in TurnDelta.model_validate_json(text).canon_locks)


async def test_hanging_lasts_until_the_time_out_of_the_request() -> None:
    await fail(scripted({"fault": "hang"}), ErrorCode.LLM_TIMEOUT, request(timeout=0.05))
    slow = scripted({"text": "a b", "first_token": 60})
    await fail(slow, ErrorCode.LLM_TIMEOUT, request(timeout=0.05))
    slow = scripted({"text": "a b"}, pace={"between_tokens": 60})
    await fail(slow, ErrorCode.LLM_TIMEOUT, request(timeout=0.05))


async def test_retry_after_is_named() -> None:
    provider = scripted({"fault": "rate_limited", "retry_after": 7, "times": 1}, {"fault": "rate_limited"})
    assert (await fail(provider, ErrorCode.LLM_RATE_LIMITED)).retry_after == 7
    assert (await fail(provider, ErrorCode.LLM_RATE_LIMITED)).retry_after == 1


async def test_entries_match_by_schema_and_by_text() -> None:
    provider = scripted(
        {"text": "anything else"},
        {"match": {"schema": "turn_delta"}, "payload": {"memory_type": "turn_delta"}},
        {"match": {"last": "lantern", "anywhere": "You are Mira"}, "text": "I lift it."},
        {"match": {"schema": "text", "model": "other"}, "text": "another model"},
    )
    assert (await ask(provider, request(schema=TINY_SCHEMA)))[0] == '{"memory_type": "turn_delta"}'
    assert (await ask(provider, request("the lantern")))[0] == "I lift it."
    assert (await ask(provider, request("the lamp")))[0] == "anything else"
    assert (await ask(provider, request(model="other")))[0] == "another model"
    other_slot = (ChatMessage("system", "You are Tam."), ChatMessage("user", "the lantern"))
    assert (await ask(provider, request(messages=other_slot)))[0] == "anything else"


async def test_what_is_played_survives_a_restart() -> None:
    entries: list[dict[str, object]] = [{"text": f"reply {number}"} for number in range(5)]
    prompts = [f"prompt {number}" for number in range(12)]
    whole = scripted(*entries)
    expected = [(await ask(whole, request(prompt)))[0] for prompt in prompts]
    assert len(set(expected)) > 1
    assert [(await ask(scripted(*entries), request(prompt)))[0] for prompt in prompts] == expected


async def test_a_sequence_goes_round() -> None:
    provider = scripted({"text": "one"}, {"text": "two"}, order="sequence")
    assert [(await ask(provider))[0] for _ in range(3)] == ["one", "two", "one"]


async def test_faults_on_the_nth_call() -> None:
    provider = scripted({"fault": "server_error", "calls": [2]}, {"text": "fine"})
    assert (await ask(provider))[0] == "fine"
    await fail(provider, ErrorCode.LLM_SERVER_ERROR)
    assert (await ask(provider))[0] == "fine"


async def test_before_the_first_piece_there_is_its_own_pause_and_the_other_one_between_two_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []

    async def wait(seconds: float, limit: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("core.providers.scripted.provider._wait", wait)
    await ask(scripted({"text": "one two three", "first_token": 3, "between_tokens": 2}))
    assert waited == [3, 2, 2]


async def test_the_text_is_streamed_in_pieces_that_join_to_it() -> None:
    text = "  Two  spaces,\n\nan empty line.\n"
    provider = scripted({"text": text})
    pieces = [item async for item in provider.stream(request())]
    assert len(pieces) > 4
    assert (await ask(provider))[0] == text


@pytest.mark.parametrize("name", ["script.toml", "script.json"])
async def test_files(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    toml, as_json = '[[reply]]\ntext = "from the file"\n', '{"reply": [{"text": "from the file"}]}'
    file.write_text(as_json if name.endswith("json") else toml)
    assert (await ask(ScriptedProvider.from_file(file)))[0] == "from the file"


@pytest.mark.parametrize(
    ("content", "words"),
    [("[[reply]\n", "line 1"), ('[[reply]]\nfalt = "cut"\n', "reply.0.falt"), ("\xff", "utf-8")],
)
def test_a_file_that_is_wrong_is_said(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "script.toml"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(StoryEngineError, match=words):
        load_script(file)
    with pytest.raises(StoryEngineError, match="No such file"):
        load_script(tmp_path / "absent.toml")


def test_blank_is_blank_in_any_order() -> None:
    assert is_blank("\u200b \u200b \u200d\n\ufeff")
    assert not is_blank("\u200b.\u200b")


async def test_the_tokens_of_a_call_are_a_quarter_of_its_characters() -> None:
    _, completion = await ask(scripted({"text": "abcdefgh"}), request("12345678"))
    sent = sum(len(message.content) for message in request("12345678").messages)
    assert completion.usage == Usage(sent // 4 + 1, 2)


def test_what_is_asked_for_is_part_of_the_fingerprint() -> None:
    asked = request("One")
    names = {fingerprint(replace(asked, schema=schema)) for schema in (None, LOCK, DELTA)}
    assert len(names) == 3
    assert fingerprint(asked) == fingerprint(request("One")) != fingerprint(request("Two"))


async def test_the_last_message_is_the_last_alone() -> None:
    provider = scripted({"match": {"last": "lantern"}, "text": "Light."}, {"text": "Dark."})
    beginning = ChatMessage("user", "the lantern")
    asked = replace(request("Who?"), messages=(beginning, ChatMessage("user", "Who is there?")))
    assert (await ask(provider, asked))[0] == "Dark."
    assert (await ask(provider, replace(asked, messages=(*asked.messages, beginning))))[0] == "Light."


def test_a_file_whose_brackets_are_too_deep_is_said(tmp_path: Path) -> None:
    file = tmp_path / "replies.json"
    file.write_text("[" * 100_000)
    with pytest.raises(StoryEngineError, match="too deep"):
        load_script(file)
