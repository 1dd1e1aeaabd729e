"""Of what a reply recalled, the nearest items count as used."""

from core.domain.ids import ItemId, new_uuid
from core.domain.story.reply_uses import MOST_USED, accesses_of, metadata_of, recalled_in


def test_only_the_first_of_what_was_recalled_count_as_used() -> None:
    recalled = [(ItemId(new_uuid()), number) for number in range(MOST_USED + 20)]
    metadata = metadata_of((), recalled)
    assert list(recalled_in(metadata)) == recalled
    accesses = accesses_of(metadata, 9)
    assert [one.item_id for one in accesses] == [item_id for item_id, _ in recalled[:MOST_USED]]
    assert [one.access_count for one in accesses] == list(range(1, MOST_USED + 1))
    assert {one.last_accessed for one in accesses} == {9}
