"""A plugin of pytest for `tools.mutants`: notes which test runs which line, and how long each takes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import hypothesis
import pytest

DURATIONS = "STORYENGINE_MUTANT_DURATIONS"
"""Names the file that the durations of the tests that passed go into."""

# A fault needs to be found, not to be made small; and what one run found must not help the next one.
hypothesis.settings.register_profile(
    "mutants",
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    deadline=None,
    database=None,
    derandomize=True,
)
hypothesis.settings.load_profile("mutants")
_durations: dict[str, float] = {}
_failed: set[str] = set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Have every line that runs from here on belong to this test."""
    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what a test takes with its fixtures."""
    _durations[report.nodeid] = _durations.get(report.nodeid, 0.0) + report.duration
    if not report.passed:
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Leave the durations of the tests that can be relied on."""
    if DURATIONS in os.environ:
        passed = {test: spent for test, spent in _durations.items() if test not in _failed}
        Path(os.environ[DURATIONS]).write_text(json.dumps(passed), "utf-8")
