"""Several accounts at once: each has its own provider, limits and failures, and says what is its own."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.consent import Consent
from core.config.files.paths import Paths
from core.config.models.accounts import LOCAL, OWN, accounts_of
from core.config.models.assignments import ModelAssignments, choose_models
from core.config.sections import AccountSettings, AgentSettings, ProfileSettings
from core.domain.errors import ErrorCode, StoryEngineError
from core.domain.requests.request import Artifact, RequestState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.engine.kinds.test_call import make_test_call, new_test_call
from core.gateway.cancellation import Cancellation
from core.gateway.lanes import Lane, Lanes, lanes_of, said_of
from core.gateway.model_gateway import ModelGateway
from core.gateway.places import LanePlace
from core.providers.base import Completion, ModelRequest, ProviderError, TextDelta
from core.providers.scripted.provider import ScriptedProvider
from tests.core.gateway.test_rate_limits import SimulatedLoop
from tests.core.rooms.faulty_store import FaultyStore
from tests.core.rooms.simulation import active
from tests.core.values.sessions import NOW, SESSION_ID, choice, choices
from tests.http_faults import Body, FaultServer, Reply, error_reply, text_reply

pytestmark = pytest.mark.anyio

KEY = "sk-canary-99ee"
HEADER = "canary-header-55dd"


class Busy:
    """A provider that counts how many calls run at once; they go on when they are let."""

    name = "openai"
    base_url = None

    def __init__(self) -> None:
        self.running = self.most = self.closed = 0
        self.go_on = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go_on.wait()
            yield TextDelta("ready")
            yield Completion(finish_reason="stop", model=request.model)
        finally:
            self.running -= 1

    async def aclose(self) -> None:
        self.closed += 1


def at(account: str) -> ModelAssignments:
    """Every agent at one account."""
    return ModelAssignments({role: replace(choice(), account=account) for role in choices()})


async def artifact_of(gateway: ModelGateway) -> Artifact:
    result = await make_test_call(gateway, new_test_call(SESSION_ID, NOW), Cancellation())
    [artifact] = result.call_records.artifacts
    return artifact


# Limits


async def until_still() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (2, 2), (None, 5)])
async def test_an_account_is_called_as_often_at_once_as_it_may_be(concurrency: int | None, most: int) -> None:
    busy = Busy()
    lanes = {"work": Lane(lambda: busy, concurrency=concurrency)}
    gateway = ModelGateway(Busy(), at("work"), None, lambda: NOW, lanes=lanes)
    calls = [asyncio.create_task(artifact_of(gateway)) for _ in range(5)]
    await until_still()
    assert busy.running == most
    busy.go_on.set()
    artifacts = await asyncio.gather(*calls)
    assert (busy.most, [artifact.error_code for artifact in artifacts]) == (most, [None] * 5)


async def test_a_call_that_waits_for_its_place_can_be_cancelled_and_leaves_it_free() -> None:
    busy = Busy()
    gateway = ModelGateway(
        Busy(), at("work"), None, lambda: NOW, lanes={"work": Lane(lambda: busy, concurrency=1)}
    )
    first = asyncio.create_task(artifact_of(gateway))
    await until_still()
    cancellation = Cancellation()
    second = asyncio.create_task(make_test_call(gateway, new_test_call(SESSION_ID, NOW), cancellation))
    await until_still()
    cancellation.request()
    error = (await second).error
    assert error is not None
    assert error.code is ErrorCode.LLM_CANCELLED
    busy.go_on.set()
    assert (await first).error_code is None
    assert (await artifact_of(gateway)).error_code is None


def test_the_calls_of_all_agents_count_for_the_minute_of_their_account_and_for_no_other() -> None:
    async def play(lanes: Lanes, names: list[str]) -> None:
        for name in names:
            async with lanes[name].turn(LanePlace(0)):
                pass

    def seconds(names: list[str]) -> float:
        loop = SimulatedLoop()
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(play({name: Lane(Busy, requests_per_minute=10) for name in ("a", "b")}, names))
        return loop.now

    assert seconds(["a"] * 10 + ["b"] * 10) == 0.0
    assert seconds(["a"] * 11) == pytest.approx(60.0)
    assert seconds(["a"] * 21) == pytest.approx(120.0)


async def test_a_provider_is_made_at_the_first_call_once_and_released_when_it_was_made(
    tmp_path: Path,
) -> None:
    made: list[Busy] = []

    def make() -> Busy:
        made.append(Busy())
        made[-1].go_on.set()
        return made[-1]

    own = Busy()
    lanes = {"work": Lane(make), "idle": Lane(make)}
    gateway = ModelGateway(own, at("work"), None, lambda: NOW, lanes=lanes)
    assert not made
    for _ in range(2):
        await artifact_of(gateway)
    [busy] = made
    await gateway.aclose()
    assert (busy.closed, own.closed) == (1, 1)


def test_an_account_that_is_switched_off_and_the_profile_s_own_have_no_lane_of_their_own(
    tmp_path: Path,
) -> None:
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
    named = {
        "on": AccountSettings(base_url="https://one.example"),
        "off": AccountSettings(base_url="https://two.example", enabled=False),
    }
    for provider, names in (("openai", {"on", LOCAL}), ("local", {"on"}), ("scripted", set())):
        profile = ProfileSettings.model_validate({"provider": provider})
        accounts = accounts_of(profile, "local", named)
        assert set(lanes_of(accounts, paths, choose_models(profile, accounts))) == names


# Words


def test_a_failure_says_which_account_it_is_of_and_names_its_settings() -> None:
    error = ProviderError(
        ErrorCode.LLM_AUTH_ERROR,
        "Refused.",
        hint="Set STORYENGINE_API_KEY, STORYENGINE_BASE_URL, or use `storyengine model key`.",
        retry_after=3.0,
    )
    said = said_of("work", error)
    assert isinstance(said, ProviderError)
    assert (said.code, said.message, said.retry_after) == (error.code, "work: Refused.", 3.0)
    assert said.hint == (
        "Set STORYENGINE_ACCOUNTS__WORK__API_KEY, STORYENGINE_ACCOUNTS__WORK__BASE_URL, or use "
        "`storyengine model key work`."
    )
    assert said_of(OWN, error) is error
    assert said_of(LOCAL, error) is error
    cancelled = StoryEngineError(ErrorCode.LLM_CANCELLED)
    assert said_of("work", cancelled) is cancelled


# Over HTTP


class Services:
    """Services of this machine, each an account, and an engine whose characters are spread over them."""

    def __init__(self, servers: Mapping[str, FaultServer], tmp_path: Path) -> None:
        self.servers = servers
        self._paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
        self.named = {
            name: AccountSettings(
                base_url=server.base_url,
                api_key=SecretStr(f"{KEY}-{name}"),
                headers={"X-Canary": SecretStr(f"{HEADER}-{name}")},
            )
            for name, server in servers.items()
        }

    def parts(self, **models: str) -> tuple[ModelAssignments, Lanes]:
        """Return choices with a model for each slot that is named, and the lanes to every account."""
        profile = ProfileSettings(
            provider="local",
            characters={
                Slot[name.upper()].value: AgentSettings(model=model) for name, model in models.items()
            },
        )
        accounts = accounts_of(profile, "local", self.named)
        found = choose_models(profile, accounts)
        return found, lanes_of(accounts, self._paths, found)

    @asynccontextmanager
    async def engine(self, store: FaultyStore, **models: str) -> AsyncIterator[Engine]:
        found, lanes = self.parts(**models)
        engine = Engine(store, ScriptedProvider(), found, label="here", lanes=lanes)
        try:
            yield engine
        finally:
            await engine.aclose()


@pytest.fixture
async def services(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Services]:
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(FaultServer()) for name in ("one", "two")}
        yield Services(servers, tmp_path)


async def test_one_account_is_down_and_the_characters_of_the_other_go_on(
    services: Services, tmp_path: Path
) -> None:
    store = FaultyStore(active().snapshot)
    services.servers["one"].default = lambda _: error_reply(503, "overloaded")
    async with services.engine(store, red="one:big", orange="two:llama3:8b") as engine:
        session = await engine.open(store.snapshot.session.id)
        failed = await session.wait(await session.submit_prompt(Slot.RED, "Who is there?"))
        assert failed.state is RequestState.FAILED
        assert failed.error_message.startswith("one: The model's service failed")
        await session.cancel(failed.id)
        done = await session.wait(await session.submit_prompt(Slot.ORANGE, "Who is there?"))
        assert done.state is RequestState.DONE
        services.servers["one"].default = lambda _: text_reply("I am back.")
        back = await session.wait(await session.submit_prompt(Slot.RED, "And now?"))
        assert back.state is RequestState.DONE
        await session.aclose()
    artifacts = await store.calls.artifacts(store.snapshot.session.id)
    labels = [(artifact.agent_id, artifact.provider, artifact.model) for artifact in artifacts]
    assert labels[-3:] == [
        (1, "openai", "one:big"),
        (2, "openai", "two:test-model"),
        (1, "openai", "one:test-model"),
    ]
    assert [body["model"] for body in services.servers["two"].bodies] == ["llama3:8b"]


async def test_another_take_is_written_by_a_model_of_another_account(services: Services) -> None:
    store = FaultyStore(active().snapshot)
    services.named["two"] = services.named["two"].model_copy(update={"token_limit": 16_000})
    services.servers["two"].default = lambda _: text_reply("By the other.")
    async with services.engine(store, red="one:big") as engine:
        session = await engine.open(store.snapshot.session.id)
        await session.wait(await session.submit_prompt(Slot.RED, "Who is there?"))
        again = await session.wait(await session.takes.reroll(model="two:qwen2.5:0.5b"))
        assert again.state is RequestState.DONE, again.error_message
        assert (await session.reads.canon())[-1].text == "By the other."
        await session.wait(await session.submit_prompt(Slot.RED, "And now?"))
        await session.aclose()
    full, small = services.servers["one"].bodies[0], services.servers["two"].bodies[0]
    assert small["model"] == "qwen2.5:0.5b"
    # Its input is written in the style of that model, and not of the one that answers otherwise.
    assert len(str(small["messages"][0])) < len(str(full["messages"][0]))
    assert [body["model"] for body in services.servers["one"].bodies] == ["big", "big"]


async def test_another_take_by_an_account_that_is_switched_off_says_so(services: Services) -> None:
    store = FaultyStore(active().snapshot)
    services.named["two"] = services.named["two"].model_copy(update={"enabled": False})
    async with services.engine(store, red="one:big") as engine:
        session = await engine.open(store.snapshot.session.id)
        await session.wait(await session.submit_prompt(Slot.RED, "Who is there?"))
        refused = await session.wait(await session.takes.reroll(model="two:small"))
        await session.aclose()
    assert refused.state is RequestState.FAILED
    assert refused.error_message.startswith("The account two, which this call is set to use, is switched off")
    assert not services.servers["two"].bodies


async def test_a_call_to_one_account_that_hangs_keeps_nobody_at_the_other_waiting(services: Services) -> None:
    held = asyncio.Event()
    services.servers["one"].default = lambda _: Reply((held,))
    found, lanes = services.parts(red="one:big", orange="two:small")
    gateway = ModelGateway(ScriptedProvider(), found, None, lambda: NOW, lanes=lanes)
    by_slot = {slot: ModelAssignments({role: found.of(role, slot) for role in found}) for slot in Slot}
    hanging = asyncio.create_task(
        artifact_of(ModelGateway(ScriptedProvider(), by_slot[Slot.RED], None, lambda: NOW, lanes=lanes))
    )
    await services.servers["one"].arrived()
    other = ModelGateway(ScriptedProvider(), by_slot[Slot.ORANGE], None, lambda: NOW, lanes=lanes)
    assert (await artifact_of(other)).error_code is None
    assert not hanging.done()
    held.set()
    await hanging
    await gateway.aclose()


async def test_each_account_is_sent_its_own_key_and_headers_and_no_other_s(services: Services) -> None:
    for name, server in services.servers.items():
        found, lanes = services.parts(red=f"{name}:m")
        of_red = ModelAssignments({role: found.of(role, Slot.RED) for role in found})
        gateway = ModelGateway(ScriptedProvider(), of_red, None, lambda: NOW, lanes=lanes)
        await artifact_of(gateway)
        await gateway.aclose()
        [sent] = server.requests
        assert sent.headers["authorization"] == f"Bearer {KEY}-{name}"
        assert sent.headers["x-canary"] == f"{HEADER}-{name}"
        assert sent.headers["user-agent"] == "storyengine"


async def test_no_key_and_no_header_of_an_account_gets_into_a_log_an_artifact_or_an_error(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    def echo(_: Body) -> Reply:
        return error_reply(400, f"no: {KEY}-one with {HEADER}-one")

    services.servers["one"].default = echo
    caplog.set_level(logging.DEBUG)
    found, lanes = services.parts(red="one:m")
    of_red = ModelAssignments({role: found.of(role, Slot.RED) for role in found})
    gateway = ModelGateway(ScriptedProvider(), of_red, None, lambda: NOW, lanes=lanes)
    artifact = await artifact_of(gateway)
    await gateway.aclose()
    assert "[header]" in artifact.error_message
    seen = f"{artifact!r} {caplog.text} {lanes!r} {found!r}"
    assert KEY not in seen
    assert HEADER not in seen


async def test_consent_is_asked_for_the_address_of_the_account_that_is_called(tmp_path: Path) -> None:
    class Far(Busy):
        base_url = "https://far.example/v1"  # type: ignore[assignment]  # of a service elsewhere

    far, consent = Far(), Consent((), tmp_path / "consent.json")
    far.go_on.set()
    consent.grant("https://near.example/v1")
    gateway = ModelGateway(Busy(), at("far"), consent, lambda: NOW, lanes={"far": Lane(lambda: far)})
    refused = await artifact_of(gateway)
    assert refused.error_code is ErrorCode.CONSENT_REQUIRED
    assert "https://far.example/v1" in refused.error_message
    assert not far.most
    consent.grant("https://far.example/v1")
    assert (await artifact_of(gateway)).error_code is None
