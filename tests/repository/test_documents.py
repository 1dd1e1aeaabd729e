"""The program understands the commands, settings and chapter scripts that its documents show."""

import os
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from core.config.sections import AccountSettings, AgentSettings, ProfileSettings
from core.config.settings import Settings, load_settings
from core.domain.errors import ErrorCode
from core.exchange.scripts.blocks import BLOCK_KEYS
from core.exchange.scripts.chapter_script import CHARACTER_KEYS, FILE_KEYS, parse_chapter_script
from core.exchange.scripts.prompts import KEYS_OF_PROMPT
from core.exchange.scripts.scene import SECRET_KEYS
from core.providers.scripted.script import load_script
from storyengine_tui.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
COMMAND_LINE = ROOT / "docs" / "command-line.md"
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
TABLES_OF_A_SCRIPT = {"agent", "prompt", "secret", "block"}
WORLD = 'world = "A sea."\n'
CHAPTER = 'chapter = "A boat."\n'
CAST = "".join(f'[[agent]]\nname = "{name}"\nidentity = "One of Rime."\n' for name in ("Ines", "Joss"))


@cache
def program() -> Any:
    return get_command(app)


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in BLOCK.findall(page.read_text("utf-8"))]


def typed() -> Iterator[tuple[str, str]]:
    """Yield every command that a block of a page shows, with the name of the page."""
    for page in PAGES:
        for _, text in blocks(page):
            for line in text.splitlines():
                for run in re.findall(r"^ *(storyengine .*)|ARGS=\"([^\"]*)\"", line):
                    words = run[0] or f"storyengine {run[1]}"
                    if line.startswith("make run") or run[0]:
                        yield page.name, words


def in_words() -> Iterator[tuple[str, str]]:
    """Yield every command that the words of a page name, with the name of the page."""
    for page in PAGES:
        text = BLOCK.sub("", page.read_text("utf-8"))
        for words in re.findall(r"`(storyengine [^`…]*)`", text):
            yield page.name, " ".join(words.split())


def found(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that these words begin with, and the others; groups lead to their commands."""
    command, rest = program(), words
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def options_of(command: Any) -> set[str]:
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}


@pytest.mark.parametrize(("page", "line"), list(typed()), ids=lambda text: text[:60])
def test_a_command_that_a_page_shows_is_one_that_the_program_takes(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command, rest = found(words)
    assert not hasattr(command, "commands"), f"{page}: {line}"
    command.make_context(command.name, rest)


@pytest.mark.parametrize(("page", "line"), list(in_words()), ids=lambda text: text[:60])
def test_a_command_that_a_page_names_is_there_with_its_options(page: str, line: str) -> None:
    command, rest = found(line.split()[1:])
    is_general = rest[:1] == ["COMMAND"]
    assert is_general or not hasattr(command, "commands"), f"{page}: {line}"
    assert {word for word in rest if word.startswith("--")} <= options_of(command)


def test_the_table_of_commands_names_no_option_that_its_commands_lack() -> None:
    rows = [
        line for line in COMMAND_LINE.read_text("utf-8").splitlines() if line.startswith("| `storyengine")
    ]
    assert len(rows) > 20
    for row in rows:
        named = [found(words.split()[:3])[0] for words in re.findall(r"`(?:storyengine )?([^`]+)`", row)]
        known = {name for command in named if command is not program() for name in options_of(command)}
        assert set(re.findall(r"--[a-z-]+", row)) <= known, row


def commands_below(command: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command of a group, without the name of the program."""
    for name, one in getattr(command, "commands", {}).items():
        words = (*above, name)
        yield from commands_below(one, words) if hasattr(one, "commands") else (words,)


def test_the_table_of_commands_has_every_command() -> None:
    known = set(commands_below(program()))
    groups = {words[0] for words in known if len(words) > 1}
    named = {("db", "backup"), ("db", "restore")}  # other names of two in the table
    for row in COMMAND_LINE.read_text("utf-8").splitlines():
        if row.startswith("| `storyengine "):
            first, *others = [words.split() for words in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
            group = [first[1]] if first[1] in groups else []
            for words in (first[1:], *others):
                whole = words if words[0] in groups else [*group, *words]
                named.add(tuple(whole[: 2 if whole[0] in groups else 1]))
    assert not known - named


def named_on_pages() -> set[str]:
    """Return the words of all code on the pages, in blocks and between backticks."""
    texts = [page.read_text("utf-8") for page in PAGES]
    code = [text for page in texts for _, text in BLOCK.findall(page)]
    code += [text for page in texts for text in re.findall(r"`([^`\n]+)`", BLOCK.sub("", page))]
    return set(re.findall(r"[a-z_]+", "\n".join(code)))


def test_every_setting_is_named_on_a_page() -> None:
    models = (Settings, ProfileSettings, AgentSettings, AccountSettings)
    fields = {name for model in models for name in model.model_fields}
    in_environment = {f"STORYENGINE_{name.upper()}" for name in Settings.model_fields}
    texts = "\n".join(page.read_text("utf-8") for page in PAGES)
    as_variables = {name.removeprefix("STORYENGINE_").lower() for name in in_environment if name in texts}
    assert not fields - named_on_pages() - as_variables


def test_every_variable_that_the_program_reads_is_named_on_a_page() -> None:
    product = [
        file for file in modules() if file.relative_to(ROOT).parts[0] in ("core", "db", "storyengine_tui")
    ]
    read = {
        name
        for file in product
        for name in re.findall(r'"(STORYENGINE_[A-Z_]*[A-Z])"', file.read_text("utf-8"))
    }
    texts = "\n".join(page.read_text("utf-8") for page in (*PAGES, ROOT / "Makefile"))
    assert read
    assert not {name for name in read if name not in texts}


def test_every_key_of_a_chapter_script_is_named_on_the_page() -> None:
    known = {*FILE_KEYS, *CHARACTER_KEYS, *KEYS_OF_PROMPT, *SECRET_KEYS}
    page = COMMAND_LINE.read_text("utf-8").split("## Chapter scripts")[1].split("\n## ")[0]
    assert not known - set(re.findall(r"[a-z_]+", "\n".join(re.findall(r"`+[^`]+`+", page))))
    in_blocks = (ROOT / "docs" / "prompt-blocks.md").read_text("utf-8").split("## In a chapter script")[1]
    assert not set(BLOCK_KEYS) - set(re.findall(r"[a-z_]+", in_blocks))


def toml() -> list[tuple[str, str]]:
    return [(page.name, text) for page in PAGES for kind, text in blocks(page) if kind == "toml"]


def is_script(text: str) -> bool:
    return any(f"[[{table}]]" in text for table in TABLES_OF_A_SCRIPT)


def is_of_replies(text: str) -> bool:
    return "[[reply]]" in text


def is_of_settings(text: str) -> bool:
    return not is_script(text) and not is_of_replies(text)


@pytest.mark.parametrize("text", [t for _, t in toml() if is_of_replies(t)], ids=lambda text: text[:40])
def test_a_file_of_replies_of_a_page_can_be_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "replies.toml"
    file.write_text(text)
    assert load_script(file).reply


@pytest.mark.parametrize("text", [text for _, text in toml() if is_script(text)], ids=lambda text: text[:40])
def test_a_chapter_script_of_a_page_can_be_played(text: str) -> None:
    head = (WORLD if "\nworld =" not in text else "") + (CHAPTER if "\nchapter =" not in text else "")
    tail = CAST if "[[agent]]" not in text else ""
    prompts = "" if "[[prompt]]" in text else '[[prompt]]\ntext = "What now?"\n'
    parse_chapter_script(f"{head}{text}\n{tail}{prompts}")


@pytest.mark.parametrize("text", [t for _, t in toml() if is_of_settings(t)], ids=lambda text: text[:40])
def test_settings_that_a_page_shows_are_settings_of_the_program(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("STORYENGINE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config.toml"
    file.write_text(text)
    load_settings(file)


def test_the_failures_of_the_page_are_all_that_there_are() -> None:
    section = COMMAND_LINE.read_text("utf-8").split("## Failures")[1]
    assert set(re.findall(r"`([A-Z_]{8,})`", section)) == {code.value for code in ErrorCode}


def test_what_contributing_gives_to_make_test_can_be_run() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    given = [shlex.split(words) for words in re.findall(r'`make test ARGS="([^"]*)"`', text)]
    assert given
    for words in given:
        assert all((ROOT / word).exists() for word in words if word.startswith("tests/"))
        # Make divides the tests among workers, which no debugger can be in.
        assert "--pdb" not in words or words[words.index("-n") + 1] == "0"


@cache
def modules() -> tuple[Path, ...]:
    tops = ("core", "db", "storyengine_tui", "migrations", "tests", "tools", "bench")
    return tuple(file for top in tops for file in (ROOT / top).rglob("*.py"))


def modules_of(path: str) -> list[Path]:
    """Return the modules whose path ends so, as a page names one from a folder that says enough."""
    return [file for file in modules() if file.as_posix().endswith(f"/{path}")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_module_that_a_page_names_is_there_and_has_what_is_named_of_it(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not [path for path in re.findall(r"`([\w/]+/\w+\.py)`", text) if not modules_of(path)]
    named = [(path, name) for name, path in re.findall(r"`(\w+)` in `([\w/]+\.py)`", text)]
    for path, name in named + re.findall(r"`([\w/]+\.py)` \(`(\w+)`\)", text):
        sources = [file.read_text("utf-8") for file in modules_of(path)]
        assert any(re.search(rf"^ *(?:def|class) {name}\b", one, re.MULTILINE) for one in sources), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_path_and_a_goal_of_make_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    tops = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] not in "._")
    # Only architecture.md leaves the suffix of a module out; a test of its own reads it.
    paths = re.findall(rf"`((?:{tops})/[\w./-]+)`", text) if page.name != "architecture.md" else []
    assert not [path for path in paths if not (ROOT / path).exists()]
    goals = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?:^|`)make ([a-z0-9-]+)", text, re.MULTILINE)) <= set(goals)
