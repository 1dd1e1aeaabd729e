"""The machine that the tests of the command line share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Machine, warm_machine
from tests.store.servers import cloned


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[Machine, str]]:
    """A machine whose server is up, and its database's URL."""
    with warm_machine() as both:
        yield both


@pytest.fixture
def here(served: tuple[Machine, str]) -> Machine:
    """A machine whose server is up; sessions of other tests are there too."""
    return served[0]


class _OnItsOwn(Machine):
    """A machine that names a database of its own."""

    def __init__(self, root: Path, url: str) -> None:
        super().__init__(root)
        self._url = url

    @property
    def environment(self) -> dict[str, str]:
        """Return what the machine sets, and the database's address."""
        return {**super().environment, "STORYENGINE_DATABASE_URL": self._url}


@pytest.fixture
def fresh(private_template: str, tmp_path: Path) -> Iterator[Machine]:
    """A machine with an empty database of its own, for what looks at all that there is."""
    for url in cloned(private_template):
        yield _OnItsOwn(tmp_path / "machine", url)
