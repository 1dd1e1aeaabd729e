"""Every fault of a model, for every kind of request, once, always and every other time: the stated outcome.

Here every fault of the scripted provider meets some kind always or every other time, in turn, and some kind
every second fault over HTTP; in `make torture` they all meet.
"""

import os
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from core.config.models.assignments import ModelAssignments
from core.domain.agent_role import AgentRole
from core.domain.errors import ErrorCode
from core.domain.requests.request_kinds import RequestKind
from core.providers.openai.provider import OpenAIProvider
from core.providers.scripted.script import Entry, Fault, ScriptMatch
from db.store import PostgresStore
from tests.engine.faults.fault_plan import Often, facing, hold_to_plan, repaired
from tests.engine.faults.http_fault_list import HTTP_FAULTS
from tests.engine.faults.test_faults import CODES, TWO_CALLS
from tests.engine.windows import CHOICES, MATCHES, QUICK, scripted
from tests.http_faults import Body, FaultServer, Reply, valid_reply

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_auto_saves")]

IS_WHOLE = os.environ.get("STORYENGINE_TORTURE") == "full"
JSON_KINDS = (RequestKind.LOCK, RequestKind.SUMMARY)
NO_FAULT = {
    Fault.CONTROL_CHARACTERS: tuple(MATCHES),  # cleaned, and used
    Fault.INVALID_JSON: (RequestKind.REPLY, RequestKind.NARRATIVE),  # prose is no JSON
    Fault.WRONG_SHAPE: (RequestKind.REPLY, RequestKind.NARRATIVE),
    # A lock of that size is within its bounds.
    Fault.BLOATED_JSON: (RequestKind.REPLY, RequestKind.NARRATIVE, RequestKind.LOCK),
}
"""Where what is a fault for others is a good answer."""
ODD_CALLS = tuple(range(1, 20, 2))


def entry(kind: RequestKind, fault: Fault, often: Often) -> Entry:
    calls = {Often.ONCE: (1,), Often.ALWAYS: (), Often.EVERY_OTHER: ODD_CALLS}[often]
    return Entry(match=ScriptMatch.model_validate(MATCHES[kind]), fault=fault, calls=calls)


def scripted_rows() -> list[tuple[Fault, RequestKind, Often]]:
    if IS_WHOLE:
        return list(product(Fault, MATCHES, Often))
    # `test_faults` has every pair once. By the step of three each kind has some of both ways.
    rows = []
    for number, fault in enumerate(Fault):
        kinds = [kind for kind in MATCHES if kind not in NO_FAULT.get(fault, ())] or [*MATCHES]
        often = (Often.ALWAYS, Often.EVERY_OTHER)[number % 2]
        rows.append((fault, kinds[3 * number // 2 % len(kinds)], often))
    return rows


@pytest.mark.parametrize(("fault", "kind", "often"), scripted_rows())
async def test_a_fault_of_the_scripted_model_comes_to_what_is_stated(
    store: PostgresStore, fault: Fault, kind: RequestKind, often: Often
) -> None:
    choices = QUICK if fault is Fault.HANG else CHOICES
    async with facing(store, kind, scripted(entry(kind, fault, often)), choices=choices) as row:
        if kind in NO_FAULT.get(fault, ()):
            await row.assert_done(await row.ask(), 1)
            return
        is_repaired = fault in TWO_CALLS and kind in JSON_KINDS
        await hold_to_plan(row, often, CODES[fault], is_repaired=is_repaired)
    if often is Often.ALWAYS:
        await repaired(store, row.session.id, kind)


def kind_of(body: Body) -> RequestKind:
    form = body.get("response_format") or {}
    name = form.get("json_schema", {}).get("name")
    if name is not None:
        return {"world_chapter_lock": RequestKind.LOCK, "turn_delta": RequestKind.SUMMARY}[name]
    return RequestKind.NARRATIVE if body["model"].startswith("gpt") else RequestKind.REPLY


class FaultyService:
    """What a service answers: the fault to some calls of one kind, and well to all others."""

    def __init__(self, name: str, kind: RequestKind, often: Often) -> None:
        self._make = HTTP_FAULTS[name][0]
        self._kind = kind
        self._often = often
        self._calls = 0

    def __call__(self, body: Body) -> Reply:
        if kind_of(body) is not self._kind:
            return valid_reply(body)
        self._calls += 1
        return self._make() if self._often.hits(self._calls) else valid_reply(body)


ROLES = {
    RequestKind.LOCK: AgentRole.WORLD_LOCK,
    RequestKind.REPLY: AgentRole.CHARACTER,
    RequestKind.SUMMARY: AgentRole.CONTEXT_SUMMARY,
    RequestKind.NARRATIVE: AgentRole.NARRATIVE,
}


def http_rows() -> list[tuple[str, RequestKind, Often]]:
    every = [(name, kind, often) for name in HTTP_FAULTS for kind, often in product(MATCHES, Often)]
    # One step more than a fault has rows, so that kinds and frequencies take turns.
    return every if IS_WHOLE else every[:: 2 * len(MATCHES) * len(Often) + 1]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK is imported once; a key in the environment is nobody's business."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize(("name", "kind", "often"), http_rows())
async def test_a_fault_of_a_service_over_http_comes_to_what_is_stated(
    store: PostgresStore, tmp_path: Path, name: str, kind: RequestKind, often: Often
) -> None:
    code = HTTP_FAULTS[name][1]
    more: dict[str, Any] = {}
    if code is ErrorCode.LLM_TIMEOUT and name == "silence":
        # Of what is tried alone: on a busy machine a call that goes well may take a second too.
        more["choices"] = ModelAssignments(
            {**CHOICES, ROLES[kind]: replace(CHOICES[ROLES[kind]], timeout=1.5)}
        )
    async with FaultServer() as server:
        server.default = FaultyService(name, kind, often)
        provider = OpenAIProvider(base_url=server.base_url, find_key=lambda: SecretStr("sk-test"))
        try:
            async with facing(store, kind, provider, **more) as row:
                await hold_to_plan(row, often, code, is_repaired=False)
        finally:
            await provider.aclose()
    if often is Often.ALWAYS:
        await repaired(store, row.session.id, kind)
