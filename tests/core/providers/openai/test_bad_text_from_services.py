"""Whatever a service puts beside its answer, nothing of it acts: errors, web pages, and the model's name."""

from itertools import cycle

import pytest

from core.domain.errors import ErrorCode
from core.providers.openai.provider import OpenAIProvider
from tests.bad_text import KINDS, BadText, acts
from tests.core.providers.asking import ask, fail
from tests.http_faults import DONE, FaultServer, Reply, chunk, error_reply

pytestmark = pytest.mark.anyio

EVERY = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def page(kind: BadText, status: int) -> Reply:
    """A web page where an answer was asked for."""
    body = f"<html><title>{kind.text}</title>{kind.text}</html>".encode("utf-8", "replace")
    return Reply((body,), status, {"Content-Type": "text/html"})


@EVERY
async def test_nothing_of_a_services_error_acts(
    server: FaultServer, provider: OpenAIProvider, kind: BadText
) -> None:
    server.script(error_reply(400, kind.text, code=kind.text, kind=kind.text, param=kind.text))
    error = await fail(provider, ErrorCode.LLM_REQUEST_ERROR)
    assert "Before it" in error.message
    assert not acts(f"{error.message}{error.hint}")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        pytest.param(kind, status, id=f"{kind.name}-{status}")
        for kind, status in zip(KINDS, cycle((200, 404, 502)), strict=False)
    ],
)
async def test_nothing_of_a_web_page_in_place_of_an_answer_acts(
    server: FaultServer, provider: OpenAIProvider, kind: BadText, status: int
) -> None:
    server.script(page(kind, status))
    code = ErrorCode.LLM_SERVER_ERROR if status == 502 else ErrorCode.LLM_REQUEST_ERROR
    error = await fail(provider, code)
    assert error.message
    assert not acts(f"{error.message}{error.hint}")


@EVERY
async def test_nothing_of_the_names_that_a_service_reports_acts(
    server: FaultServer, provider: OpenAIProvider, kind: BadText
) -> None:
    server.script(Reply((chunk("Hello.", model=kind.text), chunk(finish=kind.text, model=kind.text), DONE)))
    _, completion = await ask(provider)
    assert completion.model
    assert not acts(completion.model + completion.finish_reason)
