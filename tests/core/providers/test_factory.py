"""The factory: the right provider for a profile, cheaply, with addresses and scripts checked at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.config.consent import InvalidAddressError
from core.config.files.paths import Paths
from core.config.models.accounts import accounts_of, own_account
from core.config.models.assignments import choose_models
from core.config.models.embedding import choose_embedding
from core.config.sections import EmbeddingSettings, ProfileSettings
from core.domain.errors import StoryEngineError
from core.providers.embedding.base import Embedder
from core.providers.factory import make_embedder, make_provider

ROOT = Path(__file__).parents[3]

PROGRAM = """
import sys
from pathlib import Path
from core.config.files.paths import Paths
from core.config.models.accounts import accounts_of, own_account
from core.config.models.assignments import choose_models
from core.config.models.embedding import choose_embedding
from core.providers.factory import make_embedder, make_provider
from core.config.sections import EmbeddingSettings, ProfileSettings
home = Path("unused")
for name in ("local", "openai", "scripted"):
    profile = ProfileSettings(provider=name)
    made = make_provider(own_account(profile, name), Paths(home, home, home, home), choose_models(profile))
    print(made.name, made.base_url)
for name, service in (("local", "local"), ("openai", "embed-1"), ("scripted", "local")):
    accounts = accounts_of(ProfileSettings(provider=name))
    choice = choose_embedding(EmbeddingSettings(service=service), accounts)
    made = make_embedder(choice, Paths(home, home, home, home))
    print(made.name, made.base_url, made.model.partition("-")[0])
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
        "local None all",
        "openai https://api.openai.com/v1 embed",
        "scripted None scripted",
        "[]",
    ]


def test_an_address_that_cannot_be_used_is_said_at_once(paths: Paths) -> None:
    profile = ProfileSettings(provider="openai", base_url="http://127.0.0.1@evil.example")
    with pytest.raises(InvalidAddressError):
        make_provider(own_account(profile, "local"), paths, choose_models(profile))


def test_a_script_that_cannot_be_used_is_said_at_once(paths: Paths) -> None:
    profile = ProfileSettings(provider="scripted", script=paths.data / "absent.toml")
    with pytest.raises(StoryEngineError, match=r"absent\.toml"):
        make_provider(own_account(profile, "local"), paths, choose_models(profile))


def test_synonyms_of_the_script_are_those_of_its_vectors(paths: Paths, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    made: list[Embedder] = []
    accounts = accounts_of(ProfileSettings(provider="scripted", script=script))
    choice = choose_embedding(EmbeddingSettings(), accounts)
    assert choice is not None
    for text in ("", 'synonyms = [["key", "latchkey"]]\n'):
        script.write_text(text)
        made.append(make_embedder(choice, paths))
    assert made[0].model != made[1].model
    script.write_text("synonyms = [[]]\n")
    with pytest.raises(StoryEngineError, match="synonyms"):
        make_embedder(choice, paths)
