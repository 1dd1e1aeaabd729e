"""The doctor checks the accounts that answer, and no other."""

from pathlib import Path

import pytest

from core.config.files.paths import Paths
from core.config.sections import AccountSettings
from core.config.settings import Settings
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.cli.commands.system.doctor import Finding, _models

pytestmark = pytest.mark.anyio
WORK = "https://work.invalid/v1"


async def found(home: Path, **more: object) -> list[Finding]:
    settings = Settings.model_validate({"provider": "openai", **more})
    configuration = Configuration(Paths(home / "data", home / "config", home / "logs", home), settings)
    return [finding async for finding in _models(configuration)]


async def test_an_account_that_answers_everything_is_checked_in_place_of_the_profile_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    keyed = AccountSettings.model_validate({"base_url": WORK, "api_key": "sk-canary"})
    [well] = await found(tmp_path, model="work:gpt", accounts={"work": keyed})
    assert (well.text, well.fix) == (f"work:gpt at {WORK}, key from the environment or settings", "")
    bare = AccountSettings(base_url=WORK)
    [ill] = await found(tmp_path, model="work:gpt", api_key="sk-own", accounts={"work": bare})
    assert ill.text == f"work:gpt at {WORK} has no key"
    assert "STORYENGINE_ACCOUNTS__WORK__API_KEY" in ill.fix
    assert "`storyengine model key work`" in ill.fix


async def test_every_account_of_an_agent_is_checked(tmp_path: Path) -> None:
    own, work = AccountSettings(base_url="https://own.invalid/v1"), AccountSettings(base_url=WORK)
    profiles = {"local": {"character": {"model": "work:gpt"}, "narrative": {"model": "own:prose"}}}
    told = await found(tmp_path, api_key="sk", profiles=profiles, accounts={"work": work, "own": own})
    assert len(told) == 3
    assert f"work:gpt at {WORK} has no key" in [finding.text for finding in told]
    assert "own:prose at https://own.invalid/v1 has no key" in [finding.text for finding in told]
