"""A test call of F6 while the database takes nothing: the page does not wait until it does."""

import asyncio
from typing import Any

import pytest

from storyengine_tui.screens.models import connection


class AwaySession:
    """A session whose database takes nothing."""

    is_read_only = False

    async def record_test_call(self, *_: object) -> None:
        """Wait for the database."""
        await asyncio.Event().wait()


@pytest.mark.anyio
async def test_the_page_says_that_a_test_call_is_recorded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "RECORD_SECONDS", 0.0)
    session: Any = AwaySession()
    call: Any = None  # handed on as it is
    said = await connection._record(session, call, call)
    assert said == "This test is recorded as soon as the database takes it."
