"""Messages by turns: what a strict service is sent, with every text in its place and nothing lost."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.providers.base import ChatMessage
from core.providers.openai.dialect import OPENING, bridged, must_alternate
from core.providers.openai.provider import OpenAIProvider
from tests.core.providers.asking import ask, request
from tests.http_faults import FaultServer

TEXTS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
MESSAGES = st.lists(
    st.builds(ChatMessage, st.sampled_from(["system", "user", "assistant"]), TEXTS), max_size=12
)


@given(MESSAGES)
def test_after_the_system_message_the_roles_take_turns_and_the_user_begins(
    messages: list[ChatMessage],
) -> None:
    roles = [message.role for message in bridged(messages)]
    turns = roles[1:] if roles[:1] == ["system"] else roles
    assert "system" not in turns
    assert all(role == ("user", "assistant")[number % 2] for number, role in enumerate(turns))


@given(MESSAGES)
def test_every_text_is_kept_in_its_order(messages: list[ChatMessage]) -> None:
    parts = [part for message in bridged(messages) for part in message.content.split("\n\n")]
    texts = [message.content for message in messages]
    if parts != texts:
        parts.remove(OPENING)
    assert parts == texts


@given(MESSAGES)
def test_bridging_twice_changes_nothing_more(messages: list[ChatMessage]) -> None:
    once = bridged(messages)
    assert bridged(once) == once


def test_what_is_said_first_by_the_assistant_gets_an_opening_of_the_user() -> None:
    messages = [
        ChatMessage("system", "Play."),
        ChatMessage("assistant", "What I remember."),
        ChatMessage("user", "Go on."),
    ]
    assert [(one.role, one.content) for one in bridged(messages)] == [
        ("system", "Play."),
        ("user", OPENING),
        ("assistant", "What I remember."),
        ("user", "Go on."),
    ]


@pytest.mark.parametrize(
    "roles", [("system", "user"), ("system", "user", "assistant", "user"), ("user",), ()]
)
def test_messages_that_take_turns_already_stay_as_they_are(roles: tuple[str, ...]) -> None:
    messages = tuple(ChatMessage(role, f"{role} {number}") for number, role in enumerate(roles))  # type: ignore[arg-type]  # of the parameters
    assert bridged(messages) == messages


@pytest.mark.parametrize(
    ("base_url", "model", "is_known"),
    [
        ("https://api.perplexity.ai", "sonar", True),
        ("https://api.anthropic.com/v1", "claude", True),
        ("https://api.anthropic.com.evil.example/v1", "claude", False),
        ("http://localhost:11434/v1", "gemma3:4b", True),
        ("http://localhost:11434/v1", "Mistral-7B-Instruct-v0.3", True),
        ("https://openrouter.ai/api/v1", "mistralai/mixtral-8x7b-instruct", True),
        ("http://localhost:8000/v1", "meta-llama/Llama-2-7b-chat-hf", True),
        ("http://localhost:8000/v1", "meta-llama/Llama-2.5", False),
        ("http://localhost:8000/v1", "llama3:8b", False),
        ("https://api.openai.com/v1", "gpt-5.2", False),
        ("http://localhost:8000/v1", "stigemma", False),
    ],
)
def test_what_is_known_of_a_service_counts_unless_it_is_set(
    base_url: str, model: str, is_known: bool
) -> None:
    assert must_alternate(None, base_url, model) is is_known
    assert must_alternate(True, base_url, model)
    assert not must_alternate(False, base_url, model)


TWO_IN_A_ROW = (
    ChatMessage("system", "Play."),
    ChatMessage("user", "What was."),
    ChatMessage("user", "What is."),
)


@pytest.mark.anyio
@pytest.mark.parametrize(("setting", "count"), [(True, 2), (False, 3), (None, 3)])
async def test_a_service_is_sent_turns_where_it_wants_them(
    server: FaultServer, setting: bool | None, count: int
) -> None:
    provider = OpenAIProvider(base_url=server.base_url, find_key=lambda: None, alternate_roles=setting)
    await ask(provider, request(messages=TWO_IN_A_ROW))
    await provider.aclose()
    [body] = server.bodies
    assert len(body["messages"]) == count
    assert body["messages"][-1]["content"].endswith("What is.")


@pytest.mark.anyio
async def test_today_s_messages_are_sent_byte_for_byte_either_way(
    server: FaultServer, make: Callable[..., OpenAIProvider]
) -> None:
    for model in ("gpt-5.2", "gemma3:4b"):
        await ask(make(), request(model=model))
    first, second = server.bodies
    assert first["messages"] == second["messages"]
