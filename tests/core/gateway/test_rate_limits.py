"""Every agent that calls a service has a limit that stops a fault and disturbs no play, in simulated time."""

import asyncio
import selectors
from collections.abc import Coroutine, Sequence

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.assignments import choose_models, defaults_for
from core.config.models.model_defaults import DEFAULT_LIMITS
from core.config.sections import AccountSettings, AgentSettings, ProfileSettings
from core.domain.agent_role import AgentRole
from core.gateway.lanes import Lane
from core.gateway.places import LanePlace
from core.gateway.rates import MinuteLimit, RateLimiter
from core.providers.scripted.provider import ScriptedProvider

AGENT_IDS = {
    AgentRole.WORLD_LOCK: (0,),
    AgentRole.CHARACTER: tuple(range(1, 8)),
    AgentRole.CONTEXT_SUMMARY: (8,),
    AgentRole.NARRATIVE: (9,),
}
FASTEST_REPLY = 0.25
"""Seconds of the fastest service known for a short reply, network included."""
FASTEST_PART = 0.5
"""Seconds for a part of a narrative, or for a memory."""


class SimulatedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to whatever is due next."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jump(self))

    def time(self) -> float:
        return self.now


class _Jump(selectors.SelectSelector):
    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.now += timeout or 0.0
        return super().select(0)


def seconds_of(work: Coroutine[object, object, None]) -> float:
    """Run `work` in simulated time, and return how long it took there."""
    loop = SimulatedLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(work)
    return loop.now


async def call(limiter: RateLimiter, calls: Sequence[tuple[AgentRole, int, float]]) -> None:
    for role, agent_id, seconds in calls:
        await limiter.wait(role, agent_id)
        await asyncio.sleep(seconds)


@pytest.mark.parametrize("role", AgentRole)
def test_every_agent_of_a_service_has_a_limit_and_none_that_stays_on_this_machine(role: AgentRole) -> None:
    service = choose_models(ProfileSettings(provider="openai"))
    for agent_id in AGENT_IDS[role]:
        assert service.of(role, agent_id).requests_per_minute == DEFAULT_LIMITS[role]
    assert defaults_for("local")[role].requests_per_minute is None
    assert defaults_for("scripted")[role].requests_per_minute is None


def test_a_play_on_the_fastest_service_never_waits() -> None:
    """Two hundred chapters of 70 prompts, one after the other; every memory is asked for twice."""
    chapter: list[tuple[AgentRole, int, float]] = [(AgentRole.WORLD_LOCK, 0, FASTEST_PART)] * 2
    for index in range(70):
        chapter.append((AgentRole.CHARACTER, index % 7 + 1, FASTEST_REPLY))
        if index % 7 == 6:
            chapter += [(AgentRole.CONTEXT_SUMMARY, 8, FASTEST_REPLY)] * 2
    chapter += [(AgentRole.NARRATIVE, 9, FASTEST_PART)] * 20
    calls = chapter * 200
    limiter = RateLimiter(choose_models(ProfileSettings(provider="openai")))
    assert seconds_of(call(limiter, calls)) == pytest.approx(sum(seconds for *_, seconds in calls))


@pytest.mark.parametrize("role", AgentRole)
def test_a_fault_that_calls_without_end_is_held_to_the_limit(role: AgentRole) -> None:
    limiter = RateLimiter(choose_models(ProfileSettings(provider="openai")))
    agents = AGENT_IDS[role]
    minutes = 5
    calls = [
        (role, agents[number % len(agents)], 0.0) for number in range(DEFAULT_LIMITS[role] * minutes + 1)
    ]
    assert seconds_of(call(limiter, calls)) == pytest.approx(60.0 * minutes)


def test_a_limit_in_the_settings_takes_the_place_of_the_default() -> None:
    profile = ProfileSettings(
        provider="openai",
        character=AgentSettings(requests_per_minute=20),
        narrative=AgentSettings(requests_per_minute=1_000_000),
    )
    limiter = RateLimiter(choose_models(profile))
    assert seconds_of(call(limiter, [(AgentRole.CHARACTER, 1, 0.0)] * 21)) == pytest.approx(60.0)
    assert seconds_of(call(limiter, [(AgentRole.NARRATIVE, 9, 0.0)] * 999)) == 0.0


def test_characters_at_two_accounts_do_not_share_the_limit_of_their_role() -> None:
    profile = ProfileSettings(
        provider="openai",
        character=AgentSettings(requests_per_minute=10),
        characters={1: AgentSettings(model="work:m", requests_per_minute=10), 2: AgentSettings(timeout=9)},
    )
    accounts = accounts_of(profile, "local", {"work": AccountSettings(base_url="https://far.example")})
    limiter = RateLimiter(choose_models(profile, accounts))
    red, orange, yellow = ([(AgentRole.CHARACTER, slot, 0.0)] for slot in (1, 2, 3))
    assert seconds_of(call(limiter, red * 10 + orange * 5 + yellow * 5)) == 0.0
    assert seconds_of(call(limiter, orange * 1)) == pytest.approx(60.0)


BESIDE, OF_PLAY = LanePlace(5, yield_place=lambda: None), LanePlace(0)


def begun_at(limit: int, *calls: tuple[float, LanePlace]) -> list[tuple[int, int]]:
    """Return the numbers of calls in the order in which they begin, and when; each comes at its time."""
    begun: list[tuple[int, int]] = []
    lane = Lane(ScriptedProvider, requests_per_minute=limit)

    async def begin(number: int, after: float, place: LanePlace) -> None:
        await asyncio.sleep(after)
        async with lane.turn(place):
            begun.append((number, round(asyncio.get_running_loop().time())))

    async def all_of_them() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number, one in enumerate(calls):
                tasks.create_task(begin(number, *one))

    seconds_of(all_of_them())
    return begun


def test_a_prompt_that_waits_for_the_limit_of_its_account_goes_before_work_beside_the_play() -> None:
    calls = [(0.0, BESIDE), (10.0, BESIDE), (20.0, OF_PLAY), (30.0, BESIDE)]
    assert begun_at(1, *calls) == [(0, 0), (2, 60), (1, 120), (3, 180)]


def test_work_beside_the_play_leaves_a_quarter_of_the_limit_of_its_account_to_prompts() -> None:
    work = [(0.0, BESIDE)] * 4
    begun = begun_at(4, *work, (10.0, OF_PLAY), (20.0, OF_PLAY))
    assert begun == [(0, 0), (1, 0), (2, 0), (4, 10), (5, 60), (3, 60)]


def test_a_call_of_a_higher_limit_does_not_wait_behind_one_of_a_lower_limit() -> None:
    begun: list[tuple[int, float]] = []

    async def begin(limit: MinuteLimit, most: int) -> None:
        await limit.wait(most)
        begun.append((most, asyncio.get_running_loop().time()))

    async def all_of_them() -> None:
        limit = MinuteLimit()
        async with asyncio.TaskGroup() as tasks:
            for most in (1, 1, 3):
                tasks.create_task(begin(limit, most))

    seconds_of(all_of_them())
    assert begun == [(1, 0.0), (3, 0.0), (1, 60.0)]
