"""The provider `local` in front of any server: what it sends, and what it does when the server changes."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from core.config.files.paths import Paths
from core.config.models.model_config import SMALL_SAMPLING
from core.domain.errors import ErrorCode
from core.providers.base import ProviderError
from core.providers.local.provider import LocalProvider
from core.providers.local.server import Endpoint, LocalServer
from tests.core.providers.asking import ask, fail, request
from tests.http_faults import FaultServer, error_reply

pytestmark = pytest.mark.anyio
DEATH = ProviderError(ErrorCode.LLM_SERVER_ERROR, "It has died.")


class Running:
    """A server of the bundled model that is always there."""

    def __init__(self, server: FaultServer) -> None:
        self.endpoint = Endpoint(server.base_url, "secret")
        self.is_dead = False
        self.is_closed = False

    async def ensure(self, model_file: Path) -> Endpoint:
        return self.endpoint

    async def death(self) -> ProviderError | None:
        return DEATH if self.is_dead else None

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.fixture
def running(server: FaultServer) -> Running:
    return Running(server)


def local(running: Running, tmp_path: Path) -> LocalProvider:
    paths = Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path)
    return LocalProvider(paths, server=cast("LocalServer", running))


async def test_the_model_of_this_machine_is_sent_all_of_the_sampling_that_is_asked_for(
    server: FaultServer, running: Running, tmp_path: Path
) -> None:
    provider = local(running, tmp_path)
    await ask(provider, replace(request(), sampling=SMALL_SAMPLING))
    await ask(provider, request())
    told, plain = server.bodies
    assert {key: told[key] for key in told.keys() - plain.keys()} == {
        "dry_multiplier": 0.8,
        "dry_allowed_length": 3,
        "dry_penalty_last_n": 1024,
        "repeat_penalty": 1.05,
        "min_p": 0.05,
    }
    await provider.aclose()
    assert running.is_closed


async def test_a_server_that_was_started_anew_is_asked_with_its_own_key(
    server: FaultServer, running: Running, tmp_path: Path
) -> None:
    provider = local(running, tmp_path)
    await ask(provider, request())
    await ask(provider, request())
    running.endpoint = Endpoint(server.base_url, "another")
    await ask(provider, request())
    keys = [one.headers["authorization"] for one in server.requests]
    assert keys == ["Bearer secret", "Bearer secret", "Bearer another"]
    await provider.aclose()


@pytest.mark.parametrize("is_dead", [True, False])
async def test_a_call_that_failed_because_the_server_died_says_so(
    server: FaultServer, running: Running, tmp_path: Path, is_dead: bool
) -> None:
    provider = local(running, tmp_path)
    running.is_dead = is_dead
    server.script(*[error_reply(500)] * 9)
    error = await fail(provider, ErrorCode.LLM_SERVER_ERROR)
    assert (error is DEATH) is is_dead
    await provider.aclose()


async def test_the_model_can_be_started_before_the_first_call(
    server: FaultServer, running: Running, tmp_path: Path
) -> None:
    provider = local(running, tmp_path)
    await provider.start()
    assert not server.requests
    assert (provider.name, provider.base_url) == ("local", None)
    await provider.aclose()
