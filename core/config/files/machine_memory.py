"""Finds the memory of this machine that a program can use, limits of containers included."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.config.files.bounded_file import read_bounded

_MEGABYTE = 1_000_000
_LONGEST_FILE = 100_000


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Megabytes of memory that this process may have, and that are free for it now."""

    total: int
    available: int


def memory_of_machine(root: Path = Path("/")) -> MachineMemory:
    """Return the memory of this machine, or of the container that this process runs in; blocking."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    total = available = pages * page
    facts = _numbers(root / "proc/meminfo")
    if "MemTotal" in facts:
        total = facts["MemTotal"] * 1024
        available = facts.get("MemAvailable", facts["MemTotal"]) * 1024
    for group in _control_groups(root):
        limit, used, cached = _limit_of(group)
        if limit is not None and limit < total:
            total = limit
        if limit is not None:
            # Pages of files that were read count as used, but are given up when memory is needed.
            available = min(available, max(0, limit - used + cached))
    return MachineMemory(total // _MEGABYTE, available // _MEGABYTE)


def _limit_of(group: Path) -> tuple[int | None, int, int]:
    """Return limit, use and cached files of a control group, in bytes; version 2 names them first."""
    limit = _number(group / "memory.max", group / "memory.limit_in_bytes")
    used = _number(group / "memory.current", group / "memory.usage_in_bytes") or 0
    stat = _numbers(group / "memory.stat")
    return limit, used, stat.get("inactive_file", 0)


def _control_groups(root: Path) -> list[Path]:
    """Return the directories of this process's control group and of all above it."""
    base, found = root / "sys/fs/cgroup", []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        top = base / "memory" if controllers else base
        group = top / path.strip("/")
        # In a container the path may be that of the host, which is not visible here.
        steps = [group, *group.parents]
        found += [step for step in steps if step == top or top in step.parents]
    return found


def _number(*files: Path) -> int | None:
    for file in files:
        with suppress(ValueError):
            return int(_text(file))
    return None


def _numbers(file: Path) -> dict[str, int]:
    found = {}
    for line in _text(file).splitlines():
        name, _, rest = line.replace(":", " ").partition(" ")
        with suppress(ValueError, IndexError):
            found[name] = int(rest.split()[0])
    return found


def _text(file: Path) -> str:
    try:
        return read_bounded(file, _LONGEST_FILE).decode("ascii", "replace")
    except OSError:
        return ""
