"""The example chapters that come with the program; reading them blocks."""

from dataclasses import dataclass
from pathlib import Path

from core.exchange.scripts.chapter_script import ChapterScript, load_chapter_script
from core.text.numbers import counted

_HERE = Path(__file__).parents[2]
_NAMED = 3
"""A longer list of names would take two lines of the list on a narrow terminal."""


@dataclass(frozen=True, slots=True)
class ExampleChapter:
    """One example, set up and ready to be played."""

    script: ChapterScript

    @property
    def title(self) -> str:
        """The title of the chapter."""
        return self.script.title

    @property
    def cast(self) -> str:
        """The names of its characters, or how many they are."""
        cast = self.script.cast
        if len(cast) > _NAMED:
            return counted(len(cast), "character")
        return ", ".join(one.name for one in cast)


def find_examples() -> list[ExampleChapter]:
    """Return the examples by file name: those of the installed package, else those of the source tree."""
    folder = next((path for path in (_HERE / "examples", _HERE.parent / "examples") if path.is_dir()), None)
    files = sorted(folder.glob("*.toml")) if folder else []
    return [ExampleChapter(load_chapter_script(file)) for file in files]
