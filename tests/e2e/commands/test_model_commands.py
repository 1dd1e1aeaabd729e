"""`storyengine model list`, `fetch`, `use`: the models of the catalogue from the command line."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from core.providers.local.catalogue import bundled, find_entry
from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.program import Machine

QWEN = find_entry("qwen")


@pytest.fixture
def here(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def put(machine: Machine) -> Path:
    """Store a file that looks like the model, with holes in place of its content."""
    folder = machine.data / "models"
    machine.data.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700)
    file = folder / QWEN.file_name
    with file.open("wb") as out:
        out.write(b"GGUF")
        out.truncate(QWEN.bytes)
    return file


def cells(machine: Machine) -> dict[str, list[str]]:
    lines = machine.call("model", "list").stdout.splitlines()
    return {line.split("\t")[0]: line.split("\t")[1:] for line in lines}


def settings(machine: Machine) -> dict[str, Any]:
    [file] = machine.root.glob("home/.config/**/config.toml")
    return tomllib.loads(file.read_text("utf-8"))


def test_list_says_size_memory_licence_and_what_is_in_use(here: Machine) -> None:
    listed = cells(here)
    assert list(listed) == ["smollm2-135m-instruct", "qwen2.5-coder-1.5b-instruct"]
    assert listed[bundled().name][:3] == ["98 MB", "700 MB", "Apache-2.0"]
    assert listed[bundled().name][4] == "in use"
    assert listed[QWEN.name][:3] == ["1.1 GB", "2.5 GB", "Apache-2.0"]
    assert listed[QWEN.name][4] == "no"


def test_a_model_that_is_here_is_used_and_the_bundled_one_ends_that(here: Machine) -> None:
    file = put(here)
    assert here.call("model", "use", "qwen").stdout.strip() == f"{QWEN.title} answers from now on."
    assert settings(here)["profiles"]["local"] == {"provider": "local", "model_path": str(file)}
    assert cells(here)[QWEN.name][4] == "in use"
    assert cells(here)[bundled().name][4] == "yes"
    assert QWEN.file_name.removesuffix(".gguf") in here.call("model", "show").stdout
    here.call("model", "use", bundled().name)
    assert settings(here)["profiles"]["local"] == {"provider": "local"}
    assert cells(here)[bundled().name][4] == "in use"


def test_use_leaves_everything_else_of_the_settings(here: Machine) -> None:
    put(here)
    here.call("model", "use", "qwen")
    [file] = here.root.glob("home/.config/**/config.toml")
    file.write_text(f'bell = true # mine\nprovider = "openai"\nmodel_path = "/x"\n{file.read_text("utf-8")}')
    here.call("model", "use", "smollm2")
    assert "bell = true # mine" in file.read_text("utf-8")
    assert settings(here) == {"bell": True, "profile": "local", "profiles": {"local": {"provider": "local"}}}


def test_use_says_where_the_environment_goes_first(here: Machine) -> None:
    put(here)
    done = here.call("model", "use", "qwen", STORYENGINE_MODEL_PATH="/x.gguf")
    assert "STORYENGINE_MODEL_PATH is set in the environment, and overrides config.toml" in done.stdout
    assert "answers from now on" not in done.stdout


def test_a_model_that_is_not_here_is_not_used_and_the_command_to_fetch_it_is_named(here: Machine) -> None:
    done = here.call("model", "use", "qwen")
    assert done.returncode == ExitCode.REFUSED
    assert "nothing was changed" in done.stderr
    assert "storyengine model fetch qwen2.5-coder-1.5b-instruct" in done.stderr
    assert not list(here.root.glob("home/.config/**/config.toml"))


@pytest.mark.parametrize("command", ["use", "fetch"])
def test_a_name_that_is_not_in_the_catalogue_is_a_sentence(here: Machine, command: str) -> None:
    done = here.call("model", command, "\x1b[2Jnothing")
    assert done.returncode == ExitCode.REFUSED
    assert "There is no one model “nothing” in the catalogue" in done.stderr


def test_fetch_says_where_the_weights_are_when_they_are_here(here: Machine) -> None:
    file = put(here)
    assert "here already" in here.call("model", "fetch").stdout
    assert "here already" in here.call("model", "fetch", "all-minilm-l6-v2").stdout
    assert str(file) in here.call("model", "fetch", "qwen").stdout.replace("\n", "")


def test_fetch_asks_first_and_without_a_terminal_does_nothing(here: Machine) -> None:
    done = here.call("model", "fetch", "qwen")
    assert done.returncode == ExitCode.REFUSED
    assert "storyengine model fetch qwen2.5-coder-1.5b-instruct --yes" in done.stderr
    assert not (here.data / "models").exists()
