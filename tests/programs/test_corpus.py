"""Every file that was ever found to break an importer, and those that the fuzzing begins with."""

from pathlib import Path

import pytest

from tools.fuzz_targets import TARGETS, Target

KEPT = [(target, file) for target in TARGETS for file in target.kept]


@pytest.mark.parametrize(("target", "file"), KEPT, ids=lambda value: value.name)
def test_no_file_of_the_corpus_breaks_its_importer(target: Target, file: Path) -> None:
    target.check(file.read_bytes())


def test_every_importer_has_a_corpus() -> None:
    assert {target.name for target, _ in KEPT} == {
        *("play", "session", "config", "env", "consent"),
        *("terminal", "replies", "tries", "asked", "last-session", "kept-text", "catalogue", "listing"),
        *("news", "correction", "cards", "cards-json", "charx", "lore", "chats", "vectors", "bank-edit"),
    }
