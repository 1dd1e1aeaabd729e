"""Nothing is sent to another machine without consent: the gateway asks before every call."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.consent import Consent
from core.config.models.assignments import defaults_for
from core.domain.errors import ErrorCode
from core.domain.requests.request import NO_TOKENS
from core.engine.kinds.test_call import make_test_call, new_test_call
from core.gateway.cancellation import Cancellation
from core.gateway.model_gateway import CallResult, ModelGateway
from core.providers.base import Completion, ModelRequest, TextDelta
from core.providers.openai.provider import OpenAIProvider
from tests.core.values.sessions import NOW, SESSION_ID

pytestmark = pytest.mark.anyio

ADDRESS = "https://api.example.com/v1"


class Service:
    """A provider elsewhere that answers, and counts what it is asked."""

    name = "openai"

    def __init__(self, base_url: str | None = ADDRESS) -> None:
        self.base_url = base_url
        self.calls = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Completion, None]:
        self.calls += 1
        yield TextDelta("ready")
        yield Completion(finish_reason="stop", model="a-model")

    async def aclose(self) -> None:
        """Nothing is held."""


async def call(provider: Service | OpenAIProvider, consent: Consent | None) -> CallResult:
    gateway = ModelGateway(provider, defaults_for("openai"), consent, lambda: datetime.now(UTC))
    return await make_test_call(gateway, new_test_call(SESSION_ID, NOW), Cancellation())


@pytest.mark.parametrize("is_known", [True, False])
async def test_no_call_without_consent(tmp_path: Path, is_known: bool) -> None:
    service = Service()
    result = await call(service, Consent((), tmp_path / "consent.json") if is_known else None)
    assert result.error is not None
    assert result.error.code is ErrorCode.CONSENT_REQUIRED
    assert ADDRESS in result.error.message
    assert service.calls == 0


async def test_consent_counts_at_once_and_ends_at_once(tmp_path: Path) -> None:
    service, consent = Service(), Consent((), tmp_path / "consent.json")
    consent.grant(ADDRESS)
    assert (await call(service, consent)).text == "ready"
    consent.revoke(ADDRESS)
    assert (await call(service, consent)).error is not None
    assert service.calls == 1


async def test_a_call_that_waits_for_its_turn_is_not_sent_once_consent_is_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, consent = Service(), Consent((), tmp_path / "consent.json")
    consent.grant(ADDRESS)

    async def wait(*_: object, **__: object) -> None:
        consent.revoke(ADDRESS)

    monkeypatch.setattr("core.gateway.rates.RateLimiter.wait", wait)
    result = await call(service, consent)
    [artifact] = result.call_records.artifacts
    assert (artifact.error_code, artifact.usage) == (ErrorCode.CONSENT_REQUIRED, NO_TOKENS)
    assert service.calls == 0


async def test_what_stays_on_this_machine_needs_no_consent() -> None:
    assert (await call(Service(None), None)).text == "ready"


async def test_without_consent_not_even_the_key_is_looked_for() -> None:
    def find_key() -> SecretStr | None:
        raise AssertionError("not even the key may be looked for")

    provider = OpenAIProvider(base_url=ADDRESS, find_key=find_key)
    result = await call(provider, None)
    assert result.error is not None
    assert result.error.code is ErrorCode.CONSENT_REQUIRED
