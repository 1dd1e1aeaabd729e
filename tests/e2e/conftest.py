"""The machine that the tests of the command line share."""

from collections.abc import Iterator

import pytest

from tests.e2e.program import Machine, warm_machine


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[Machine, str]]:
    """A machine whose server is up, and its database's URL."""
    with warm_machine() as both:
        yield both


@pytest.fixture
def here(served: tuple[Machine, str]) -> Machine:
    """A machine whose server is up; sessions of other tests are there too."""
    return served[0]
