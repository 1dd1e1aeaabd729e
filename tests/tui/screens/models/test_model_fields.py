"""Length, temperature and account of every agent on F6: shown as they are sent, checked and written."""

from pathlib import Path

import pytest
from textual.events import Paste
from textual.widgets import Input, Select, Static

from core.config.sections import LONGEST_MODEL_NAME, AccountSettings, AgentSettings, Profiles, ProfileSettings
from core.config.settings import load_settings
from core.domain.agent_role import AgentRole
from core.domain.slot import Slot
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.connection import connect, connection_of
from storyengine_tui.screens.models.permission.consent_modal import ConsentModal
from tests.http_faults import FaultServer
from tests.tui.engine_app import until
from tests.tui.screens.models.test_connection import REMOTE, configuration
from tests.tui.screens.models.test_connection import ring as ring
from tests.tui.screens.models.test_model_screen import Page, page_of

pytestmark = pytest.mark.anyio


async def typed(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        page.screen.query_one(f"#{name.replace('_', '-')}", Input).value = value
    await page.pilot.pause()


def placeholder(page: Page, name: str) -> str:
    return page.screen.query_one(f"#{name}", Input).placeholder


async def test_length_and_temperature_of_every_agent_are_shown_as_sent_and_written(tmp_path: Path) -> None:
    async with page_of(configuration(tmp_path)) as page:
        assert (placeholder(page, "length-character"), placeholder(page, "temperature-character")) == (
            "80",
            "0.3",
        )
        assert placeholder(page, "length-narrative") == "250"
        await typed(page, length_character="120", temperature_narrative="0.75")
        page.screen.query_one("#length-slot-3", Input).value = "60"
        await until(page.pilot, lambda: placeholder(page, "length-slot-1") == "120")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.app.results)
    [connected] = page.app.results
    assert connected is not None
    for settings in (connected.settings, load_settings(connected.paths.config_file)):
        choices = Configuration(connected.paths, settings).choices
        assert choices[AgentRole.NARRATIVE].temperature == 0.75
        lengths = [
            choices.of(AgentRole.CHARACTER, slot).max_output_tokens for slot in (Slot.RED, Slot.YELLOW)
        ]
        assert lengths == [120, 60]
    async with page_of(connected) as page:
        assert page.screen.query_one("#length-character", Input).value == "120"
        await typed(page, length_character="", temperature_narrative="")
        page.screen.query_one("#length-slot-3", Input).value = ""
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.app.results)
    assert "120" not in connected.paths.config_file.read_text(), "an empty field is the default again"


async def test_what_finds_memories_by_meaning_is_shown_checked_and_written(tmp_path: Path) -> None:
    async with page_of(configuration(tmp_path)) as page:
        assert page.screen.query_one("#embedding", Input).value == ""
        assert placeholder(page, "embedding").startswith("empty: the bundled model")
        await typed(page, embedding=" off ")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.app.results)
    [connected] = page.app.results
    assert connected is not None
    for settings in (connected.settings, load_settings(connected.paths.config_file)):
        assert Configuration(connected.paths, settings).embedding is None
    async with page_of(connected) as page:
        assert page.screen.query_one("#embedding", Input).value == "off"
        await typed(page, embedding="")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.app.results)
    assert "off" not in connected.paths.config_file.read_text(), "an empty field is the default again"


async def test_a_service_that_finds_memories_is_asked_for_consent_before_anything_is_stored(
    tmp_path: Path,
) -> None:
    settings = configuration(tmp_path).settings.model_copy(
        update={"accounts": {"vectors": AccountSettings(base_url=REMOTE)}}
    )
    local = Configuration(configuration(tmp_path).paths, settings)
    async with page_of(local) as page:
        await typed(page, embedding="vectors:")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: "has no default" in page.result)
        await typed(page, embedding="vectors:embed-1")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: isinstance(page.app.screen, ConsentModal))
        called = str(page.app.screen.query_one("#called", Static).content)
        assert called == "Called there: embed-1 (meaning of memories)."
        await page.pilot.press("escape")
        await until(page.pilot, lambda: "no consent" in page.result)
    assert not local.consent.is_granted(REMOTE)
    assert not local.paths.config_file.exists()


async def test_a_number_that_no_call_can_have_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async with page_of(configuration(tmp_path)) as page:
        await typed(page, temperature_character="10.5")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: "“10.5” of All characters cannot be its temperature" in page.result)
        await typed(page, temperature_character="", length_narrative="0")
        await page.pilot.press("f8")
        await until(page.pilot, lambda: "“0” of Narrative cannot be its tokens out" in page.result)
        page.screen.query_one("#length-narrative", Input).focus()
        await page.pilot.press("x", "-")
        assert page.screen.query_one("#length-narrative", Input).value == "0", "only digits are typed"
    assert not page.app.results


async def test_a_character_may_be_played_at_an_account_beside_the_local_model(tmp_path: Path) -> None:
    async with FaultServer() as server:
        accounts = {"work": {"base_url": server.base_url, "model": "theirs"}}
        async with page_of(configuration(tmp_path, accounts=accounts)) as page:
            assert page.said("models-heading") == "Models; work:MODEL is one of the account work"
            await typed(page, model_slot_2="work:big")
            await until(page.pilot, lambda: placeholder(page, "length-slot-2") == "8000")
            await typed(page, model_slot_1="wrok:big")
            await until(page.pilot, lambda: "there is no account wrok" in page.said("model-note"))
            await typed(page, model_slot_1="")
            await page.pilot.press("f9")
            await until(page.pilot, lambda: page.app.results)
    [connected] = page.app.results
    assert connected is not None
    assert connected.choices.of(AgentRole.CHARACTER, Slot.ORANGE).label == "work:big"
    assert load_settings(connected.paths.config_file).active().characters[2].model == "work:big"


async def test_the_local_model_keeps_what_a_service_is_to_be_asked_for(tmp_path: Path) -> None:
    own = ProfileSettings(provider="openai", base_url=REMOTE, character=AgentSettings(model="llama3:8b"))
    before = configuration(tmp_path, profiles=Profiles(local=own))
    served, _ = connect(connection_of(before), before)
    served.consent.grant(REMOTE)
    async with page_of(served) as page:
        page.screen.query_one("#provider", Select).value = "local"
        await until(page.pilot, lambda: not page.shows("address"))
        assert page.screen.query_one("#model-character", Input).value == ""
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.app.results)
    [local] = page.app.results
    assert local is not None
    assert local.settings.profiles.local.character.model == "llama3:8b"
    async with page_of(local) as page:
        page.screen.query_one("#provider", Select).value = "openai"
        await until(page.pilot, lambda: page.shows("address"))
        page.screen.query_one("#provider", Select).value = "local"
        await until(page.pilot, lambda: not page.shows("address"))


async def test_the_arrows_go_from_agent_to_agent_in_the_same_column(tmp_path: Path) -> None:
    async with page_of(configuration(tmp_path)) as page:
        page.screen.query_one("#temperature-narrative", Input).focus()
        for key, reached in (
            ("down", "temperature-character"),
            ("down", "temperature-slot-1"),
            ("up", "temperature-character"),
        ):
            await page.pilot.press(key)
            assert page.app.focused is not None
            assert page.app.focused.id == reached


async def test_an_account_that_is_switched_off_is_said_and_not_connected(tmp_path: Path) -> None:
    accounts = {"work": {"base_url": REMOTE, "enabled": False}}
    async with page_of(configuration(tmp_path, accounts=accounts)) as page:
        await typed(page, model_narrative="work:big")
        await until(
            page.pilot,
            lambda: "work, which narrative is set to use, is switched off" in page.said("model-note"),
        )
        await page.pilot.press("f9")
        await until(page.pilot, lambda: "is switched off" in page.result)
    assert not page.app.results


async def test_a_name_longer_than_the_settings_take_is_not_taken_and_they_can_be_read_again(
    tmp_path: Path,
) -> None:
    async with page_of(configuration(tmp_path)) as page:
        page.screen.query_one("#model-narrative", Input).focus()
        page.app.post_message(Paste("m" * (LONGEST_MODEL_NAME + 1)))
        await page.pilot.press("x", "f9")
        await until(page.pilot, lambda: page.app.results)
    [connected] = page.app.results
    assert connected is not None
    stored = load_settings(connected.paths.config_file).active().narrative.model or ""
    assert len(stored) <= LONGEST_MODEL_NAME
