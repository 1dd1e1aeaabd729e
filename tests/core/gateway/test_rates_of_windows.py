"""Rates that the GM has set are shared by the windows of one database, in simulated time."""

import asyncio

import pytest

from core.config.models.accounts import accounts_of
from core.config.models.assignments import choose_models
from core.config.sections import AccountSettings, AgentSettings, ProfileSettings
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode, StorageError
from core.gateway.lanes import Lane
from core.gateway.places import LanePlace
from core.gateway.rates import ASK_SECONDS, REST_SECONDS, RateLimiter
from core.providers.scripted.provider import ScriptedProvider
from tests.core.gateway.test_rate_limits import seconds_of
from tests.store.in_memory.memory_queue import MemoryQueue, SharedQueue

OF_PLAY, BESIDE = LanePlace(0), LanePlace(5, yield_place=lambda: None)


def lane(queue: MemoryQueue, limit: int) -> Lane:
    """Return the way of one window to an account."""
    made = Lane(ScriptedProvider, requests_per_minute=limit)
    made.share("work", queue)
    return made


async def call(way: Lane, place: LanePlace = OF_PLAY) -> float:
    """Make a call, and return when it began."""
    async with way.turn(place):
        return asyncio.get_running_loop().time()


def test_the_calls_of_two_windows_count_for_the_minute_of_their_account() -> None:
    begun: list[float] = []

    async def play() -> None:
        shared = SharedQueue()
        ways = [lane(MemoryQueue(shared, {}), 4) for _ in range(2)]
        begun.extend(sorted(await asyncio.gather(*(call(way) for way in ways * 5))))

    seconds_of(play())
    assert [round(at) for at in begun] == [0] * 4 + [60] * 4 + [120] * 2


def test_work_beside_the_play_of_one_window_leaves_a_quarter_of_the_rate_to_prompts_of_another() -> None:
    begun: list[float] = []

    async def play() -> None:
        shared = SharedQueue()
        here, there = (lane(MemoryQueue(shared, {}), 4) for _ in range(2))
        work = [asyncio.create_task(call(here, BESIDE)) for _ in range(4)]
        await asyncio.sleep(1)  # of simulated time
        begun.append(await call(there))
        begun.extend(await asyncio.gather(*work))

    seconds_of(play())
    assert [round(at) for at in begun] == [1, 0, 0, 0, 60]


def test_a_prompt_goes_before_work_that_waits_for_calls_of_another_window() -> None:
    begun: dict[str, int] = {}

    async def play() -> None:
        shared = SharedQueue()
        here, there = (lane(MemoryQueue(shared, {}), 1) for _ in range(2))
        await call(there)

        async def one(name: str, place: LanePlace) -> None:
            begun[name] = round(await call(here, place))

        work = asyncio.create_task(one("work", BESIDE))
        await asyncio.sleep(1)  # of simulated time
        await asyncio.gather(work, one("prompt", OF_PLAY))

    seconds_of(play())
    assert begun == {"prompt": 60, "work": 120}


PROFILE = ProfileSettings(
    provider="openai",
    character=AgentSettings(requests_per_minute=10),
    characters={
        2: AgentSettings(requests_per_minute=5),
        3: AgentSettings(model="work:m", requests_per_minute=7),
    },
)
ACCOUNTS = accounts_of(PROFILE, "local", {"work": AccountSettings(base_url="https://far.example")})


@pytest.mark.parametrize(
    ("role", "agent_id", "names"),
    [
        (AgentRole.CHARACTER, 1, ["profile local character"]),
        (AgentRole.CHARACTER, 2, ["profile local 2"]),
        (AgentRole.CHARACTER, 3, ["work 3"]),
        (AgentRole.WORLD_LOCK, 0, []),
    ],
)
def test_an_agent_shares_the_rate_that_is_set_for_it_and_no_default(
    role: AgentRole, agent_id: int, names: list[str]
) -> None:
    shared = SharedQueue()
    limiter = RateLimiter(choose_models(PROFILE, ACCOUNTS), MemoryQueue(shared, {}))
    seconds_of(limiter.wait(role, agent_id))
    assert list(shared.begun) == names


class Silent(MemoryQueue):
    """A database that never answers, and whose connection takes a while to stop; or one that refuses."""

    def __init__(self, error: StorageError | None = None) -> None:
        super().__init__(SharedQueue(), {})
        self.error, self.asked, self.stopped = error, 0, 0

    async def begin_call(self, name: str, most: int) -> float:
        self.asked += 1
        if self.error is not None:
            raise self.error
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped += 1
            await asyncio.sleep(5.0)  # of simulated time
        return 0.0


@pytest.mark.parametrize("error", [None, StorageError(ErrorCode.STORAGE_LOAD_FAILED)])
def test_a_database_that_does_not_answer_holds_up_one_call_for_a_moment_and_the_next_ones_not_at_all(
    error: StorageError | None,
) -> None:
    queue, begun = Silent(error), list[float]()

    async def play() -> None:
        way = lane(queue, 3)
        for _ in range(3):
            begun.append(await call(way))
        await asyncio.sleep(REST_SECONDS)
        begun.append(await call(way))

    seconds_of(play())
    late = 0.0 if error else ASK_SECONDS
    assert begun == pytest.approx([late, late, late, 60.0 + late]), "the limit of this window holds alone"
    assert queue.asked == 2


def test_a_call_that_is_stopped_while_the_database_does_not_answer_ends_at_once() -> None:
    queue, ended = Silent(), list[float]()

    async def play() -> None:
        stopped = asyncio.create_task(call(lane(queue, 3)))
        await asyncio.sleep(1)  # of simulated time
        stopped.cancel()
        await asyncio.wait({stopped})
        ended.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0)
        assert queue.stopped == 1, "no question goes on"

    seconds_of(play())
    assert [round(at) for at in ended] == [1]


def test_a_call_that_other_windows_leave_no_room_for_counts_when_it_begins() -> None:
    begun: list[float] = []

    async def play() -> None:
        shared = SharedQueue()
        here, there = (lane(MemoryQueue(shared, {}), 1) for _ in range(2))
        await call(there)
        await asyncio.sleep(30)  # of simulated time
        begun.append(await call(here))

    seconds_of(play())
    assert [round(at) for at in begun] == [60]


def test_a_call_that_is_stopped_while_it_waits_holds_no_place() -> None:
    begun: list[float] = []

    async def play() -> None:
        shared = SharedQueue()
        here, there = (lane(MemoryQueue(shared, {}), 1) for _ in range(2))
        await call(there)
        stopped = asyncio.create_task(call(here))
        await asyncio.sleep(1)  # of simulated time
        stopped.cancel()
        await asyncio.wait({stopped})
        begun.extend([await call(there), await call(here)])

    seconds_of(play())
    assert [round(at) for at in begun] == [60, 120]
