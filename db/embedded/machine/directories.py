"""Directories of the private server: ownership, access, file system, and the length of the socket's path."""

import errno
import os
import stat
import sys
from pathlib import Path

from core.config.files.private_files import make_directory
from db.embedded.machine.failure import URL_HINT, EmbeddedError, explain_os_error

PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"
SOCKET_PATH_MAX = 103 if sys.platform == "darwin" else 107
"""Bytes that fit into `sun_path`, without the NUL."""

DATA_PATH_MAX = 900
"""Bytes of the server's directory; PostgreSQL's programs silently cut a path below it at 1,023."""

MOUNTS = Path("/proc/self/mountinfo")
NETWORK_FILE_SYSTEMS = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "drvfs"),
        *("lustre", "ceph", "glusterfs", "fuse.sshfs"),
    }
)


def tag_of(path: Path) -> str:
    """Return a short name for `path` that differs from that of every other path."""
    import hashlib  # loads OpenSSL, and a short path needs no tag

    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def make_private(path: Path, owner: int | None = None) -> Path:
    """Make `path` and its missing parents with mode 0700; raise EmbeddedError when another user owns it.

    `owner` is the uid that becomes the owner of the last directory, which only root can set.
    """
    wanted = os.geteuid() if owner is None else owner
    try:
        make_directory(path)
        if owner is not None and os.lstat(path).st_uid == os.geteuid() != owner:
            os.chown(path, owner, -1, follow_symlinks=False)
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != wanted:
            raise EmbeddedError(
                f"{path} is not a directory of the user with the number {wanted}.",
                "Run the program as its owner, or set STORYENGINE_DATA_DIR or STORYENGINE_DATABASE_URL.",
            )
        if found.st_mode & 0o077:
            path.chmod(0o700)
            if os.lstat(path).st_mode & 0o077:
                raise EmbeddedError(
                    f"{path} can be read by others, and its file system does not let it be closed.",
                    "Set STORYENGINE_DATA_DIR to a directory on a disk of this system.",
                )
    except OSError as error:
        raise explain_os_error(error, path) from error
    return path


def can_reach(path: Path, uid: int, gid: int) -> bool:
    """Return whether an unprivileged account can search every directory down to `path` itself."""
    resolved = path.resolve()
    return all(_can_search(directory, uid, gid) for directory in (*resolved.parents, resolved))


def _can_search(directory: Path, uid: int, gid: int) -> bool:
    try:
        found = directory.stat()
    except OSError:
        return False
    if found.st_uid == uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def choose_socket_dir(base: Path, owner: int | None = None) -> Path:
    """Make and return a private directory whose path fits into a socket address.

    Uses `base/run` when that is short and plain: in a connection string a comma separates hosts, and bytes
    that are not UTF-8 are invalid.
    """
    for candidate in _socket_candidates(base, owner):
        if _fits_socket(candidate):
            return make_private(candidate, owner)
    raise EmbeddedError("No directory has a path that is short enough for the database's socket.")


def _socket_candidates(base: Path, owner: int | None) -> list[Path]:
    runtime = os.environ.get("XDG_RUNTIME_DIR") if owner is None else None
    name = f"storyengine-{tag_of(base)}"
    candidates = [base / "run"]
    if runtime and can_reach(Path(runtime), os.geteuid(), os.getegid()):
        candidates.append(Path(runtime) / name)
    return [*candidates, Path("/tmp", f"{name}-{os.geteuid()}")]


def _fits_socket(directory: Path) -> bool:
    text = str(directory)
    if any(character in text for character in ',"\n') or text.startswith("@") or not _is_utf_8(text):
        return False
    return len(os.fsencode(directory / SOCKET_NAME)) <= SOCKET_PATH_MAX


def _is_utf_8(path: str) -> bool:
    """Whether a path is valid UTF-8: Python decodes other bytes to surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in path)


def refuse_long_path(base: Path) -> None:
    """Raise EmbeddedError when PostgreSQL's programs cannot work below `base`, whose path is too long."""
    if len(os.fsencode(base)) > DATA_PATH_MAX:
        raise explain_os_error(OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)), base)


def refuse_network_file_system(path: Path, mounts: str | None = None) -> None:
    """Raise EmbeddedError when `path` is on a network file system, where locks and fsync are unreliable."""
    if mounts is None:
        mounts = MOUNTS.read_text(errors="surrogateescape") if MOUNTS.exists() else ""
    kind = file_system_of(path, mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        raise EmbeddedError(
            f"{path} is on a network file system ({kind}), where a database is not safe.",
            f"Set STORYENGINE_DATA_DIR to a local directory. {URL_HINT}",
        )


def file_system_of(path: Path, mounts: str) -> str:
    """Return the type of the file system of `path`, from the text of mountinfo; empty when unknown."""
    best, kind = -1, ""
    resolved = path.resolve()
    for line in mounts.splitlines():
        head, _, tail = line.partition(" - ")
        fields = head.split(" ")
        if len(fields) < 5 or not tail:
            continue
        mount = Path(_unescape(fields[4]))
        if resolved.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), tail.split(" ")[0]
    return kind


def _unescape(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def sync_directory(path: Path) -> None:
    """Make a rename in `path` survive a power cut."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
