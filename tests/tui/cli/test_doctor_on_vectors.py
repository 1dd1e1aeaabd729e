"""The doctor says what makes vectors, whether it answers, and sends nothing to find out."""

from pathlib import Path

import pytest

from core.config.files.paths import Paths
from core.config.sections import AccountSettings, EmbeddingSettings
from core.config.settings import Settings
from core.domain.errors import StoryEngineError
from core.providers.embedding import weights
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.cli.commands.system.doctor import Finding, _consent, _embedding, _pgvector
from tests.core.providers.embedding.test_service_embedder import lengths
from tests.http_faults import FaultServer

pytestmark = pytest.mark.anyio


def configured(home: Path, service: str | None, **more: object) -> Configuration:
    settings = Settings.model_validate({"embedding": EmbeddingSettings(service=service), **more})
    return Configuration(Paths(home / "data", home / "config", home / "logs", home), settings)


async def said(configuration: Configuration) -> Finding:
    return await _embedding(configuration)


async def test_the_bundled_model_is_asked_for_a_vector(tmp_path: Path) -> None:
    found = await said(configured(tmp_path, None))
    assert found.text == f"{weights.MODEL} on this machine; nothing leaves it, answers with 384 numbers"
    assert not found.fix


async def test_without_its_weights_search_goes_by_words_unless_it_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package_of_weights")
    found = await said(configured(tmp_path, None))
    assert (found.text, found.fix) == (
        "its weights are not here; memories are searched by words alone, until "
        "`storyengine model fetch all-minilm-l6-v2` has fetched them",
        "",
    )
    with pytest.raises(StoryEngineError, match="are not on this machine"):
        await said(configured(tmp_path, "local"))


async def test_it_says_that_vectors_are_switched_off_or_made_by_a_rule(tmp_path: Path) -> None:
    assert "switched off" in (await said(configured(tmp_path, "off"))).text
    by_rule = await said(configured(tmp_path, None, provider="scripted"))
    assert by_rule.text.endswith("on this machine, in place of a model, answers with 256 numbers")


async def test_a_service_elsewhere_is_named_with_its_key_and_is_not_asked(tmp_path: Path) -> None:
    work = AccountSettings(base_url="https://work.invalid/v1")
    without = await said(configured(tmp_path, "work:embed-1", accounts={"work": work}))
    assert without.text == "work:embed-1 at https://work.invalid/v1 has no key"
    assert without.fix.endswith("WORK__API_KEY, or store one with `storyengine model key work`.")
    keyed = work.model_copy(update={"api_key": "sk-canary"})
    configuration = configured(tmp_path, "work:embed-1", accounts={"work": keyed.model_dump()})
    found = await said(configuration)
    assert (found.text[:42], found.fix) == ("work:embed-1 at https://work.invalid/v1, k", "")
    assert "canary" not in found.text
    with pytest.raises(StoryEngineError, match=r"https://work\.invalid/v1"):
        await _consent(configuration)


async def test_a_service_on_this_machine_is_asked(tmp_path: Path) -> None:
    async with FaultServer() as server:
        server.default = lengths
        accounts = {"here": AccountSettings(base_url=server.base_url)}
        found = await said(configured(tmp_path, "here:embed-1", accounts=accounts))
        assert found.text.endswith("answers with 2 numbers")


@pytest.mark.parametrize(
    ("offered", "installed", "can_be_made", "words"),
    [
        ("0.8.6", "0.8.5", True, "0.8.5 is in the database"),
        ("0.8.6", "", True, "0.8.6 is on the server, for the first vectors"),
        ("0.8.6", "", False, "CREATE EXTENSION vector"),
        ("", "", False, "searched by words alone"),
    ],
)
async def test_it_says_what_there_is_of_pgvector_and_never_fails_for_it(
    offered: str, installed: str, can_be_made: bool, words: str
) -> None:
    found = _pgvector(offered, installed, can_be_made)
    assert words in found.text
    assert not found.fix
