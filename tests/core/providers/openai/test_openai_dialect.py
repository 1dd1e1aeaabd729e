"""What is learned from a refusal, and what is sent afterwards: every service refuses in words of its own."""

import json
from dataclasses import replace
from typing import Any

import pytest

from core.config.models.model_config import Sampling
from core.providers.base import ChatMessage, ModelRequest
from core.providers.openai.dialect import Dialect, SchemaMode, adapted, parameters, refused_fields
from core.providers.openai.errors import ServiceFault
from tests.core.providers.asking import TINY_SCHEMA, request

ASKED = request(temperature=0.5, stop=("GM:",), schema=TINY_SCHEMA)
PLAIN = request()
REFUSED = ServiceFault(status=400, message="Unsupported parameter: 'temperature'")


def refusal(words: str, param: str = "") -> ServiceFault:
    return ServiceFault(status=400, param=param, message=words)


@pytest.mark.parametrize("status", [400, 404, 422, 501])
def test_a_refusal_with_one_of_these_statuses_is_learned_from(status: int) -> None:
    changed = adapted(Dialect(), replace(REFUSED, status=status), ASKED)
    assert changed == Dialect(takes_temperature=False)


@pytest.mark.parametrize("status", [None, 200, 401, 402, 403, 405, 408, 429, 500, 502, 503])
def test_no_other_status_is_a_refusal_of_a_field(status: int | None) -> None:
    assert adapted(Dialect(), replace(REFUSED, status=status), ASKED) is None


@pytest.mark.parametrize(
    ("fault", "learned"),
    [
        (refusal("Unknown field stream_options"), Dialect(takes_stream_options=False)),
        (refusal("include_usage is not permitted"), Dialect(takes_stream_options=False)),
        (refusal("not supported", param="stop"), Dialect(takes_stop=False)),
        (refusal("Unrecognized request argument: max_tokens"), Dialect(cap_field="max_completion_tokens")),
        (refusal("response_format is unavailable"), Dialect(schema_mode=SchemaMode.JSON_OBJECT)),
        (refusal("Grammar error"), Dialect(schema_mode=SchemaMode.JSON_OBJECT)),
        (
            refusal("Unknown name 'const' at 'generation_config.response_schema': Cannot find field."),
            Dialect(schema_mode=SchemaMode.JSON_OBJECT),
        ),
        (
            refusal("The specified schema produces a constraint that has too many states for serving."),
            Dialect(schema_mode=SchemaMode.JSON_OBJECT),
        ),
        (
            ServiceFault(status=400, code="json_validate_failed", message="Failed to generate JSON."),
            Dialect(schema_mode=SchemaMode.NOTE),
        ),
        (refusal("`temperature` is deprecated for this model."), Dialect(takes_temperature=False)),
        (refusal("invalid temperature: only 1 is allowed"), Dialect(takes_temperature=False)),
        (refusal("`temperature` may only be set to 1"), Dialect(takes_temperature=False)),
    ],
)
def test_the_field_that_is_named_is_left_out_the_next_time(fault: ServiceFault, learned: Dialect) -> None:
    assert adapted(Dialect(), fault, ASKED) == learned


@pytest.mark.parametrize(
    "words",
    [
        "temperature is too high",  # no word of refusing
        "unsupported value",  # no field
        "unsupported: top_p",  # a field that is not sent
        "unsupported: stopwords",  # not the field, only its beginning
    ],
)
def test_what_names_no_field_or_refuses_none_teaches_nothing(words: str) -> None:
    assert adapted(Dialect(), refusal(words), ASKED) is None


@pytest.mark.parametrize("field", ["temperature", "stop", "response_format"])
def test_a_field_that_was_not_sent_cannot_have_been_refused(field: str) -> None:
    assert adapted(Dialect(), refusal(f"unsupported: {field}"), PLAIN) is None


@pytest.mark.parametrize(
    ("dialect", "field"),
    [
        (Dialect(takes_stream_options=False), "stream_options"),
        (Dialect(takes_temperature=False), "temperature"),
        (Dialect(takes_stop=False), "stop"),
        (Dialect(schema_mode=SchemaMode.NOTE), "response_format"),
    ],
)
def test_a_field_that_is_left_out_already_is_not_left_out_again(dialect: Dialect, field: str) -> None:
    assert adapted(dialect, refusal(f"unsupported: {field}"), ASKED) is None


def test_the_name_of_the_cap_is_changed_both_ways() -> None:
    words = refusal("max_completion_tokens is not supported")
    assert adapted(Dialect(cap_field="max_completion_tokens"), words, PLAIN) == Dialect()
    assert adapted(Dialect(cap_field="max_completion_tokens"), refusal("unknown: max_tokens"), PLAIN) is None


def test_json_is_asked_for_ever_less_strictly_and_last_in_words() -> None:
    dialect, modes = Dialect(), []
    while (simpler := adapted(dialect, refusal("unsupported: response_format"), ASKED)) is not None:
        dialect = simpler
        modes.append(dialect.schema_mode)
    assert modes == [SchemaMode.JSON_OBJECT, SchemaMode.NOTE]


@pytest.mark.parametrize(
    ("dialect", "refused"),
    [
        (Dialect(), ()),
        (Dialect(takes_stream_options=False, cap_field="max_completion_tokens"), ()),
        (Dialect(takes_temperature=False), ("temperature",)),
        (Dialect(takes_stop=False), ("stop",)),
        (Dialect(schema_mode=SchemaMode.JSON_OBJECT), ("json_schema",)),
        (Dialect.of("o4-mini"), ("temperature", "stop")),
    ],
)
def test_what_was_asked_for_and_is_not_sent_is_named(dialect: Dialect, refused: tuple[str, ...]) -> None:
    assert refused_fields(ASKED, dialect) == refused
    assert refused_fields(PLAIN, dialect) == (), "what nobody asked for is not missed"


def sent(asked: ModelRequest, mode: SchemaMode = SchemaMode.JSON_SCHEMA) -> dict[str, Any]:
    return parameters(asked, Dialect(schema_mode=mode))


def test_everything_that_was_asked_for_is_sent_where_nothing_is_known_of_the_model() -> None:
    assert sent(ASKED) == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "You are Mira."},
            {"role": "user", "content": "The door opens."},
        ],
        "max_tokens": 100,
        "temperature": 0.5,
        "stop": ["GM:"],
        "stream_options": {"include_usage": True},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "turn_delta", "strict": True, "schema": dict(TINY_SCHEMA.schema)},
        },
    }


def test_a_temperature_of_nothing_is_sent() -> None:
    assert sent(request(temperature=0.0))["temperature"] == 0.0


def test_what_was_not_asked_for_is_not_sent() -> None:
    assert set(sent(PLAIN)) == {"model", "messages", "max_tokens", "stream_options"}


@pytest.mark.parametrize("mode", [SchemaMode.JSON_OBJECT, SchemaMode.NOTE])
def test_a_server_that_cannot_be_held_to_a_schema_is_told_it_in_words(mode: SchemaMode) -> None:
    fields = sent(ASKED, mode)
    told, prompt = fields["messages"]
    assert told["role"] == "system"
    assert told["content"].startswith("You are Mira.\n\n")
    assert json.dumps(TINY_SCHEMA.schema) in told["content"]
    assert prompt == {"role": "user", "content": "The door opens."}
    assert fields.get("response_format") == (
        {"type": "json_object"} if mode is SchemaMode.JSON_OBJECT else None
    )


def test_the_words_are_a_message_of_their_own_where_there_is_no_other_of_the_system() -> None:
    asked = replace(ASKED, messages=(ChatMessage("user", "The door opens."),))
    messages = sent(asked, SchemaMode.NOTE)["messages"]
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[1]["content"] == "The door opens."


WARM = request(sampling=Sampling(top_p=0.9, presence_penalty=0.6, min_p=0.05, dry_multiplier=0.8))


def test_a_service_is_sent_only_the_sampling_that_openai_knows() -> None:
    fields = parameters(WARM, Dialect.of("llama-70b"))
    assert {key: fields[key] for key in fields.keys() - sent(PLAIN).keys()} == {
        "top_p": 0.9,
        "presence_penalty": 0.6,
    }


def test_a_server_of_this_machine_is_sent_the_sampling_of_llama_cpp_too() -> None:
    dialect = Dialect.of("llama-70b", takes_llama_sampling=True)
    assert parameters(WARM, dialect)["extra_body"] == {"min_p": 0.05, "dry_multiplier": 0.8}
    assert "extra_body" not in parameters(PLAIN, dialect)


def test_a_reasoning_model_is_sent_no_sampling() -> None:
    assert set(parameters(WARM, Dialect.of("o4-mini"))) == set(parameters(PLAIN, Dialect.of("o4-mini")))


@pytest.mark.parametrize(
    ("words", "learned"),
    [
        ("Unrecognized request argument supplied: min_p", {"takes_llama_sampling": False}),
        ("extra inputs are not permitted: dry_multiplier", {"takes_llama_sampling": False}),
        ("presence_penalty is not supported", {"takes_openai_sampling": False}),
    ],
)
def test_sampling_that_is_refused_is_left_out_the_next_time(words: str, learned: dict[str, bool]) -> None:
    dialect = Dialect(takes_llama_sampling=True)
    changed = adapted(dialect, refusal(words), WARM)
    assert changed == replace(dialect, **learned)  # type: ignore[arg-type]  # a dict of flags
    assert adapted(changed, refusal(words), WARM) is None
    assert adapted(dialect, refusal(words), PLAIN) is None, "it was not sent"
