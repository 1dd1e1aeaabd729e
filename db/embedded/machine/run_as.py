"""Chooses the account that the server runs as: PostgreSQL refuses root and users without a name.

An ordinary user runs it directly. Root, and a user without an entry in the account list, run it in a user
namespace that maps them to an unprivileged account, so files stay their own. Where namespaces are forbidden,
as by Docker's default profile, root switches to such an account, with a directory of its own.
`STORYENGINE_USER_NAMESPACE=off` forbids the namespace.
"""

import contextlib
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

with contextlib.suppress(ImportError):  # absent on Windows, where find_binaries refuses with a sentence
    import pwd

from db.embedded.machine.binaries import Binaries
from db.embedded.machine.directories import can_reach, make_private, tag_of
from db.embedded.machine.failure import URL_HINT, EmbeddedError

NAMESPACE_VARIABLE = "STORYENGINE_USER_NAMESPACE"
SERVER_ACCOUNTS = ("postgres", "nobody")
MAPPED_ACCOUNTS = ("postgres", "daemon", "bin", "nobody")
FALLBACK_BASES = (Path("/var/lib"), Path("/srv"))
OVERFLOW_UID = Path("/proc/sys/kernel/overflowuid")
_USER_HINT = f"Run the program as an ordinary user. {URL_HINT}"
_CLONE_NEWUSER = 0x10000000


class Account(NamedTuple):
    """One entry of the account list."""

    name: str
    uid: int
    gid: int


class RunAs(NamedTuple):
    """Account, directories and environment of the server's programs."""

    base: Path
    """Holds `data` and, when its path is short, `run`."""
    client: str
    """The account name that the server sees for its clients."""
    account: Account | None = None
    """The account that runs the server and owns `base`; None for the current user."""
    in_namespace: Account | None = None
    """The account that a user namespace maps the current user to."""
    notification: str = ""

    @property
    def owner(self) -> int | None:
        """The uid that owns the files; None for the current user."""
        return self.account.uid if self.account else None

    def run(
        self, arguments: list[str | Path], environment: dict[str, str], timeout: float, text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a program and wait for it; raise OSError or SubprocessError when it cannot be run."""
        return subprocess.run(
            arguments,
            env=environment,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            **self._identity(),
        )

    def start(
        self, arguments: list[str | Path], environment: dict[str, str], log: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a program that outlives this process, in a session of its own."""
        return subprocess.Popen(
            arguments,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            **self._identity(),
        )

    def give(self, path: Path) -> None:
        """Make the account that runs the server the owner of a file."""
        if self.account:
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)

    def _identity(self) -> dict[str, Any]:
        """Return the arguments of `subprocess.Popen` for the directory and the account."""
        mapped = self.in_namespace
        identity: dict[str, Any] = {"cwd": self.base}
        if mapped:
            identity["preexec_fn"] = partial(enter_namespace, mapped)
        if self.account:
            identity |= {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}
        return identity


def enter_namespace(account: Account) -> None:
    """Map this process to `account` in a new user namespace; raise OSError where that is forbidden."""
    if os.environ.get(NAMESPACE_VARIABLE) == "off":
        raise PermissionError(f"{NAMESPACE_VARIABLE} is off")
    import ctypes  # not needed by an ordinary user, who waits for the start

    uid, gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "user namespaces are forbidden")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{account.uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{account.gid} {gid} 1")


def choose_run_as(home: Path, binaries: Binaries) -> RunAs:
    """Choose the account to run as, preferably the owner of existing data, so that no story seems lost."""
    name = _name_of(os.geteuid())
    if os.geteuid() != 0 and name:
        return RunAs(base=home, client=name)
    if os.geteuid() == 0 and (kept := _existing_run_as(home)):
        return kept
    if mapped := _mapped_account():
        run_as = RunAs(base=home, client=mapped.name, in_namespace=mapped)
        if can_reach(home, os.geteuid(), os.getegid()) and _can_run(run_as, binaries):
            return run_as
    return _without_namespace(home)


def _without_namespace(home: Path) -> RunAs:
    if os.geteuid() != 0:
        raise EmbeddedError(
            f"The user with the number {os.geteuid()} has no name here, and PostgreSQL needs one.",
            f"Add the user to /etc/passwd. {URL_HINT}",
        )
    if (home / "data").exists():
        raise EmbeddedError(
            f"The stories in {home} were written in a user namespace, and this system forbids those.",
            "Allow user namespaces, or run `storyengine db backup` where they are allowed and "
            f"`storyengine db restore FILE` here with a new STORYENGINE_DATA_DIR. {URL_HINT}",
        )
    account = _first_account(SERVER_ACCOUNTS)
    if account is None:
        raise EmbeddedError(
            "PostgreSQL does not run as root, and there is neither an account postgres nor nobody.",
            _USER_HINT,
        )
    for base in account_bases(home):
        if can_reach(base.parent, account.uid, account.gid) and os.access(base.parent, os.W_OK):
            return _run_as_account(make_private(base, account.uid), account)
    raise EmbeddedError(
        f"PostgreSQL does not run as root, and the account {account.name} can reach no directory for it.",
        _USER_HINT,
    )


def account_bases(home: Path) -> tuple[Path, ...]:
    """Return the possible data directories of a server that a system account runs, in order of preference.

    Prefers the volume that the user chose, beside `home`, over a system directory. Skips directories that are
    writable for all, where another user could have planted one.
    """
    name = f"storyengine-{tag_of(home)}"
    bases = (home.with_name(f"{home.name}-account"), *(base / name for base in FALLBACK_BASES))
    return tuple(base for base in bases if base.parent.is_dir() and not base.parent.stat().st_mode & 0o002)


def _existing_run_as(home: Path) -> RunAs | None:
    for base in account_bases(home):
        if (base / "data" / "PG_VERSION").exists():
            owner = (base / "data").stat()
            account = Account(_name_of(owner.st_uid) or str(owner.st_uid), owner.st_uid, owner.st_gid)
            return _run_as_account(make_private(base, account.uid), account)
    return None


def _run_as_account(base: Path, account: Account) -> RunAs:
    notification = (
        f"Run by root where user namespaces are forbidden: the private database runs as the account "
        f"{account.name}, and the stories are in {base}."
    )
    return RunAs(
        base=base, client=_name_of(os.geteuid()) or "root", account=account, notification=notification
    )


def _can_run(run_as: RunAs, binaries: Binaries) -> bool:
    try:
        result = run_as.run([binaries.program("postgres"), "--version"], {}, timeout=30.0)
    except (OSError, subprocess.SubprocessError):
        return False
    return result.returncode == 0


def _mapped_account() -> Account | None:
    """Return the account to map to, preferably not the one that the kernel shows for unmapped users."""
    others = int(OVERFLOW_UID.read_text()) if OVERFLOW_UID.exists() else 65534
    names = [name for name in MAPPED_ACCOUNTS if (found := _account(name)) and found.uid != others]
    return _first_account((*names, *MAPPED_ACCOUNTS))


def _first_account(names: tuple[str, ...]) -> Account | None:
    return next((account for name in names if (account := _account(name))), None)


def _account(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
