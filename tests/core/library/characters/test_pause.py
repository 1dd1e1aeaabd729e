"""The end of a pause as it is typed and read."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from core.domain.errors import IllegalCommandError
from core.library.characters.character import pause_text, read_end
from tests.core.library.characters.test_in_chapter import KARA, NOW


@pytest.mark.parametrize(
    ("typed", "end"),
    [
        ("", None),
        (" \n", None),
        ("2030-05-31", datetime(2030, 5, 31)),
        (" 2030-05-31 18:05 ", datetime(2030, 5, 31, 18, 5)),
        ("2030-05-31T18:05", datetime(2030, 5, 31, 18, 5)),
    ],
)
def test_a_day_or_a_day_and_a_time_is_read_by_the_clock_here(typed: str, end: datetime | None) -> None:
    assert read_end(typed) == (end and end.astimezone())


@pytest.mark.parametrize(
    "typed", ["tomorrow", "2030", "2030-13-01", "31.05.2030", "2030-05-31 25:00", "٢٠٣٠-05-31", "9" * 5_000]
)
def test_what_is_no_day_is_refused_with_what_can_be_typed(typed: str) -> None:
    with pytest.raises(IllegalCommandError, match="2030-05-31 18:00"):
        read_end(typed)


def test_a_pause_says_its_end_and_one_that_is_over_says_nothing() -> None:
    paused = replace(KARA, is_paused=True)
    assert pause_text(paused, NOW) == "paused"
    until = replace(paused, paused_until=read_end("2030-05-31 18:05"))
    assert pause_text(until, NOW) == "paused until 2030-05-31 18:05"
    over = replace(paused, paused_until=NOW)
    assert pause_text(over, NOW + timedelta(seconds=1)) == ""
    assert pause_text(KARA, NOW) == ""
