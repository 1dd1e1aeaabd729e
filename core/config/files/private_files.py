"""Private files and directories: created so that only their owner can read them, and refused otherwise.

Everything that the program keeps lies in a directory that is made here, or by the private server, which does
the same.
"""

import errno
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from core.config.files.bounded_file import read_bounded
from core.domain.errors import ErrorCode, StorageError

with suppress(ImportError):  # Absent on Windows, which the program does not run on.
    import fcntl

if TYPE_CHECKING:
    # Not at run time: the private server is started by whatever Python there is, without our libraries.
    from core.config.files.paths import Paths

OTHERS = 0o077
"""The rights of everybody but the owner."""

_LOCK_TIMEOUT = 10.0
_LOCK_POLL = 0.01
_SECRETS = ("API_KEY", "DATABASE_URL", "PASSWORD", "PASSWORD_HASH", "HEADERS")
"""Ends of names. Headers that go with the calls to an account may have a key among them."""
_OURS = ("STORYENGINE_", "OPENAI_")


class NotPrivateError(StorageError):
    """Another account can read what is the GM's alone; `path` is what has to be closed."""

    def __init__(self, path: Path, message: str, hint: str) -> None:
        super().__init__(ErrorCode.STORAGE_LOAD_FAILED, message, hint, is_transient=False)
        self.path = path


def make_directory(path: Path) -> None:
    """Make `path` and what is missing above it, for its owner alone; `mkdir` would leave the parents open."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        directory.mkdir(mode=0o700, exist_ok=True)


def write_privately(file: Path, text: str, *, is_flushed: bool = True) -> None:
    """Replace `file` in one step, for its owner alone (`mkstemp` sees to that); raise OSError.

    Not flushed, it outlives this program but no power cut, and does not wait for the disk.
    """
    make_directory(file.parent)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with open(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            if is_flushed:
                os.fsync(out.fileno())
        os.replace(name, file)
    except BaseException:  # interrupted too: what is half written has no other owner
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def alone_with(file: Path) -> Iterator[None]:
    """Hold an exclusive lock on `file` until the block ends; blocking. Raise OSError.

    What is locked is a file beside it, which stays: `file` itself is replaced by every change. The kernel
    releases it when a process ends; a holder of more than some seconds is taken for stuck: TimeoutError.
    """
    make_directory(file.parent)
    lock = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while not _is_taken(lock):
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "it is held by another program", str(file))
            time.sleep(_LOCK_POLL)
        yield
    finally:
        os.close(lock)


def hold(file: Path) -> int | None:
    """Return a descriptor that holds an exclusive lock on `file`; None where another one does. Raise OSError.

    What is locked is a file beside it. The kernel releases it when the process ends, however it ends.
    """
    make_directory(file.parent)
    beside = f"{file}.lock"
    lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with ExitStack() as unless_held:
        unless_held.callback(os.close, lock)
        # The last holder may have deleted it between the two calls: that lock would exclude no other process.
        with suppress(FileNotFoundError):
            if _is_taken(lock) and os.path.samestat(os.fstat(lock), os.stat(beside)):
                unless_held.pop_all()
                return lock
    return None


def release(file: Path, lock: int) -> None:
    """Release what `hold` returned for `file`, and delete the file beside it."""
    try:
        Path(f"{file}.lock").unlink(missing_ok=True)
    finally:
        os.close(lock)


def _is_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def refuse_open_places(paths: "Paths", env_file: Path) -> None:
    """Raise NotPrivateError when others can read data, settings or logs; what is not there yet is fine.

    `env_file` counts when it holds a key, or an address with its password, and when it belongs to another
    user: it says where text and keys go. Reads no other content. Folders
    that exports and chapters go to are the GM's own, and may be open: each file there is for its owner alone.
    """
    for directory in (paths.data, paths.config, paths.logs):
        refuse_open(directory, "700")
    for directory in _led_out(paths.data, paths.server, paths.backups):
        # Started by root, the server has an account of its own, whose this may be.
        refuse_open(directory, "700", is_anyones=os.geteuid() == 0)
    for file in _led_out(paths.config, paths.config_file, paths.consent_file):
        refuse_open(file, "600")
    if os.path.isfile(env_file):  # False, and not an error, where it cannot be reached
        _refuse_planted(env_file.absolute())
    if _holds_secret(env_file):
        refuse_open(env_file.absolute(), "600")


def _refuse_planted(env_file: Path) -> None:
    """Raise NotPrivateError when another user wrote the settings of this directory; root may use anyone's."""
    owner = env_file.stat().st_uid
    if os.name == "posix" and os.geteuid() not in (0, owner) and owner != 0:
        raise NotPrivateError(
            env_file,
            f"{env_file} belongs to another user (number {owner}), who could decide by it where your text "
            "and your keys go; nothing was opened.",
            "Start the program in another directory, or make the file yours.",
        )


def _led_out(directory: Path, *places: Path) -> Iterator[Path]:
    """Yield what a symbolic link in a private directory leads to: there the directory guards nothing."""
    for place in places:
        target = place.resolve()
        if os.path.exists(target) and not target.is_relative_to(directory.resolve()):
            yield target


def _holds_secret(env_file: Path) -> bool:
    """Whether the settings would take a secret from the file: read as they read it, by python-dotenv."""
    try:
        text = read_bounded(env_file).decode("utf-8-sig", errors="replace")
    except OSError:
        return False
    from dotenv import dotenv_values

    return any(
        _tells_secret(name, value or "") for name, value in dotenv_values(stream=StringIO(text)).items()
    )


def environment_without_secrets() -> dict[str, str]:
    """Return our environment for a process that we start: none of them needs a key, and some outlive us."""
    return {name: text for name, text in os.environ.items() if not _tells_secret(name, text)}


def _tells_secret(name: str, value: str) -> bool:
    """Whether a variable is a secret of ours, or JSON with one among its keys: `PROFILES={"local": …}`."""
    name = name.upper()
    if not name.startswith(_OURS):
        return False
    if name.endswith(_SECRETS) or "__HEADERS__" in name:
        return True
    import json

    try:
        return "{" in value and _has_secret_key(json.loads(value))
    except (ValueError, RecursionError):
        return any(secret in value.upper() for secret in _SECRETS)


def _has_secret_key(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_has_secret_key, value))
    return isinstance(value, dict) and any(
        key.upper().endswith(_SECRETS) or _has_secret_key(inner) for key, inner in value.items()
    )


def refuse_open(path: Path, mode: str, *, is_anyones: bool = False) -> None:
    """Raise NotPrivateError, whose hint names `mode`, when others can read `path`.

    `is_anyones` says that another account may own it.
    """
    if os.name != "posix":
        return
    try:
        found = path.stat()
    except OSError:
        return  # Missing or unreachable: the caller that needs it reports that.
    if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode):
        return  # `/dev/null` keeps nothing, and closed to others it would break the machine.
    if found.st_uid != os.geteuid() and not is_anyones:
        raise NotPrivateError(
            path,
            f"{path} belongs to another user (number {found.st_uid}), who could read your chapters and keys; "
            "nothing was opened.",
            "Start the program as its owner, or name a directory of yours with STORYENGINE_DATA_DIR and "
            "STORYENGINE_CONFIG_DIR.",
        )
    if stat.S_IMODE(found.st_mode) & OTHERS:
        raise NotPrivateError(
            path,
            f"{path} can be read by others, and its contents are private; nothing was opened.",
            f"Close it with `chmod {mode} '{path}'`, then start again.",
        )
