"""Every private part of Textual has a switch, and is used with the exact versions that were tested alone."""

import pytest
import textual

from storyengine_tui.textual_ext import parts
from storyengine_tui.textual_ext.parts import PLAIN_OUTPUT, WITHOUT, Part, is_enabled, is_tested


@pytest.fixture(autouse=True)
def _tested_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no switch set, and the version that is installed taken for a tested one."""
    monkeypatch.delenv(WITHOUT, raising=False)
    monkeypatch.delenv(PLAIN_OUTPUT, raising=False)
    monkeypatch.setattr(parts, "installed_version", lambda: "8.2.8")


def test_the_installed_textual_is_one_that_was_tested() -> None:
    assert textual.__version__ in parts.TESTED_VERSIONS, "run the tests with this Textual, then add it"


def test_only_exact_versions_count_as_tested() -> None:
    assert is_tested("8.2.8")
    assert not any(is_tested(version) for version in ("8.2.9", "8.2", "8.2.80", "8.3.0", "9.0"))


@pytest.mark.parametrize("part", Part)
def test_a_part_is_off_with_an_untested_textual(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_enabled(part)
    monkeypatch.setattr(parts, "installed_version", lambda: "8.3.0")
    assert not is_enabled(part)


@pytest.mark.parametrize("part", Part)
def test_a_part_can_be_turned_off_by_itself(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WITHOUT, f"unknown, {part}")
    assert [other for other in Part if not is_enabled(other)] == [part]


def test_all_parts_can_be_turned_off_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WITHOUT, "all")
    assert not [part for part in Part if is_enabled(part)]


def test_plain_output_turns_off_what_changes_the_painting_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PLAIN_OUTPUT, "0")
    assert all(is_enabled(part) for part in Part)
    monkeypatch.setenv(PLAIN_OUTPUT, "1")
    kept = {part for part in Part if is_enabled(part)}
    assert kept == {
        Part.RESILIENT_DRIVER,
        Part.PASTE_PARSER,
        Part.CRASH_RECOVERY,
        Part.OPTION_LISTS,
        Part.COMMAND_PALETTE,
        Part.WINDOW_TITLE,
    }
