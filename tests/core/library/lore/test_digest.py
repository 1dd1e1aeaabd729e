"""The digest of an entry, which is stored with replies: the same for the same entry in every version."""

from dataclasses import fields, make_dataclass, replace
from typing import Any

import pytest

from core.library.lore.activation.scene import DIGESTED, digest_of
from core.library.lore.book import LoreEntry, Position
from tests.core.library.lore.test_lore_formats import FULL

BELL = LoreEntry(
    uid="7",
    keys=("bell", "/r.ng/i"),
    content="It rings — \ud800.",
    position=Position.AT_DEPTH,
    depth=3,
    probability=37.5,
    sticky=4,
    groups=("g",),
)


def test_digests_that_are_stored_mean_the_same_entries_for_ever() -> None:
    assert digest_of(LoreEntry(uid="1", content="Old.")) == "de21074e12bd31a5"
    assert digest_of(BELL) == "cfe847c2f38f8434"


def test_a_field_that_later_versions_add_changes_no_digest() -> None:
    later = make_dataclass(
        "Later", [("of_a_later_version", bool)], bases=(LoreEntry,), frozen=True, kw_only=True
    )
    values: dict[str, Any] = {one.name: getattr(BELL, one.name) for one in fields(LoreEntry)}
    assert digest_of(later(**values, of_a_later_version=True)) == digest_of(BELL)


@pytest.mark.parametrize("name", [one.name for one in fields(LoreEntry)])
def test_an_edit_of_any_field_is_another_digest(name: str) -> None:
    """A new field belongs into `DIGESTED`, behind the others."""
    assert name in DIGESTED
    other = {"is_selective": False, "uses_regex": True}.get(name, getattr(FULL, name))
    changes: dict[str, Any] = {name: other}
    plain = LoreEntry(uid="")
    assert digest_of(replace(plain, **changes)) != digest_of(plain)
