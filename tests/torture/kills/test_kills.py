"""The kill matrix in short: a few points of every kind, drawn by a seed that is printed.

A play is killed in every run; the other kinds, all points and first starts by `make torture`.
"""

import os
import random
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.program import machine
from tests.torture.kills.kill_additions import kill_corrections, kill_test_calls
from tests.torture.kills.kill_bank import kill_bank
from tests.torture.kills.kill_beside import kill_beside
from tests.torture.kills.kill_commands import kill_commands, kill_resets
from tests.torture.kills.kill_library import kill_library
from tests.torture.kills.kill_matrix import KillFigures, Torturer, all_points, play_and_kill, script_points
from tests.torture.kills.kill_memory import kill_memory
from tests.torture.kills.kill_orders import Point, Victim
from tests.torture.kills.kill_purges import kill_purges
from tests.torture.kills.kill_scene import kill_private_memory, kill_scene
from tests.torture.kills.kill_storage import (
    kill_backups,
    kill_migrations,
    kill_migrations_of_chapters,
    kill_restores,
)
from tests.torture.kills.kill_takes import kill_takes
from tests.torture.kills.kill_typing import kill_typing
from tests.torture.kills.kill_unstored import kill_unstored

SEED = int(os.environ.get("STORYENGINE_TORTURE_SEED", "20261122"))


KILLS: dict[str, tuple[Callable[[Torturer, int], None], int]] = {
    "a correction that is killed is stored once or not at all": (kill_corrections, 1),
    "a test call that is killed is stored with its call or not at all": (kill_test_calls, 1),
    "a migration that is killed has made the whole schema or none": (kill_migrations, 1),
    "a migration that is killed leaves the chapters of either schema as they were": (
        kill_migrations_of_chapters,
        1,
    ),
    "a command that is killed has done all of it or nothing and can be given again": (kill_commands, 1),
    "a take or an undo that is killed is done whole or not at all": (kill_takes, 2),
    "a line a roll or a reveal that is killed is stored whole or not at all": (kill_scene, 2),
    "a chunk that is killed between its deltas goes on with the next one": (kill_private_memory, 2),
    "a prompt to several an addition and a queue that are killed are finished or given again": (
        kill_beside,
        4,
    ),
    "a memory bank that is read or changed when killed has each item once and with its proof": (kill_bank, 4),
    "paid answers that wait for a database that is gone when killed are stored by the next start": (
        kill_unstored,
        3,
    ),
    "a reset that is killed puts the chapter away whole or leaves it to be played on": (kill_resets, 1),
    "a deletion that is killed leaves the chapter whole or nothing of it": (kill_purges, 1),
    "a backup that is killed is whole or not there": (kill_backups, 1),
    "a restore that is killed leaves the one database or the other": (kill_restores, 1),
}
"""For each sentence about the product: the kills, and the number of points that are drawn of every kind."""


def held(figures: KillFigures, at_least: int) -> None:
    print(f"seed {SEED}; STORYENGINE_TORTURE_SEED sets another\n{figures}")
    assert len(figures.killed) >= at_least
    assert not figures.unreached
    assert (figures.lost, figures.typed_lost) == (0, 0)


@pytest.fixture(scope="module")
def torturer() -> Iterator[Torturer]:
    """A machine on which one thing after the other is killed."""
    with machine() as home:
        yield Torturer(home, SEED)


@pytest.mark.slow
def test_a_play_that_is_killed_at_named_steps_goes_on_with_nothing_lost_and_nothing_twice() -> None:
    figures = play_and_kill(all_points(SEED)[:3], SEED)
    held(figures, 3)
    assert figures.characters > 0


@pytest.mark.slow
def test_what_is_stored_in_the_library_when_killed_is_there_whole_or_not_at_all(torturer: Torturer) -> None:
    kill_library(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_long_chapter_that_is_killed_at_an_early_summary_goes_on_with_nothing_lost_or_asked_uncounted() -> (
    None
):
    points = [
        Point("early summary stored: under way", Victim.PROGRAM),
        Point("shortened reply streams: half of it came", Victim.ALL),
        Point("early summary wanted: after", Victim.POSTGRES),
    ]
    held(play_and_kill(points, SEED, is_long=True), 3)


@pytest.mark.torture
def test_old_memory_that_is_told_again_when_killed_is_there_whole_or_asked_for_again() -> None:
    points = [
        Point("condense begun: after", Victim.PROGRAM),
        Point("condense done: under way", Victim.ALL),
        Point("condense done: after", Victim.POSTGRES),
    ]
    held(play_and_kill(points, SEED, is_condensing=True), 3)


@pytest.mark.torture
def test_a_script_that_is_killed_while_it_gets_its_session_is_played_on_in_one_session() -> None:
    chance = random.Random(SEED)
    held(play_and_kill(chance.sample(script_points(), 2), SEED), 2)


@pytest.mark.torture
@pytest.mark.parametrize(("kill", "points"), KILLS.values(), ids=KILLS)
def test_every_change_that_is_killed_is_done_whole_or_not_at_all(
    torturer: Torturer, kill: Callable[[Torturer, int], None], points: int
) -> None:
    kill(torturer, points)
    held(torturer.close(), points)


@pytest.mark.torture
def test_memory_that_is_withdrawn_rebuilt_or_edited_when_killed_has_one_take_and_one_block_that_count(
    torturer: Torturer,
) -> None:
    kill_memory(torturer, 2)
    held(torturer.close(), 3)


@pytest.mark.torture
def test_what_was_typed_more_than_a_second_before_a_kill_is_stored(torturer: Torturer) -> None:
    kill_typing(torturer, 1)
    figures = torturer.close()
    held(figures, 1)
    assert figures.typed > 0
