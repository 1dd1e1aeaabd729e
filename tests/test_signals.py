"""A test that stops a program proves the same in a terminal, in the background, under nohup and in CI."""

import signal
import subprocess
import sys

import pytest

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.name)
def test_a_program_that_a_test_starts_obeys(stop: signal.Signals) -> None:
    with subprocess.Popen(["sleep", "60"]) as program:
        program.send_signal(stop)
        assert program.wait(timeout=60) == -stop


def test_a_run_that_was_started_deaf_still_starts_programs_that_obey() -> None:
    ignored = " ".join(stop.name.removeprefix("SIG") for stop in STOPS)
    run = [sys.executable, "-m", "pytest", __file__, "-k", test_a_program_that_a_test_starts_obeys.__name__]
    deaf = subprocess.run(
        ["sh", "-c", f'trap "" {ignored}; exec "$@"', "sh", *run],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert deaf.returncode == 0, deaf.stdout
