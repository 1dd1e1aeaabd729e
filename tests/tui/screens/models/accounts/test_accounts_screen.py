"""Accounts on the screen: listed, added, changed, tried out; no key of theirs shows or gets into a file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pydantic import SecretStr
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Select, Static

from core.config.sections import AccountSettings, AgentSettings, Profiles, ProfileSettings
from core.config.settings import load_settings
from storyengine_tui.bootstrap import Configuration
from storyengine_tui.screens.models.accounts.accounts_screen import AccountsScreen
from storyengine_tui.screens.models.accounts.typed_account import TypedAccount
from storyengine_tui.screens.models.model_screen import ModelScreen
from storyengine_tui.screens.models.permission.consent_modal import ConsentModal
from storyengine_tui.screens.models.trying_screen import NOTHING_SENT
from storyengine_tui.widgets.banner import Banner
from tests.core.config.models.test_keys import Memory
from tests.http_faults import FaultServer, error_reply
from tests.tui.conftest import PicturesMatch
from tests.tui.engine_app import until
from tests.tui.screens.models.test_connection import REMOTE, configuration
from tests.tui.screens.models.test_connection import ring as ring
from tests.tui.screens.models.test_model_screen import ModelApp

pytestmark = pytest.mark.anyio
KEY = "sk-canary-11aa22"
HEADER = "canary-header-33bb"


class Page:
    """The accounts as the GM sees them, opened from F6."""

    def __init__(self, pilot: Pilot[None], app: ModelApp) -> None:
        self.pilot = pilot
        self.app = app

    @property
    def list(self) -> str:
        return str(self.app.screen.query_one("#list", Static).content)

    @property
    def result(self) -> str:
        content = self.app.screen.query_one("#result", Banner).content
        return f"{content.sentence} {content.hint}".strip() if content else ""

    def enter(self, **fields: str) -> None:
        for name, value in fields.items():
            self.app.screen.query_one(f"#{name}", Input).value = value


async def opened(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, ModelScreen))
    await pilot.press("ctrl+n")
    await until(pilot, lambda: isinstance(pilot.app.screen, AccountsScreen))
    await until(pilot, lambda: bool(str(pilot.app.screen.query_one("#list", Static).content)))


@asynccontextmanager
async def page_of(configuration: Configuration) -> AsyncIterator[Page]:
    app = ModelApp(configuration)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        yield Page(pilot, app)


async def test_an_account_is_added_with_its_key_in_the_keyring_and_holds_at_once(
    tmp_path: Path, ring: Memory
) -> None:
    async with page_of(configuration(tmp_path)) as page:
        assert "no account yet" in page.list
        page.enter(
            name="work", base_url=REMOTE + "/", model="their/one", token_limit="32000", concurrency="2"
        )
        page.enter(requests_per_minute="60", key=KEY)
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.result.startswith("Saved"))
        await until(page.pilot, lambda: "key from the keyring" in page.list)
        assert REMOTE in page.list
        assert KEY not in page.app.export_screenshot()
        await page.pilot.press("escape")
        await until(page.pilot, lambda: isinstance(page.app.screen, ModelScreen))
        heading = page.app.screen.query_one("#models-heading", Static)
        assert str(heading.content) == "Models; work:MODEL is one of the account work"
        await page.pilot.press("escape")
        await until(page.pilot, lambda: page.app.results)
    [changed] = page.app.results
    assert changed is not None, "what was saved holds although nothing was connected"
    assert ring.get_password("storyengine", "account:work") == KEY
    wanted = AccountSettings(
        base_url=REMOTE, model="their/one", token_limit=32_000, concurrency=2, requests_per_minute=60
    )
    assert changed.settings.accounts == {"work": wanted}
    assert load_settings(changed.paths.config_file).accounts == {"work": wanted}
    assert KEY not in changed.paths.config_file.read_text()


async def test_an_account_that_is_being_written_when_esc_is_pressed_holds_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, begun, may_go_on = TypedAccount.save, Event(), Event()

    def slow(typed: TypedAccount, before: Configuration) -> Configuration:
        begun.set()
        assert may_go_on.wait(20)
        return save(typed, before)

    monkeypatch.setattr(TypedAccount, "save", slow)
    async with page_of(configuration(tmp_path)) as page:
        page.enter(name="work", base_url=REMOTE)
        await page.pilot.press("f9")
        await until(page.pilot, begun.is_set)
        await page.pilot.press("escape")
        may_go_on.set()
        await until(page.pilot, lambda: isinstance(page.app.screen, ModelScreen))
        await page.pilot.press("escape")
        await until(page.pilot, lambda: page.app.results)
    [changed] = page.app.results
    assert changed is not None, "it is in the settings"
    assert list(changed.settings.accounts) == ["work"]


async def test_what_is_not_on_the_page_stays_when_an_account_is_changed(tmp_path: Path) -> None:
    secret = AccountSettings(
        base_url=REMOTE, api_key=SecretStr(KEY), headers={"X-Token": SecretStr(HEADER)}, alternate_roles=True
    )
    async with page_of(configuration(tmp_path, accounts={"work": secret})) as page:
        assert "headers X-Token" in page.list
        page.app.screen.query_one("#account", Select).value = "work"
        await until(page.pilot, lambda: page.app.screen.query_one("#base_url", Input).value == REMOTE)
        assert page.app.screen.query_one("#name", Input).disabled
        page.app.screen.query_one("#enabled", Select).value = False
        page.enter(model="another")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.result.startswith("Saved"))
        await until(page.pilot, lambda: "switched off" in page.list)
        assert HEADER not in page.app.export_screenshot()
        await page.pilot.press("escape", "escape")
        await until(page.pilot, lambda: page.app.results)
    [changed] = page.app.results
    assert changed is not None
    update = {"model": "another", "enabled": False}
    assert changed.settings.accounts["work"] == secret.model_copy(update=update)
    written = changed.paths.config_file.read_text()
    assert "enabled = false" in written
    assert KEY not in written
    assert HEADER not in written


async def test_a_new_account_with_the_name_of_another_is_refused_and_that_one_stays(
    tmp_path: Path, ring: Memory
) -> None:
    known = AccountSettings(base_url=REMOTE, model="their/one", api_key=SecretStr(KEY))
    before = configuration(tmp_path, accounts={"work": known})
    async with page_of(before) as page:
        page.enter(name="work", base_url="http://127.0.0.1:9/v1", key="sk-another")
        for key in ("f9", "f8"):
            await page.pilot.press(key)
            await until(page.pilot, lambda: page.result.startswith("There is an account work already"))
            page.app.screen.query_one("#result", Banner).hide()
        page.enter(name="other")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: page.result.startswith("Saved"))
        # What was just added is changed by the next Save, and is no second one.
        page.enter(model="m")
        await page.pilot.press("f9")
        await until(page.pilot, lambda: "base_url" in before.paths.config_file.read_text())
        await page.pilot.press("escape", "escape")
        await until(page.pilot, lambda: page.app.results)
    [changed] = page.app.results
    assert changed is not None
    assert changed.settings.accounts["work"] == known
    assert set(changed.settings.accounts) == {"work", "other"}
    assert ring.get_password("storyengine", "account:work") is None


REFUSED: tuple[tuple[dict[str, str], str], ...] = (
    ({"name": "Not plain"}, "lower-case letters"),
    ({"name": "local"}, "not “local”"),
    ({"base_url": "ftp://x"}, "base url of the account is not valid: it is no address"),
    ({"concurrency": "0"}, "concurrency of the account is not valid"),
    ({"token_limit": "many"}, "token limit of the account is not"),
)


async def test_what_cannot_be_an_account_is_refused_in_a_sentence_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    valid = {"name": "work", "base_url": REMOTE, "concurrency": "", "token_limit": ""}
    settings = configuration(tmp_path)
    async with page_of(settings) as page:
        for fields, words in REFUSED:
            page.enter(**{**valid, **fields})
            await page.pilot.press("f9")
            await until(page.pilot, lambda: words in page.result, words)  # noqa: B023 - awaited here
        await page.pilot.press("escape", "escape")
        await until(page.pilot, lambda: page.app.results)
    assert page.app.results == [None]
    assert not settings.paths.config_file.exists()


async def test_an_account_that_an_agent_uses_cannot_be_switched_off(tmp_path: Path) -> None:
    profiles = Profiles(local=ProfileSettings(narrative=AgentSettings(model="work:big")))
    settings = configuration(tmp_path, profiles=profiles, accounts={"work": AccountSettings(base_url=REMOTE)})
    async with page_of(settings) as page:
        page.app.screen.query_one("#account", Select).value = "work"
        await until(page.pilot, lambda: page.app.screen.query_one("#base_url", Input).value == REMOTE)
        page.app.screen.query_one("#enabled", Select).value = False
        await page.pilot.press("f9")
        await until(page.pilot, lambda: "narrative is set to use, is switched off" in page.result)
    assert not settings.paths.config_file.exists()


async def test_a_test_calls_the_default_model_of_the_account_with_the_key_that_was_typed(
    tmp_path: Path,
) -> None:
    async with FaultServer() as server:
        async with page_of(configuration(tmp_path)) as page:
            page.enter(name="work", base_url=server.base_url)
            await page.pilot.press("f8")
            await until(page.pilot, lambda: "no default model" in page.result)
            page.enter(model="theirs", key=KEY)
            await page.pilot.press("f8")
            await until(page.pilot, lambda: "work:test-model answered" in page.result)
            server.script(error_reply(401))
            await page.pilot.press("f8")
            await until(page.pilot, lambda: page.result.startswith("work: The model's service refused"))
            assert "storyengine model key work" in page.result
        assert {call.headers["authorization"] for call in server.requests} == {f"Bearer {KEY}"}
        assert {call.body["model"] for call in server.requests} == {"theirs"}


async def test_a_test_asks_for_consent_to_the_address_of_the_account(tmp_path: Path) -> None:
    settings = configuration(tmp_path)
    async with page_of(settings) as page:
        page.enter(name="work", base_url=REMOTE, model="theirs")
        await page.pilot.press("f8")
        await until(page.pilot, lambda: isinstance(page.app.screen, ConsentModal))
        assert str(page.app.screen.query_one("#address", Static).content) == REMOTE
        await page.pilot.press("escape")
        await until(page.pilot, lambda: isinstance(page.app.screen, AccountsScreen))
        await until(page.pilot, lambda: page.result == NOTHING_SENT)
    assert not settings.consent.granted()


def test_picture_of_the_accounts(pictures_match: PicturesMatch, tmp_path: Path) -> None:
    accounts = {
        "openrouter": AccountSettings(
            base_url="https://openrouter.ai/api/v1", model="[/x]/one", headers={"X-Title": SecretStr("s")}
        ),
        "workstation": AccountSettings(base_url="http://localhost:11434/v1", enabled=False, concurrency=1),
    }

    async def act(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        pilot.app.screen.query_one("#account", Select).value = "openrouter"
        await until(pilot, lambda: bool(pilot.app.screen.query_one("#model", Input).value))

    app: App[None] = ModelApp(configuration(tmp_path, accounts=accounts))
    assert pictures_match(app, run_before=act)
