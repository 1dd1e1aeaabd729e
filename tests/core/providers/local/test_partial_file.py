"""Which thread handles the bytes of a model that arrives."""

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.config.files.paths import Paths
from core.providers.local import partial_file
from core.providers.local.fetch import fetch
from core.providers.local.partial_file import PartialFile
from tests.core.providers.local.file_server import FileServer
from tests.core.providers.local.tiny_model import nothing, tiny_entry

pytestmark = pytest.mark.anyio


async def test_a_model_is_written_and_checked_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, set[int]] = defaultdict(set)

    def noting(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            threads[name].add(threading.get_ident())
            return work(*arguments)

        return noted

    class Digest:
        def __init__(self) -> None:
            digest = hashlib.sha256()
            self.update, self.hexdigest = noting("hash", digest.update), digest.hexdigest

    for name in ("restart", "append", "finish"):
        monkeypatch.setattr(PartialFile, name, noting(name, getattr(PartialFile, name)))
    monkeypatch.setattr(partial_file, "hashlib", SimpleNamespace(sha256=Digest))
    content = b"GGUF" + bytes(1_000_000)
    paths = Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path)
    async with FileServer(content) as server:
        await fetch(tiny_entry(content, address=server.address), paths, nothing)
    assert sorted(threads) == ["append", "finish", "hash", "restart"]
    assert threading.get_ident() not in set().union(*threads.values())
