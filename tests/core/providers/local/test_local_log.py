"""The log of the bundled model's server: private, appended to, and begun anew when it has grown large."""

from pathlib import Path

import pytest

from core.providers.local import server as local_server
from core.providers.local.server import _private_log


@pytest.mark.parametrize(("length", "kept"), [(0, 0), (10, 10), (11, 0)])
def test_a_log_larger_than_its_bound_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, kept: int
) -> None:
    monkeypatch.setattr(local_server, "_LARGEST_LOG_BYTES", 10)
    file = tmp_path / "logs" / "model.log"
    with _private_log(file) as log:
        log.write(b"x" * length)
    with _private_log(file) as log:
        log.write(b"more")
    assert file.read_bytes() == b"x" * kept + b"more"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
