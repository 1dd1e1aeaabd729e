"""Writes a few settings into config.toml and leaves everything else in it as it is, comments included.

A line editor, and no TOML writer: what it made is read again, and where that is not exactly what was meant
(the file may use a way of writing that lines do not show), nothing is written and the GM is told the lines.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.config.files.bounded_file import read_bounded
from core.config.files.paths import ENCODING
from core.config.files.private_files import write_privately
from core.domain.errors import ErrorCode, StoryEngineError
from core.text.cleaning import clean_line

SettingKey = tuple[str, ...]
SettingValue = str | int | float | bool
SettingsChanges = Mapping[SettingKey, SettingValue | None]
"""New values by key, such as `("profiles", "local", "provider")`; None takes a setting out."""

_HEADER = re.compile(r"\s*\[\s*([A-Za-z0-9_.\-\s]+?)\s*\]\s*(?:#.*)?\Z")
_ANY_HEADER = re.compile(r"\s*\[")


def change_settings(file: Path, changes: SettingsChanges) -> None:
    """Make `changes` true in `file` in one step; it is readable by its owner alone afterwards.

    Raises StoryEngineError with STORAGE_SAVE_FAILED, whose hint names the lines to write by hand.
    """
    target = file.resolve()
    try:
        before = _text_of(target) if target.exists() else ""
        after = edited(before, changes)
        if after != before:
            write_privately(target, after)
    except (OSError, ValueError, RecursionError) as error:
        reason = clean_line((error.strerror or "") if isinstance(error, OSError) else str(error))
        raise StoryEngineError(
            ErrorCode.STORAGE_SAVE_FAILED,
            f"{file} could not be changed ({reason}); nothing was written to it.",
            "Set this in it by hand: " + "; ".join(_by_hand(changes)),
        ) from error


def _text_of(file: Path) -> str:
    return read_bounded(file).decode(ENCODING)


def edited(text: str, changes: SettingsChanges) -> str:
    """Return `text` with `changes`; raise ValueError where that cannot be done line by line.

    Lines keep their ends, those of Windows too, and new ones get the end of the first.
    """
    before = tomllib.loads(text)
    # A line that is there already stays unchanged, with its comment.
    changes = {key: value for key, value in changes.items() if _read(before, key) != value}
    wanted = _changed(before, changes)
    lines = text.split("\n")
    carriage_return = "\r" if lines[0].endswith("\r") else ""
    if lines[-1]:
        lines[-1] += carriage_return
    _trim(lines)
    for key, value in changes.items():
        _set(lines, key, value, carriage_return)
    _trim(lines)
    result = "".join(f"{line}\n" for line in lines)
    try:
        is_right = tomllib.loads(result) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise ValueError("it is written in a way that is not safe to change")
    return result


def _trim(lines: list[str]) -> None:
    """Take the empty lines at the end away."""
    while lines and not lines[-1].rstrip("\r"):
        lines.pop()


def _read(settings: dict[str, Any], key: SettingKey) -> object:
    found: object = settings
    for step in key:
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _changed(settings: dict[str, Any], changes: SettingsChanges) -> dict[str, Any]:
    for (*path, name), value in changes.items():
        table = settings
        for step in path:
            if step not in table and value is None:
                break
            table = table.setdefault(step, {})
            if not isinstance(table, dict):
                raise ValueError(f"{step} is no table in it")
        else:
            if value is None:
                table.pop(name, None)
            else:
                table[name] = value
    return settings


def _set(lines: list[str], key: SettingKey, value: SettingValue | None, end: str) -> None:
    *path, name = key
    begin, after = _table(lines, tuple(path))
    if begin is None:
        if value is not None:
            lines += [*([end] if lines and lines[-1].strip() else []), f"[{'.'.join(path)}]{end}"]
            lines.append(_line(name, value) + end)
        return
    pattern = re.compile(rf"\s*(?:{re.escape(name)}|\"{re.escape(name)}\")\s*=")
    for number in range(begin, after):
        if pattern.match(lines[number]):
            lines[number : number + 1] = [] if value is None else [_line(name, value) + end]
            return
    if value is not None:
        while after > begin and not lines[after - 1].strip():
            after -= 1
        lines.insert(after, _line(name, value) + end)


def _table(lines: list[str], path: SettingKey) -> tuple[int | None, int]:
    """Return the lines of a table, its header left out; (None, 0) where it has none."""
    begin: int | None = None if path else 0
    for number, line in enumerate(lines):
        if not _ANY_HEADER.match(line):
            continue
        if begin is not None:
            return begin, number
        header = _HEADER.match(line)
        if header and tuple(part.strip() for part in header[1].split(".")) == path:
            begin = number + 1
    return begin, len(lines)


def _line(name: str, value: SettingValue) -> str:
    # A JSON string is a TOML basic string, save for DEL; numbers and truth are written alike.
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"


def _by_hand(changes: SettingsChanges) -> list[str]:
    return [
        f"{'.'.join(key)} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in changes.items()
        if value is not None
    ]
