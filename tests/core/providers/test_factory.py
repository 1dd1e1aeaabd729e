"""The factory: the right provider for a profile, cheaply, with addresses and scripts checked at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.config.consent import InvalidAddressError
from core.config.paths import Paths
from core.config.sections import ProfileSettings
from core.domain.errors import StoryEngineError
from core.providers.factory import make_provider

ROOT = Path(__file__).parents[3]

PROGRAM = """
import sys
from pathlib import Path
from core.config.paths import Paths
from core.providers.factory import make_provider
from core.config.sections import ProfileSettings
home = Path("unused")
for name in ("local", "openai", "scripted"):
    made = make_provider(ProfileSettings(provider=name), Paths(home, home, home, home))
    print(made.name, made.base_url)
print(sorted({"openai", "xllamacpp", "keyring", "httpx2"} & set(sys.modules)))
"""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path, tmp_path, tmp_path, tmp_path)


def test_making_one_imports_no_heavy_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        "local None",
        "openai https://api.openai.com/v1",
        "scripted None",
        "[]",
    ]


def test_an_address_that_cannot_be_used_is_said_at_once(paths: Paths) -> None:
    profile = ProfileSettings(provider="openai", base_url="http://127.0.0.1@evil.example")
    with pytest.raises(InvalidAddressError):
        make_provider(profile, paths)


def test_a_script_that_cannot_be_used_is_said_at_once(paths: Paths) -> None:
    profile = ProfileSettings(provider="scripted", script=paths.data / "absent.toml")
    with pytest.raises(StoryEngineError, match=r"absent\.toml"):
        make_provider(profile, paths)
