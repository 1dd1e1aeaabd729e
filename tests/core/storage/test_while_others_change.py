"""Changes that other windows hinder are tried again, a limited number of times."""

import pytest

from core.domain.errors import ChangedElsewhereError
from core.storage.while_others_change import TRIES, while_others_change

pytestmark = pytest.mark.anyio


class Hindered:
    """A change that other windows hinder some times, and the state that it reads again."""

    def __init__(self, hindered: int) -> None:
        self.attempts, self.readings, self._hindered = 0, 0, hindered

    async def __call__(self) -> str:
        self.attempts += 1
        if self.attempts <= self._hindered:
            raise ChangedElsewhereError
        return "stored"

    async def read_again(self) -> None:
        self.readings += 1


@pytest.mark.parametrize("hindered", range(TRIES))
async def test_a_change_that_others_hinder_is_tried_again(hindered: int) -> None:
    change = Hindered(hindered)
    assert await while_others_change(change, change.read_again) == "stored"
    assert (change.attempts, change.readings) == (hindered + 1, hindered)


async def test_a_change_that_others_always_hinder_ends_and_says_so() -> None:
    change = Hindered(TRIES)
    with pytest.raises(ChangedElsewhereError):
        await while_others_change(change)
    assert change.attempts == TRIES


async def test_a_change_is_not_tried_again_where_its_reading_does_not_want_it() -> None:
    async def refuse() -> None:
        raise ChangedElsewhereError

    change = Hindered(1)
    with pytest.raises(ChangedElsewhereError):
        await while_others_change(change, refuse)
    assert change.attempts == 1
