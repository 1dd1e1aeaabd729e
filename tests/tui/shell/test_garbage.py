"""All garbage is looked for while the GM does nothing: with a long story it delays keys and streams."""

from types import SimpleNamespace
from typing import Any

import pytest

from storyengine_tui.shell import garbage
from storyengine_tui.shell.garbage import Garbage
from tests.tui.engine_app import Desktop, make_active, until


class Collector:
    """Stands for Python's `gc`."""

    def __init__(self) -> None:
        self.is_on = False
        self.thresholds = (700, 10, 10)
        self.count = 0
        self.collected = 0
        self.frozen = 0
        self.unfrozen = 0
        self.objects = 0

    def isenabled(self) -> bool:
        return self.is_on

    def freeze(self) -> None:
        self.frozen += 1

    def unfreeze(self) -> None:
        self.unfrozen += 1

    def get_freeze_count(self) -> int:
        return self.objects

    def get_threshold(self) -> tuple[int, int, int]:
        return self.thresholds

    def set_threshold(self, *thresholds: int) -> None:
        self.thresholds = thresholds  # type: ignore[assignment]

    def enable(self) -> None:
        self.is_on = True

    def get_count(self) -> tuple[int, int, int]:
        return 0, 0, self.count

    def collect(self) -> None:
        self.collected += 1
        self.count = 0


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Collector:
    made = Collector()
    monkeypatch.setattr(garbage, "gc", made)
    return made


def test_everything_is_looked_through_only_in_quiet_moments(collector: Collector) -> None:
    quiet = 0.0
    found = Garbage(lambda: quiet)
    found.start()
    assert collector.is_on
    assert collector.thresholds[:2] == (700, 10)
    assert collector.thresholds[2] > 1_000_000
    collector.count = 10
    found.look()
    assert collector.collected == 0
    quiet = 0.5
    found.look()
    found.look()
    assert collector.collected == 1


def test_a_look_that_takes_long_waits_for_a_long_pause(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 0.3, 100.0, 100.1])
    monkeypatch.setattr("time.perf_counter", lambda: next(times))
    quiet = 0.5
    found = Garbage(lambda: quiet)
    found.start()
    for looks, (count, quiet) in enumerate([(10, 0.5), (10, 5.9), (10, 6.1)]):  # noqa: B007  # read above
        collector.count = count
        found.look()
        assert collector.collected == (1, 1, 2)[looks]


def test_the_first_look_after_much_was_read_waits_for_a_longer_pause_than_a_search_takes(
    collector: Collector,
) -> None:
    quiet = 0.6
    found = Garbage(lambda: quiet)
    found.start()
    collector.count = 50  # some 350,000 objects
    found.look()
    assert collector.collected == 0
    quiet = 2.2
    found.look()
    assert collector.collected == 1


def test_a_look_goes_through_what_is_new_and_through_everything_in_a_long_pause(collector: Collector) -> None:
    quiet = 30.0
    found = Garbage(lambda: quiet)
    found.start()
    for looks in range(1, 12):
        collector.count = 10
        found.look()
        # What each look leaves is frozen, beside what the start made.
        assert (collector.collected, collector.frozen) == (looks, looks + 1)
    found.look()
    assert collector.unfrozen == 0
    quiet = 60.0
    found.look()
    assert (collector.unfrozen, collector.collected, collector.frozen) == (1, 12, 13)
    found.look()
    assert collector.collected == 12


def test_a_look_through_everything_that_took_long_waits_for_a_longer_pause(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 0.0
    clock = iter(range(1_000))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock) * seconds)
    quiet = 70.0
    found = Garbage(lambda: quiet)
    found.start()
    for was_long in (5.0, 0.0):
        for _ in range(10):
            collector.count = 10
            found.look()
        seconds = was_long
        found.look()
        seconds = 0.0
    assert collector.unfrozen == 1
    quiet = 100.0
    found.look()
    assert collector.unfrozen == 2


def test_everything_is_looked_through_at_last_though_no_pause_is_long(collector: Collector) -> None:
    found = Garbage(lambda: 2.0)
    found.start()
    for _ in range(100):
        collector.count = 10
        found.look()
    assert collector.unfrozen == 0
    found.look()
    assert collector.unfrozen == 1


def test_the_first_look_through_everything_waits_for_a_pause_as_long_as_much_of_it_needs(
    collector: Collector,
) -> None:
    quiet = 2.0
    found = Garbage(lambda: quiet)
    found.start()
    collector.objects = 2_000_000
    for _ in range(100):
        collector.count = 10
        found.look()
    found.look()
    assert collector.unfrozen == 0
    quiet = 13.0
    found.look()
    assert collector.unfrozen == 1


def test_garbage_does_not_grow_without_end_while_there_is_no_quiet_moment(collector: Collector) -> None:
    found = Garbage(lambda: 0.0)
    found.start()
    collector.count = 100
    found.look()
    assert collector.collected == 1


def test_after_a_bug_the_next_app_in_the_same_process_looks_for_garbage_too(collector: Collector) -> None:
    Garbage(lambda: 3_600.0).start()
    found = Garbage(lambda: 3_600.0)
    found.start()
    collector.count = 10
    found.look()
    assert collector.collected == 1


def test_where_python_collects_already_it_goes_on_so(collector: Collector) -> None:
    collector.is_on, collector.count = True, 1_000
    found = Garbage(lambda: 3_600.0)
    found.start()
    found.look()
    assert collector.thresholds == (700, 10, 10)
    assert collector.collected == 0


@pytest.mark.anyio
async def test_a_key_and_a_reply_that_is_written_are_no_quiet_moment(desktop: Desktop) -> None:
    async with desktop.window(lambda engine: make_active(engine, 1)) as (pilot, app):
        pages: Any = app.chapter._pages
        pages.idle._touched_at -= 3_600
        await until(pilot, lambda: app._quiet_seconds() >= 3_600)
        await pilot.press("tab")
        assert app._quiet_seconds() < 3_600
        pages.idle._touched_at -= 3_600
        assert app._quiet_seconds() >= 3_600
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(app), "session", SimpleNamespace(snapshot=SimpleNamespace(open_requests=(1,))))
            assert not app._quiet_seconds()
