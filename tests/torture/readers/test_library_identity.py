"""Ten thousand made cards and lorebooks are the same after they were written and read again."""

import pytest
from hypothesis import Phase, settings

from tests.core.library.cards import test_card_identity as cards
from tests.core.library.lore import test_lore_formats as lore

EXAMPLES = 10_000
PROPERTIES = (
    cards.test_a_card_is_written_as_json_byte_for_byte,
    cards.test_a_card_goes_through_a_picture_and_keeps_every_value,
    cards.test_a_card_goes_through_an_archive_with_its_files,
    lore.test_a_book_of_a_card_is_written_byte_for_byte,
    lore.test_a_change_of_format_loses_no_value,
)


@pytest.mark.torture
@pytest.mark.parametrize("check", PROPERTIES, ids=lambda check: check.__name__)
def test_ten_thousand_made_files_are_what_they_were(check: object) -> None:
    profile = settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate])
    profile(check)()  # type: ignore[operator]
