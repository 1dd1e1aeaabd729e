"""The way to one account: its provider, how many calls it takes, and how many a minute (design 8 and 18).

Accounts share nothing: where one is down, slow or at its limit, the calls to another go on.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import Final

from core.config.files.paths import Paths
from core.config.models.accounts import LOCAL, OWN, Account, Accounts, setting_of_account
from core.config.models.assignments import ModelAssignments
from core.domain.errors import StoryEngineError
from core.domain.ids import RequestId
from core.domain.requests.request import Request
from core.gateway.places import LanePlace, Places
from core.gateway.rates import AskAll, MinuteLimit
from core.providers.base import Provider, ProviderError
from core.storage.queue_store import SharedLanes, SharedPlaces

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 2.0
"""Seconds after which a call that waits asks again, in case no window told it of a free place."""
LEAVE_SECONDS: Final = 10.0
"""Seconds for which a call waits until the place of the call before it is left; a server may not answer."""


class SharedLane:
    """Lets a call begin only when the account takes it, counting the calls of every window."""

    def __init__(self, account: str, most: int, places: SharedPlaces) -> None:
        self._account, self._most, self._places = account, most, places
        self._free = asyncio.Event()
        self._of_play: set[RequestId] = set()
        """Calls of the play that wait here. Work beside the play does not ask while there is one: it has just
        made room for it, and would have the place again before the database knows who wants it."""
        self._leaving: dict[asyncio.Task[None], RequestId] = {}
        """Places that are being left. The next call of a request waits, as its place has the same key."""

    def wake(self) -> None:
        """Ask again: a place may be free."""
        self._free.set()

    @asynccontextmanager
    async def held(self, request: Request) -> AsyncIterator[None]:
        """Wait for a place, and hold it until the block ends."""
        if not request.spec.is_background:
            self._of_play.add(request.id)
        try:
            try:
                if leaving := [task for task, of in self._leaving.items() if of == request.id]:
                    await asyncio.wait(leaving, timeout=LEAVE_SECONDS)
                await self._until_taken(request)
            finally:
                self._no_longer_waits(request)
            yield
        finally:
            # In a task of its own: a call that is stopped does not wait for the database.
            task = asyncio.create_task(self._leave(request), name="leave a place")
            self._leaving[task] = request.id
            task.add_done_callback(self._leaving.pop)

    async def aclose(self) -> None:
        """Wait until all places are left."""
        if self._leaving:
            await asyncio.wait(set(self._leaving))

    async def _until_taken(self, request: Request) -> None:
        while True:
            self._free.clear()
            try:
                if self._may_ask(request) and await self._places.take_place(
                    self._account, self._most, request
                ):
                    return
            except StoryEngineError as error:
                # Without the database the limit of this window holds alone; that is better than no play.
                log.warning("the places of %s cannot be counted", self._account, exc_info=error)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._free.wait()

    def _may_ask(self, request: Request) -> bool:
        return not (self._of_play and request.spec.is_background)

    def _no_longer_waits(self, request: Request) -> None:
        if request.id in self._of_play:
            self._of_play.remove(request.id)
            self.wake()

    async def _leave(self, request: Request) -> None:
        try:
            await self._places.leave_place(self._account, request)
            self.wake()  # the database tells this window as well, a moment later
        except StoryEngineError as error:
            # The place counts no longer once the request is settled.
            log.warning("a place of %s could not be left", self._account, exc_info=error)


class Lane:
    """The calls to one account pass here; its provider is made at the first one."""

    def __init__(
        self,
        make: Callable[[], Provider],
        *,
        concurrency: int | None = None,
        requests_per_minute: int | None = None,
    ) -> None:
        """Make the lane; it takes `concurrency` calls at a time, and any number where that is None."""
        self._make = make
        self._provider: Provider | None = None
        self._most, self._places = concurrency, Places(concurrency)
        self._shared: SharedLane | None = None
        self._per_minute = requests_per_minute
        self._limit = MinuteLimit()
        self._ask_all: AskAll | None = None

    @classmethod
    def to(cls, provider: Provider) -> "Lane":
        """Return the lane to a provider that is made already."""
        lane = cls(lambda: provider)
        lane._provider = provider
        lane._places = Places(None, one_for_background=provider.name == LOCAL)
        return lane

    @property
    def provider(self) -> Provider:
        """The provider of the account. Raises StoryEngineError when its address or script cannot be used."""
        if self._provider is None:
            self._provider = self._make()
        return self._provider

    @asynccontextmanager
    async def turn(self, place: LanePlace, request: Request | None = None) -> AsyncIterator[None]:
        """Wait until a call may begin, and hold its place until the block ends.

        For a request, the calls of other windows count too where the lane is shared with them.
        """
        shared = nullcontext() if self._shared is None or request is None else self._shared.held(request)
        if self._shared is not None and request is not None:
            self._places.make_room_for(place)  # at once: what the database says to that comes by a detour
        # The place of all windows first: a call that waits there holds none here that another could have.
        async with shared, self._places.held(place):
            if self._per_minute is not None:
                await self._limit.wait(
                    self._per_minute, is_background=place.is_background, ask_all=self._ask_all
                )
            yield

    def share(self, account: str, lanes: SharedLanes) -> None:
        """Count the calls of all windows from now on, where the account takes only so many."""
        if self._most is not None:
            self._shared = SharedLane(account, self._most, lanes)
        self._ask_all = partial(lanes.begin_call, account)

    def wake(self) -> None:
        """Let calls that wait for another window ask again."""
        if self._shared is not None:
            self._shared.wake()

    async def aclose(self) -> None:
        """Release the provider, if there is one."""
        if self._shared is not None:
            await self._shared.aclose()
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.aclose()


Lanes = Mapping[str, Lane]
"""The lanes by the names of their accounts."""


def lanes_of(accounts: Accounts, paths: Paths, choices: ModelAssignments) -> dict[str, Lane]:
    """Return a lane for every account that has a name; that of the profile's own is the engine's provider."""
    return {
        name: _lane(account, paths, choices)
        for name, account in accounts.named.items()
        if account.name != OWN and account.is_enabled
    }


def _lane(account: Account, paths: Paths, choices: ModelAssignments) -> Lane:
    # When it is first wanted: most installations call one account, and making a provider takes time.
    def make() -> Provider:
        from core.providers.factory import make_provider

        return make_provider(account, paths, choices)

    return Lane(make, concurrency=account.concurrency, requests_per_minute=account.requests_per_minute)


def said_of(account: str, error: StoryEngineError) -> StoryEngineError:
    """Return `error` as it is told where several accounts are called: with the account's name and settings.

    A provider knows nothing of accounts, and names the settings of the profile.
    """
    if account in (OWN, LOCAL) or not isinstance(error, ProviderError):
        return error
    hint = error.hint.replace("`storyengine model key`", f"`storyengine model key {account}`")
    for name in ("api_key", "base_url"):
        hint = hint.replace(setting_of_account(OWN, name), setting_of_account(account, name))
    return ProviderError(
        error.code,
        f"{account}: {error.message}",
        hint=hint,
        retry_after=error.retry_after,
        usage=error.usage,
        billed=error.billed,
        is_blank=error.is_blank,
        is_begun=error.is_begun,
    )
