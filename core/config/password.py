"""The password gate: an argon2 hash in the configuration, and delays that grow with wrong tries.

It keeps others at an unlocked terminal out of the chapters. It does not encrypt them: a person who can
read the GM's files, or take this hash out of them, gets in without it.
"""

import json
import math
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from core.config.files.bounded_file import read_bounded
from core.config.files.private_files import alone_with, write_privately
from core.domain.errors import ErrorCode, StoryEngineError

LONGEST_DELAY: Final = 600.0
"""Seconds; the first wrong try costs one, and every further one twice as many."""


class PasswordRefusedError(StoryEngineError):
    """The gate stays closed; `wait` is how many seconds no try is taken."""

    def __init__(self, message: str, wait: float = 0.0, hint: str = "") -> None:
        super().__init__(ErrorCode.ILLEGAL_COMMAND, message, hint)
        self.wait = wait


def hash_password(password: SecretStr) -> str:
    """Return the hash to store; takes a tenth of a second and 64 MB, which is its purpose. Blocking.

    Raises PasswordRefusedError for a password of blanks.
    """
    from argon2 import PasswordHasher

    if not password.get_secret_value().strip():
        raise PasswordRefusedError("A password needs a character that is no space; nothing was changed.")
    return PasswordHasher().hash(_normal(password))


class PasswordGate:
    """Takes passwords. What was tried is in a file, so that a new start does not shorten a delay."""

    def __init__(
        self, password_hash: SecretStr, tries_file: Path, clock: Callable[[], float] = time.time
    ) -> None:
        self._hash = password_hash
        self._file = tries_file
        self._clock = clock

    @property
    def wait(self) -> float:
        """Seconds until the next try is taken. Raises OSError when a clock that was set back is not noted."""
        if self._tries()[1] <= self._clock():
            return self._left()
        with alone_with(self._file):
            return self._left()

    def _left(self) -> float:
        wrong, last = self._tries()
        if not wrong:
            return 0.0
        now = self._clock()
        if last > now:
            # The clock was set back: the delay starts again, once, and not at every check.
            last = now
            self._note(wrong, now)
        return max(0.0, last + delay_after(wrong) - now)

    def _note(self, wrong: int, at: float) -> None:
        write_privately(self._file, json.dumps({"wrong": wrong, "at": at}) + "\n")

    def refuse_too_soon(self) -> None:
        """Raise PasswordRefusedError while no try is taken: before the GM is asked."""
        self._refuse(self.wait)

    def _refuse(self, wait: float) -> None:
        if wait > 0:
            raise PasswordRefusedError(
                f"The last password was wrong; wait {delay_in_words(wait)}, then try again.", wait
            )

    def check(self, password: SecretStr) -> None:
        """Return when it is the password; blocking. Raise PasswordRefusedError, or OSError from the file."""
        # Counted before it is looked at, and by one at a time: of tries in many windows at once one is taken.
        with alone_with(self._file):
            self._refuse(self._left())
            wrong = self._tries()[0] + 1
            self._note(wrong, self._clock())
        if not self._is_right(password):
            delay = delay_after(wrong)
            raise PasswordRefusedError(f"That is not the password; wait {delay_in_words(delay)}.", delay)
        self._file.unlink(missing_ok=True)

    def _is_right(self, password: SecretStr) -> bool:
        from argon2 import PasswordHasher
        from argon2.exceptions import InvalidHashError, VerificationError

        try:
            return PasswordHasher().verify(self._hash.get_secret_value(), _normal(password))
        except InvalidHashError as error:
            raise PasswordRefusedError(
                "The password_hash in the configuration is no argon2 hash, so no password fits it.",
                hint="Take that line out of config.toml, then set a password with `storyengine password`.",
            ) from error
        except VerificationError:
            return False

    def _tries(self) -> tuple[int, float]:
        """Return how many tries were wrong, and when the last was; an unreadable file counts as none."""
        try:
            found = json.loads(read_bounded(self._file))
            wrong, at = max(0, int(found["wrong"])), float(found["at"])
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return 0, 0.0
        # No clock says so; and what is no number of seconds would never be over.
        return (wrong, at) if math.isfinite(at) else (0, 0.0)


def delay_after(wrong: int) -> float:
    """Return how many seconds no try is taken after so many wrong ones."""
    return min(LONGEST_DELAY, 2.0 ** min(wrong - 1, 30)) if wrong > 0 else 0.0


def delay_in_words(seconds: float) -> str:
    """Return a delay as a GM reads it; never less than a second."""
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 120 else f"{round(whole / 60)} minutes"


def _normal(password: SecretStr) -> bytes:
    """The same password from every keyboard: é is one character on one of them and two on another.

    A variable of the environment may hold bytes that are no text.
    """
    return unicodedata.normalize("NFKC", password.get_secret_value()).encode("utf-8", "surrogatepass")
