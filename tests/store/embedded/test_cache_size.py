"""The server's cache is as large as what is stored, within bounds."""

from pathlib import Path

import pytest

from db.embedded.machine.cache_size import LEAST_MB, MOST_MB, cache_megabytes
from tests.store.embedded.embedded_fixtures import ask, home, served, serving

__all__ = ["home", "served"]


def stored(data: Path, megabytes: int) -> Path:
    """Store a file of this size, which takes no room, among those of a database."""
    folder = data / "base" / "16384"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "made_up").open("wb") as file:
        file.truncate(megabytes * 1_000_000)
    return data


def test_a_small_library_has_the_cache_that_it_always_had(tmp_path: Path) -> None:
    assert cache_megabytes(tmp_path / "missing") == LEAST_MB
    assert cache_megabytes(stored(tmp_path, 127)) == LEAST_MB


@pytest.mark.parametrize(
    ("megabytes", "memory", "cache"),
    [
        (129, 16_000, 192),
        (300, 16_000, 320),
        (5_000, 16_000, MOST_MB),
        (5_000, 2_000, 250),
        (300, 0, LEAST_MB),
    ],
)
def test_a_larger_one_has_as_much_as_it_stores_and_the_machine_allows(
    megabytes: int, memory: int, cache: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.embedded.machine.cache_size._memory_megabytes", lambda: memory)
    assert cache_megabytes(stored(tmp_path, megabytes)) == cache


def test_a_file_that_cannot_be_looked_at_keeps_no_server_from_its_start(tmp_path: Path) -> None:
    folder = stored(tmp_path, 200) / "base"
    (folder / "gone").symlink_to(folder / "nowhere")
    assert cache_megabytes(tmp_path) > LEAST_MB


def test_the_private_server_starts_with_a_cache_for_what_it_stores(home: Path) -> None:
    with serving(home) as server:
        assert ask(server, "SHOW shared_buffers") == f"{LEAST_MB}MB"
    made = home / "data" / "base" / "made_up"
    made.touch()
    with made.open("wb") as file:
        file.truncate(150_000_000)
    with serving(home) as server:
        assert ask(server, "SHOW shared_buffers") == "192MB"
