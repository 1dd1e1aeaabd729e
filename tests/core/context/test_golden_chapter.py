"""What a chapter without takes and audiences sends and stores stays as it was, byte for byte (design 21)."""

from pathlib import Path

import pytest

from core.config.models.model_config import PromptStyle
from core.domain.agent_role import AgentRole
from tests.core.rooms.golden_chapter import STORY, GoldenChapter

pytestmark = pytest.mark.anyio
GOLDEN = Path(__file__).parent / "golden" / "chapter"


@pytest.fixture(scope="module", params=list(PromptStyle))
async def played(request: pytest.FixtureRequest) -> GoldenChapter:
    chapter = GoldenChapter(request.param)
    await chapter.play()
    return chapter


def require_golden(name: str, text: str) -> None:
    """To accept a change, delete the file and run the test twice: the first run writes it and fails."""
    path = GOLDEN / name
    if not path.exists():
        path.write_text(text, encoding="utf-8", newline="")
        pytest.fail(f"{path.name} was written; look at it and commit it")
    assert path.read_bytes().decode("utf-8") == text


@pytest.mark.parametrize("role", AgentRole)
async def test_every_input_of_a_chapter_is_as_before(played: GoldenChapter, role: AgentRole) -> None:
    require_golden(f"{role}.{played.style}.txt", played.inputs(role))


async def test_calls_and_transactions_of_every_prompt_are_as_before(played: GoldenChapter) -> None:
    require_golden(f"work.{played.style}.txt", played.work())


async def test_the_golden_chapter_has_whatever_an_ordinary_chapter_has(played: GoldenChapter) -> None:
    """A summary with a repair round, a correction of canon, a retry and a last summary."""
    calls = {step.name: len(step.asked) for step in played.steps}
    assert len([name for name in calls if name.startswith("prompt")]) == len(STORY) + 1
    assert calls["prompt 7"] == 2
    assert calls["prompt 14"] == 3
    assert calls["prompt 12, failed"] == 1
    assert calls["the end"] == 1
    assert calls["the correction"] == 0
