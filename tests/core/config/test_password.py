"""The password gate: argon2, delays that grow, and a memory that a new start does not shorten."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest
from argon2 import PasswordHasher
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from core.config.password import (
    LONGEST_DELAY,
    PasswordGate,
    PasswordRefusedError,
    delay_after,
    delay_in_words,
    hash_password,
)

PASSWORD = SecretStr("correct horse, Zoë")
HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD.get_secret_value())
"""A hash says itself what it costs to check it; this one costs nothing."""


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "tries.json"


@pytest.fixture
def gate(clock: Clock, file: Path) -> PasswordGate:
    return PasswordGate(SecretStr(HASH), file, clock)


def wrong(gate: PasswordGate) -> float:
    with pytest.raises(PasswordRefusedError) as refused:
        gate.check(SecretStr("wrong"))
    return refused.value.wait


def test_the_hash_is_argon2_and_another_one_each_time(file: Path) -> None:
    made = hash_password(PASSWORD)
    PasswordGate(SecretStr(made), file).check(PASSWORD)
    assert made.startswith("$argon2id$")
    assert hash_password(PASSWORD) != made
    assert "horse" not in made


def test_the_right_password_opens_and_leaves_no_trace(gate: PasswordGate, file: Path) -> None:
    gate.check(PASSWORD)
    assert not file.exists()


def test_the_same_letters_typed_on_another_keyboard_are_the_same_password(gate: PasswordGate) -> None:
    gate.check(SecretStr("correct horse, Zoe\u0308"))


def test_bytes_that_are_no_text_are_a_password_like_any_other(
    gate: PasswordGate, file: Path, clock: Clock
) -> None:
    odd = SecretStr(b"Zo\xeb".decode("utf-8", "surrogateescape"))
    with pytest.raises(PasswordRefusedError):
        gate.check(odd)
    clock.now += LONGEST_DELAY
    PasswordGate(SecretStr(hash_password(odd)), file, clock).check(odd)


def test_delays_double_and_are_kept_over_a_new_start(gate: PasswordGate, clock: Clock, file: Path) -> None:
    for delay in (1.0, 2.0, 4.0, 8.0):
        assert wrong(gate) == delay
        gate = PasswordGate(SecretStr(HASH), file, clock)
        assert gate.wait == delay
        with pytest.raises(PasswordRefusedError, match="wait"):
            gate.check(PASSWORD)
        clock.now += delay
    gate.check(PASSWORD)
    assert gate.wait == 0.0
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_try_that_comes_too_soon_makes_the_delay_no_longer(gate: PasswordGate, clock: Clock) -> None:
    wrong(gate)
    clock.now += 0.5
    assert wrong(gate) == 0.5
    clock.now += 0.5
    assert wrong(gate) == 2.0


def test_a_try_counts_before_it_is_looked_at(
    gate: PasswordGate, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def look(*_: object) -> bool:
        seen.append(json.loads(file.read_text())["wrong"])
        return False

    monkeypatch.setattr(gate, "_is_right", look)
    wrong(gate)
    assert seen == [1]


def test_a_clock_that_is_set_back_keeps_nobody_out_for_longer(gate: PasswordGate, clock: Clock) -> None:
    wrong(gate)
    clock.now -= 86_400
    assert gate.wait == 1.0
    clock.now += 1.0
    gate.check(PASSWORD)


def test_a_clock_that_is_set_back_spares_nobody_the_delay(gate: PasswordGate, clock: Clock) -> None:
    wrong(gate)
    clock.now -= 86_400
    assert wrong(gate) == 1.0
    clock.now += 0.5
    assert wrong(gate) == 0.5


def test_of_tries_in_many_windows_at_once_only_one_is_taken(file: Path, clock: Clock) -> None:
    taken: list[str] = []

    class Slow(PasswordGate):
        def _is_right(self, password: SecretStr) -> bool:
            taken.append(password.get_secret_value())
            return super()._is_right(password)

        def _tries(self) -> tuple[int, float]:
            found = super()._tries()
            # Everybody has read before anybody writes, unless they wait for each other.
            with suppress(BrokenBarrierError):
                together.wait(0.2)
            return found

    windows = 12
    together = Barrier(windows)

    def guess(number: int) -> float:
        with pytest.raises(PasswordRefusedError) as refused:
            Slow(SecretStr(HASH), file, clock).check(SecretStr(f"guess {number}"))
        return refused.value.wait

    with ThreadPoolExecutor(windows) as threads:
        assert list(threads.map(guess, range(windows))) == [1.0] * windows
    assert len(taken) == 1
    assert json.loads(file.read_text())["wrong"] == 1


@given(st.integers(min_value=1, max_value=10_000))
def test_a_delay_never_shrinks_and_never_keeps_the_gm_out_for_good(count: int) -> None:
    assert delay_after(count - 1) <= delay_after(count) <= LONGEST_DELAY


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"wrong": "x", "at": 1}', '{"wrong": 1e400, "at": 1}', "\x00"),
        *('{"wrong": 3, "at": NaN}', '{"wrong": 3, "at": Infinity}', '{"wrong": 3, "at": 1e400}'),
        *('{"wrong": 3, "at": -Infinity}', '{"wrong": ' + "[" * 3_000),
    ],
)
def test_a_damaged_memory_of_tries_counts_as_none(gate: PasswordGate, file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text(text)
    gate.check(PASSWORD)


def test_a_try_that_cannot_be_counted_is_not_taken(clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    gate = PasswordGate(SecretStr(HASH), tmp_path / "file" / "tries", clock)
    with pytest.raises(OSError):
        gate.check(PASSWORD)


def test_a_hash_that_is_none_lets_nobody_in_and_says_how_to_mend_it(file: Path, clock: Clock) -> None:
    gate = PasswordGate(SecretStr("letmein"), file, clock)
    with pytest.raises(PasswordRefusedError) as refused:
        gate.check(SecretStr("letmein"))
    assert "password_hash" in refused.value.message
    assert "storyengine password" in refused.value.hint


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_password_of_blanks_is_none(blank: str) -> None:
    with pytest.raises(PasswordRefusedError):
        hash_password(SecretStr(blank))


@pytest.mark.parametrize("count", [0, -7])
def test_a_memory_of_no_wrong_try_delays_none(
    gate: PasswordGate, clock: Clock, file: Path, count: int
) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text(json.dumps({"wrong": count, "at": clock.now}))
    assert gate.wait == 0.0
    assert wrong(gate) == 1.0


@pytest.mark.parametrize(
    ("count", "seconds"), [(0, 0), (1, 1), (2, 2), (3, 4), (9, 256), (10, 512), (11, 600), (10_000, 600)]
)
def test_the_delay_doubles_from_a_second_to_ten_minutes(count: int, seconds: float) -> None:
    assert delay_after(count) == seconds


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "1 s"),
        (1.4, "1 s"),
        (59.6, "60 s"),
        (119.0, "119 s"),
        (120.0, "2 minutes"),
        (300.0, "5 minutes"),
    ],
)
def test_a_delay_is_told_in_seconds_and_from_two_minutes_on_in_minutes(seconds: float, words: str) -> None:
    assert delay_in_words(seconds) == words


def test_before_anyone_is_asked_a_try_that_comes_too_soon_is_refused(
    gate: PasswordGate, clock: Clock
) -> None:
    gate.refuse_too_soon()
    wrong(gate)
    with pytest.raises(PasswordRefusedError, match="wait 1 s"):
        gate.refuse_too_soon()
    clock.now += 1.0
    gate.refuse_too_soon()
