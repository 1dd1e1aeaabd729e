"""Nothing leaves without consent, to another host, through a proxy, or with more than was meant."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from core.config.consent import InvalidAddressError
from core.domain.errors import ErrorCode
from core.providers.openai.provider import OpenAIProvider
from tests.core.providers.asking import KEY, ask, fail, request
from tests.http_faults import FaultServer, Reply, error_reply

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(server: FaultServer, provider: OpenAIProvider, status: int) -> None:
    async with FaultServer() as elsewhere:
        server.script(Reply((), status, {"Location": f"{elsewhere.base_url}/chat/completions"}))
        await fail(provider, ErrorCode.LLM_REQUEST_ERROR)
        assert not elsewhere.requests
    assert len(server.requests) == 1


async def test_a_proxy_does_not_get_what_is_for_this_machine(
    server: FaultServer, make: Callable[..., OpenAIProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultServer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
        await ask(make())
        assert not proxy.requests
    assert len(server.requests) == 1


PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
RESOLVE = socket.getaddrinfo


def at_home(host: object, *rest: Any, **more: Any) -> Any:
    """Resolve every name to this machine, so that no name of a test is asked for outside."""
    return RESOLVE("127.0.0.1", *rest, **more)


async def test_what_goes_to_a_plain_http_address_goes_through_no_proxy(
    server: FaultServer,
    make: Callable[..., OpenAIProvider],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", at_home)
    address = server.base_url.replace("127.0.0.1", "service.invalid")
    assert "service.invalid" in address
    async with FaultServer() as proxy:
        for name in PROXIES:
            monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
        await ask(make(address))
        assert not proxy.requests, "the proxy was not agreed to"
    assert [recorded.path for recorded in server.requests] == ["/v1/chat/completions"]


async def test_a_proxy_for_an_https_address_is_told_its_name_and_nothing_that_it_could_read(
    make: Callable[..., OpenAIProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        heard.append(await reader.read(65_536))
        writer.close()

    proxy = await asyncio.start_server(hear, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    monkeypatch.setattr(socket, "getaddrinfo", at_home)
    for name in PROXIES:
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    async with proxy:
        await fail(make("https://service.invalid/v1"), ErrorCode.LLM_SERVER_ERROR, request("A secret plan."))
    first, tunnelled = heard
    assert first.startswith(b"CONNECT service.invalid:443 ")
    assert tunnelled[:1] == b"\x16", "a TLS handshake, and nothing before it"
    for secret in (KEY.encode(), b"A secret plan."):
        assert secret not in first + tunnelled


async def test_headers_are_ours_alone(
    server: FaultServer, make: Callable[..., OpenAIProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-someone")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-someone")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-alone")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer stray\nX-Stray: 1")
    await ask(make())
    await ask(make(find_key=lambda: None))
    with_key, without_key = (sent.headers for sent in server.requests)
    assert with_key["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in without_key
    assert set(without_key) == {
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "content-type",
        "content-length",
        "user-agent",
    }


async def test_the_environment_does_not_redirect_the_sdk(
    server: FaultServer, make: Callable[..., OpenAIProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultServer() as elsewhere:
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere.base_url)
        await ask(make())
        assert not elsewhere.requests


async def test_nothing_is_retried_behind_our_back(server: FaultServer, provider: OpenAIProvider) -> None:
    server.script(error_reply(500))
    await fail(provider, ErrorCode.LLM_SERVER_ERROR)
    assert len(server.requests) == 1


def test_an_address_on_this_machine_is_no_address(make: Callable[..., OpenAIProvider]) -> None:
    assert make("http://localhost:11434/v1").base_url is None


def test_an_address_with_a_password_is_refused_and_not_repeated(
    make: Callable[..., OpenAIProvider],
) -> None:
    with pytest.raises(InvalidAddressError) as caught:
        make("https://me:SECRET@api.example.com/v1")
    assert "SECRET" not in str(caught.value)
