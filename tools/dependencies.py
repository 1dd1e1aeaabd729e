"""Write docs/dependencies.md: each library of the lock files with version, licence and reason.

Versions come from the lock files and licences from the installed packages, so this needs no network. The
reason for a library is in `dependencies.toml` where we chose it, and comes from the metadata of its
dependents otherwise. A library that is not installed on every system and Python that we run on has its facts
in that file too: the page is the same wherever it is made. `--check` writes nothing and fails when the page
is stale, or when a library has no reason.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
FACTS = Path(__file__).with_suffix(".toml")
PROGRAM, CHECKS, MODEL = "requirements.lock", "requirements-dev.lock", "requirements-model.txt"

_PIN = re.compile(r"(?m)^([\w.-]+)==([^\s;\\]+)\s*(?:;\s*([^\\\n]+?))?\s*\\?$")
_SYSTEMS = (("linux", "Linux", "posix"), ("darwin", "Darwin", "posix"), ("win32", "Windows", "nt"))
_PYTHONS = ("3.11", "3.12", "3.13")
_TOP = """\
# Dependencies

Made by `make dependencies` from the lock files; the reasons stand in `tools/dependencies.toml`. A test fails
when a library appears without a reason, or when this page is not what the command would write.
"""


class UnexplainedError(Exception):
    """A library without a reason, or with facts that do not hold; the message is a line for each."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One line of a lock file."""

    name: str
    version: str
    marker: str

    @property
    def is_everywhere(self) -> bool:
        """Whether it is installed on every system and every Python that we run on."""
        return not self.marker or all(Marker(self.marker).evaluate(place) for place in environments())


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page."""

    name: str
    version: str
    licence: str
    reason: str


def environments() -> Iterator[dict[str, str]]:
    """Yield every place that the program runs on, in the words of environment markers."""
    for (system, platform, os_name), python in product(_SYSTEMS, _PYTHONS):
        yield {
            "sys_platform": system,
            "platform_system": platform,
            "os_name": os_name,
            "python_version": python,
            "python_full_version": f"{python}.9",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "platform_machine": "x86_64",
            "extra": "",
        }


def pins_of(lock_file: Path) -> dict[str, Pin]:
    """Return the libraries of a lock file by their canonical names."""
    found = _PIN.findall(lock_file.read_text("utf-8"))
    return {
        canonicalize_name(name): Pin(canonicalize_name(name), version, marker)
        for name, version, marker in found
    }


class Dependencies:
    """Contents of the lock files, with facts about them, and missing facts."""

    def __init__(self, root: Path = ROOT, facts: Path = FACTS) -> None:
        self._root = root
        self._facts: dict[str, Any] = tomllib.loads(facts.read_text("utf-8"))
        self.problems: list[str] = []

    @cached_property
    def _pins(self) -> dict[str, Pin]:
        files = (PROGRAM, CHECKS, "requirements-build.lock")
        return {name: pin for file in files for name, pin in pins_of(self._root / file).items()}

    @cached_property
    def _declared(self) -> tuple[Requirement, ...]:
        project = tomllib.loads((self._root / "pyproject.toml").read_text("utf-8"))
        named = (*project["project"]["dependencies"], *project["dependency-groups"]["dev"])
        return tuple(map(Requirement, named))

    @cached_property
    def _extras(self) -> Mapping[str, set[str]]:
        """The extras that anyone asks for, by library; an extra can ask for the extra of another."""
        extras: dict[str, set[str]] = {}
        waiting = list(self._declared)
        while waiting:
            requirement = waiting.pop()
            name = canonicalize_name(requirement.name)
            new = requirement.extras - extras.setdefault(name, set())
            if name not in self._pins or (not new and extras[name]):
                continue
            extras[name] |= new
            waiting += [
                wanted for wanted in _requirements(name) if _applies(wanted, extras[name]) and wanted.extras
            ]
        return extras

    @cached_property
    def _needed_by(self) -> Mapping[str, set[str]]:
        """Dependents of each library, by the metadata of those that are installed everywhere."""
        needed: dict[str, set[str]] = {}
        for name, pin in self._pins.items():
            if not pin.is_everywhere:
                continue
            for wanted in _requirements(name):
                child = canonicalize_name(wanted.name)
                if child != name and child in self._pins and _applies(wanted, self._extras.get(name, set())):
                    needed.setdefault(child, set()).add(name)
        return needed

    def page(self) -> str:
        """Return the page; raise UnexplainedError when something in it would have no licence or no reason."""
        program = pins_of(self._root / PROGRAM)
        model = pins_of(self._root / MODEL)
        checks = {name: pin for name, pin in self._pins.items() if name not in program}
        parts = (
            ("What the program runs on", program),
            ("What comes beside it", model),
            ("What only tests, checks and builds use", checks),
        )
        text = _TOP + "".join(f"\n## {title}\n\n{_table(self._rows(pins))}" for title, pins in parts)
        self._refuse_leftovers({**self._pins, **model})
        if self.problems:
            raise UnexplainedError("\n".join(self.problems))
        return text

    def _rows(self, pins: Mapping[str, Pin]) -> list[Row]:
        return [
            Row(pin.name, pin.version, self._licence(pin), self._reason(pin))
            for _, pin in sorted(pins.items())
        ]

    def _licence(self, pin: Pin) -> str:
        elsewhere = self._facts["elsewhere"].get(pin.name, {})
        installed = _metadata(pin.name)
        known: str = elsewhere.get("licence", "")
        if installed is not None:
            if installed["Version"] != pin.version:
                self.problems.append(
                    f"{pin.name}: {installed['Version']} is installed, {pin.version} is locked."
                )
            read = self._licence_in(installed)
            if known and read != known:
                self.problems.append(
                    f"{pin.name}: its licence is {read}, and dependencies.toml says {known}."
                )
            known = known or read
        if not known:
            self.problems.append(f"{pin.name}: its licence is not known.")
        return known

    def _licence_in(self, installed: metadata.PackageMetadata) -> str:
        """Return what the metadata says, in the words of SPDX where we know them."""
        names: Mapping[str, str] = self._facts["licences"]
        plain = (installed.get_all("License") or [""])[0].strip()
        classifiers = installed.get_all("Classifier") or []
        said = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: ")]
        if plain and "\n" not in plain:
            said = [plain]
        if "License-Expression" in installed:
            return installed["License-Expression"]
        return " OR ".join(names.get(licence, licence) for licence in said)

    def _reason(self, pin: Pin) -> str:
        chosen: str = self._facts["reasons"].get(pin.name, "")
        declared = {canonicalize_name(requirement.name) for requirement in self._declared}
        if chosen:
            return chosen
        if pin.name in declared:
            self.problems.append(
                f"{pin.name}: pyproject.toml names it, and dependencies.toml has no reason for it."
            )
        parents = self._facts["elsewhere"].get(pin.name, {}).get("needed_by") or self._needed_by.get(
            pin.name, ()
        )
        if not parents:
            self.problems.append(f"{pin.name}: nobody needs it, and dependencies.toml has no reason for it.")
        where = (
            f" ({self._facts['elsewhere'][pin.name]['where']})"
            if pin.name in self._facts["elsewhere"]
            else ""
        )
        return f"needed by {', '.join(sorted(parents))}{where}"

    def _refuse_leftovers(self, pins: Mapping[str, Pin]) -> None:
        """Facts that no longer say anything go, or nobody would trust the rest."""
        for table in ("reasons", "elsewhere"):
            gone = sorted(set(self._facts[table]) - set(pins))
            self.problems += [f"{name}: no lock file names it, and dependencies.toml does." for name in gone]
        for name, facts in self._facts["elsewhere"].items():
            unknown = sorted(set(facts["needed_by"]) - set(pins))
            self.problems += [f"{name}: needed by {parent}, which no lock file names." for parent in unknown]
            if name in pins and pins[name].is_everywhere:
                self.problems.append(f"{name}: it is installed everywhere; its facts are in its metadata.")
        missing = sorted(
            name
            for name, pin in pins.items()
            if not pin.is_everywhere and name not in self._facts["elsewhere"]
        )
        self.problems += [
            f"{name}: it is not installed everywhere; dependencies.toml must know it." for name in missing
        ]


def _metadata(name: str) -> metadata.PackageMetadata | None:
    try:
        return metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None


def _requirements(name: str) -> list[Requirement]:
    try:
        return [Requirement(line) for line in metadata.requires(name) or ()]
    except metadata.PackageNotFoundError:
        return []


def _applies(requirement: Requirement, extras: set[str]) -> bool:
    """Whether the requirement holds anywhere that we run, with any of `extras`."""
    marker = requirement.marker
    return marker is None or any(
        marker.evaluate({**place, "extra": extra})
        for place in environments()
        for extra in ("", *sorted(extras))
    )


def _table(rows: list[Row]) -> str:
    lines = ["| library | version | licence | why it is there |", "| --- | --- | --- | --- |"]
    lines += [f"| {row.name} | {row.version} | {row.licence} | {row.reason} |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or check it; say what is missing."""
    options = argparse.ArgumentParser(description="Write docs/dependencies.md from the lock files.")
    options.add_argument(
        "--check", action="store_true", help="write nothing, and fail when the page is stale"
    )
    is_check = options.parse_args().check
    try:
        page = Dependencies().page()
    except UnexplainedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if is_check and (not PAGE.exists() or PAGE.read_text("utf-8") != page):
        sys.stderr.write("docs/dependencies.md is stale: run `make dependencies`.\n")
        return 1
    if not is_check:
        PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
