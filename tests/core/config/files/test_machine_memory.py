"""How much memory there is, read from the files of a Linux machine, container or cgroup."""

from pathlib import Path

import pytest

from core.config.files.machine_memory import MachineMemory, memory_of_machine

GB = 1_000_000_000
MEMINFO = f"MemTotal: {16 * GB // 1024} kB\nMemFree: 1 kB\nMemAvailable: {9 * GB // 1024} kB\n\nOdd\n"


def machine(root: Path, **files: str) -> Path:
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def close(memory: MachineMemory, total: int, available: int) -> bool:
    return abs(memory.total - total) <= 1 and abs(memory.available - available) <= 1


def test_a_plain_machine(tmp_path: Path) -> None:
    assert close(memory_of_machine(machine(tmp_path)), 16_000, 9_000)


GROUPS = {
    "what the group of a container allows": (
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": f"{4 * GB}\n",
            "sys/fs/cgroup/memory.current": f"{3 * GB}\n",
            "sys/fs/cgroup/memory.stat": f"anon {GB}\ninactive_file {2 * GB}\n",
        },
        4_000,
        3_000,
    ),
    "the narrowest group above": (
        {
            "proc/self/cgroup": "0::/user.slice/app.scope\n",
            "sys/fs/cgroup/user.slice/memory.max": f"{2 * GB}",
            "sys/fs/cgroup/user.slice/memory.current": f"{GB}",
            "sys/fs/cgroup/user.slice/app.scope/memory.max": "max\n",
        },
        2_000,
        1_000,
    ),
    "groups of version 1": (
        {
            "proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/abc\n1:name=systemd:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{3 * GB}",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GB}",
        },
        3_000,
        2_000,
    ),
    "a limit beyond the machine, which changes nothing": (
        {"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": str(2**63 - 4096)},
        16_000,
        9_000,
    ),
    "use beyond the limit, which leaves nothing": (
        {
            "proc/self/cgroup": "0::/",
            "sys/fs/cgroup/memory.max": str(GB),
            "sys/fs/cgroup/memory.current": str(2 * GB),
        },
        1_000,
        0,
    ),
}


@pytest.mark.parametrize(("files", "total", "available"), GROUPS.values(), ids=GROUPS)
def test_a_control_group_bounds_what_a_machine_has(
    tmp_path: Path, files: dict[str, str], total: int, available: int
) -> None:
    assert close(memory_of_machine(machine(tmp_path, **files)), total, available)


@pytest.mark.parametrize(
    "text", ["", "\x00\xff", "MemTotal:", "MemTotal: many kB", "0::/../../etc", "::" * 99]
)
def test_files_that_say_nothing_leave_what_the_system_says(tmp_path: Path, text: str) -> None:
    root = machine(tmp_path, **{"proc/meminfo": text, "proc/self/cgroup": text})
    memory = memory_of_machine(root)
    assert memory.total == memory.available > 0


def test_a_system_without_these_files(tmp_path: Path) -> None:
    assert memory_of_machine(tmp_path).total > 0
