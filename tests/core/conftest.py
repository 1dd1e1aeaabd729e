"""What all tests of the core share."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
