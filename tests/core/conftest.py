"""Fixtures of all tests of the core."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
