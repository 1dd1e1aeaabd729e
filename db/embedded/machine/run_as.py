"""As whom the server runs. PostgreSQL refuses root, and a user that has no name.

An ordinary user needs nothing. Root, and a user without an entry in the account list, run the server in a
user namespace in which they bear the name of an account without privileges: files stay theirs. Where
namespaces are forbidden, as by Docker's default profile, root falls back to such an account itself, with a
directory of its own. `STORYENGINE_USER_NAMESPACE=off` forbids the namespace.
"""

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

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
_CLONE_NEWUSER = 0x10000000


class Account(NamedTuple):
    """One entry of the account list."""

    name: str
    uid: int
    gid: int


class RunAs(NamedTuple):
    """How the server's programs run, and where they keep their files."""

    base: Path
    """Holds `data` and, when its path is short, `run`."""
    client: str
    """The account that the server sees at the other end of its socket."""
    account: Account | None = None
    """Runs the server and owns `base`; None when that is ourselves."""
    in_namespace: Account | None = None
    """The name that we bear inside a user namespace."""
    notification: str = ""

    @property
    def owner(self) -> int | None:
        """The uid that files are given to; None when they stay ours."""
        return self.account.uid if self.account else None

    def run(
        self, arguments: list[str | Path], environment: dict[str, str], timeout: float, text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end; raise OSError or SubprocessError when it cannot be run."""
        return subprocess.run(
            arguments,
            env=environment,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            cwd=self.base,
            preexec_fn=self._before_exec(),
            user=self.account.uid if self.account else None,
            group=self.account.gid if self.account else None,
            extra_groups=[] if self.account else None,
        )

    def start(
        self, arguments: list[str | Path], environment: dict[str, str], log: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a program that outlives us, in a session of its own."""
        return subprocess.Popen(
            arguments,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.base,
            start_new_session=True,
            preexec_fn=self._before_exec(),
            user=self.account.uid if self.account else None,
            group=self.account.gid if self.account else None,
            extra_groups=[] if self.account else None,
        )

    def give(self, path: Path) -> None:
        """Hand a file that we wrote to the account that runs the server."""
        if self.account:
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)

    def _before_exec(self) -> Callable[[], None] | None:
        account = self.in_namespace
        return (lambda: enter_namespace(account)) if account else None


def enter_namespace(account: Account) -> None:
    """Enter a user namespace in which this process is `account`; raise OSError where that is forbidden."""
    if os.environ.get(NAMESPACE_VARIABLE) == "off":
        raise PermissionError(f"{NAMESPACE_VARIABLE} is off")
    import ctypes  # an ordinary user, who waits for our start, needs none

    uid, gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "user namespaces are forbidden")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{account.uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{account.gid} {gid} 1")


def choose_footing(home: Path, binaries: Binaries) -> RunAs:
    """Decide as whom to run; data that exists decides first, so that no story seems to be gone."""
    name = _name_of(os.geteuid())
    if os.geteuid() != 0 and name:
        return RunAs(base=home, client=name)
    if os.geteuid() == 0 and (kept := _kept_footing(home)):
        return kept
    if mapped := _mapped_account():
        footing = RunAs(base=home, client=mapped.name, in_namespace=mapped)
        if can_reach(home, os.geteuid(), os.getegid()) and _can_run(footing, binaries):
            return footing
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
            f"Run the program as an ordinary user. {URL_HINT}",
        )
    for base in account_bases(home):
        if can_reach(base.parent, account.uid, account.gid) and os.access(base.parent, os.W_OK):
            return _account_footing(make_private(base, account.uid), account)
    raise EmbeddedError(
        f"PostgreSQL does not run as root, and the account {account.name} can reach no directory for it.",
        f"Run the program as an ordinary user. {URL_HINT}",
    )


def account_bases(home: Path) -> tuple[Path, ...]:
    """Return where the data may be when an account of the system runs the server, in order of preference.

    Beside `home`, so that it is on the volume that the user chose; else in a system directory. Never where
    everybody can write: another user could have put a directory there before us.
    """
    name = f"storyengine-{tag_of(home)}"
    bases = (home.with_name(f"{home.name}-account"), *(base / name for base in FALLBACK_BASES))
    return tuple(base for base in bases if base.parent.is_dir() and not base.parent.stat().st_mode & 0o002)


def _kept_footing(home: Path) -> RunAs | None:
    for base in account_bases(home):
        if (base / "data" / "PG_VERSION").exists():
            owner = (base / "data").stat()
            account = Account(_name_of(owner.st_uid) or str(owner.st_uid), owner.st_uid, owner.st_gid)
            return _account_footing(make_private(base, account.uid), account)
    return None


def _account_footing(base: Path, account: Account) -> RunAs:
    notification = (
        f"Run by root where user namespaces are forbidden: the private database runs as the account "
        f"{account.name}, and the stories are in {base}."
    )
    return RunAs(
        base=base, client=_name_of(os.geteuid()) or "root", account=account, notification=notification
    )


def _can_run(footing: RunAs, binaries: Binaries) -> bool:
    try:
        result = footing.run([binaries.program("postgres"), "--version"], {}, timeout=30.0)
    except (OSError, subprocess.SubprocessError):
        return False
    return result.returncode == 0


def _mapped_account() -> Account | None:
    """Return whose name to bear: not that which the kernel shows for everybody outside the namespace."""
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
