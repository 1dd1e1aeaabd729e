"""A fault server, a provider that talks to it over real HTTP, and a machine for the bundled models."""

from collections.abc import AsyncIterator, Callable

import pytest
from pydantic import SecretStr

from core.config.files.paths import Paths
from core.providers.openai.provider import OpenAIProvider
from tests.core.providers.asking import KEY
from tests.http_faults import FaultServer


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    """The directories of a machine, which the tests of a file share with the model that runs there."""
    home = tmp_path_factory.mktemp("home")
    return Paths(home / "data", home / "config", home / "logs", home)


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[FaultServer]:
    async with FaultServer() as running:
        yield running


@pytest.fixture
async def make(server: FaultServer) -> AsyncIterator[Callable[..., OpenAIProvider]]:
    made: list[OpenAIProvider] = []

    def build(
        base_url: str = "",
        find_key: Callable[[], SecretStr | None] = lambda: SecretStr(KEY),
    ) -> OpenAIProvider:
        provider = OpenAIProvider(base_url=base_url or server.base_url, find_key=find_key)
        made.append(provider)
        return provider

    yield build
    for provider in made:
        await provider.aclose()


@pytest.fixture
async def provider(make: Callable[..., OpenAIProvider]) -> OpenAIProvider:
    return make()
