"""The kill matrix in short: a few points of every kind, drawn by a seed that is printed.

A play is killed in every run; the other kinds, all points and first starts by `make torture`.
"""

import os
import random
from collections.abc import Iterator

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

SEED = int(os.environ.get("STORYENGINE_TORTURE_SEED", "20261122"))


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
def test_a_correction_that_is_killed_is_stored_once_or_not_at_all(torturer: Torturer) -> None:
    kill_corrections(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_test_call_that_is_killed_is_stored_with_its_call_or_not_at_all(torturer: Torturer) -> None:
    kill_test_calls(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_migration_that_is_killed_has_made_the_whole_schema_or_none(torturer: Torturer) -> None:
    kill_migrations(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_migration_that_is_killed_leaves_the_chapters_of_either_schema_as_they_were(
    torturer: Torturer,
) -> None:
    kill_migrations_of_chapters(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_command_that_is_killed_has_done_all_of_it_or_nothing_and_can_be_given_again(
    torturer: Torturer,
) -> None:
    kill_commands(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_take_or_an_undo_that_is_killed_is_done_whole_or_not_at_all(torturer: Torturer) -> None:
    kill_takes(torturer, 2)
    held(torturer.close(), 2)


@pytest.mark.torture
def test_memory_that_is_withdrawn_rebuilt_or_edited_when_killed_has_one_take_and_one_block_that_count(
    torturer: Torturer,
) -> None:
    kill_memory(torturer, 2)
    held(torturer.close(), 3)


@pytest.mark.torture
def test_a_line_a_roll_or_a_reveal_that_is_killed_is_stored_whole_or_not_at_all(torturer: Torturer) -> None:
    kill_scene(torturer, 2)
    held(torturer.close(), 2)


@pytest.mark.torture
def test_a_chunk_that_is_killed_between_its_deltas_goes_on_with_the_next_one(torturer: Torturer) -> None:
    kill_private_memory(torturer, 2)
    held(torturer.close(), 2)


@pytest.mark.torture
def test_a_prompt_to_several_an_addition_and_a_queue_that_are_killed_are_finished_or_given_again(
    torturer: Torturer,
) -> None:
    kill_beside(torturer, 4)
    held(torturer.close(), 4)


@pytest.mark.torture
def test_a_memory_bank_that_is_read_or_changed_when_killed_has_each_item_once_and_with_its_proof(
    torturer: Torturer,
) -> None:
    kill_bank(torturer, 4)
    held(torturer.close(), 4)


@pytest.mark.torture
def test_a_reset_that_is_killed_puts_the_chapter_away_whole_or_leaves_it_to_be_played_on(
    torturer: Torturer,
) -> None:
    kill_resets(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_deletion_that_is_killed_leaves_the_chapter_whole_or_nothing_of_it(torturer: Torturer) -> None:
    kill_purges(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_backup_that_is_killed_is_whole_or_not_there(torturer: Torturer) -> None:
    kill_backups(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_a_restore_that_is_killed_leaves_the_one_database_or_the_other(torturer: Torturer) -> None:
    kill_restores(torturer, 1)
    held(torturer.close(), 1)


@pytest.mark.torture
def test_what_was_typed_more_than_a_second_before_a_kill_is_stored(torturer: Torturer) -> None:
    kill_typing(torturer, 1)
    figures = torturer.close()
    held(figures, 1)
    assert figures.typed > 0
