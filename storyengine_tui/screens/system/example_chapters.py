"""The example chapters that come with the program; reading them is blocking."""

from dataclasses import dataclass
from pathlib import Path

from core.exchange.chapter_script import ChapterScript, load_chapter_script

_HERE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class ExampleChapter:
    """One example, set up and ready to be played."""

    script: ChapterScript

    @property
    def title(self) -> str:
        """What the chapter is called."""
        return self.script.title

    @property
    def cast(self) -> str:
        """Who plays in it."""
        return ", ".join(agent.name for agent in self.script.agents)


def find_examples() -> list[ExampleChapter]:
    """Return the examples by title: those of the installed package, else those of the source tree."""
    folder = next((path for path in (_HERE / "examples", _HERE.parent / "examples") if path.is_dir()), None)
    files = sorted(folder.glob("*.toml")) if folder else []
    return [ExampleChapter(load_chapter_script(file)) for file in files]
