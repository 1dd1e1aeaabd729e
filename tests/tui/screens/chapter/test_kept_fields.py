"""The fields of a page are kept in a file while the database does not take them."""

from pathlib import Path

import pytest

from storyengine_tui.screens.shared.kept_fields import Fields, KeptFields
from storyengine_tui.screens.shared.kept_text import KeptText

TYPED = {"world": ("A rock.", "A rock in the sea.")}


@pytest.fixture
def kept(tmp_path: Path) -> KeptText:
    return KeptText(tmp_path / "typed")


def opened(kept: KeptText, typed: Fields) -> KeptFields:
    fields = KeptFields(lambda: typed)
    fields.open(kept)
    return fields


def test_fields_that_were_kept_are_read_at_the_next_start_and_forgotten_once_they_are_stored(
    kept: KeptText,
) -> None:
    opened(kept, TYPED).keep()
    next_start = opened(kept, {})
    assert next_start.read() == TYPED
    next_start.forget()
    assert not kept.file.exists()


def test_a_chapter_that_is_left_leaves_its_file_and_the_next_one_nothing_in_it(kept: KeptText) -> None:
    fields = opened(kept, TYPED)
    fields.keep()
    before = kept.read()
    fields.close()
    fields.forget()
    assert kept.read() == before
    kept.forget()
    fields.keep()
    assert not kept.file.exists()


def test_a_file_from_another_window_is_not_deleted_by_one_that_kept_nothing(kept: KeptText) -> None:
    opened(kept, TYPED).keep()
    opened(kept, {}).forget()
    assert kept.file.exists()


def test_fields_without_a_file_are_kept_nowhere() -> None:
    fields = KeptFields(lambda: TYPED)
    fields.keep()
    assert fields.read() == {}
