"""A proposal in words, in one order whatever the order in which a database keeps its fields."""

from dataclasses import replace

import pytest

from core.domain.proposal import Occasion, Proposal, ProposedPart
from core.library.characters.character import Trait, record_of
from core.library.proposals.taking import identity_mark
from core.library.proposals.words import about, origin, proposed, there
from tests.core.library.proposals.proposal_samples import mira
from tests.core.library.proposals.proposal_samples import proposed as made

MIRA = mira()
BRAVE, BOLD = Trait(name="Brave", description="She goes first."), Trait(name="Bold", strength=1.0)
IS_BRAVE = "Description: She goes first.\nStrength: 0.5\nSentiment: 0"
CASES = {
    "short": (
        made(MIRA, ProposedPart.SHORT_DESCRIPTION, ({"text": ""},), ({"text": "New."},)),
        ("Short description", "—", "New."),
    ),
    "addition": (
        made(MIRA, ProposedPart.IDENTITY, (identity_mark(MIRA.identity),), ({"text": "She sings."},)),
        ("More of the identity", "The identity stays as it is; this is added behind it.", "She sings."),
    ),
    "new": (
        made(
            MIRA,
            ProposedPart.TRAIT,
            (),
            ({key: record_of(BRAVE)[key] for key in ("sentiment", "strength", "description", "name")},),
        ),
        ("New trait “Brave”", "—", IS_BRAVE),
    ),
    "changed": (
        made(
            MIRA,
            ProposedPart.TOPIC,
            ({"name": "Oil", "approach": ""},),
            ({"name": "Oil", "approach": "Asks."},),
        ),
        ("Topic “Oil”", "—", "Approach: Asks."),
    ),
    "merged": (
        made(MIRA, ProposedPart.TRAIT, (record_of(BRAVE), record_of(BOLD)), (record_of(BRAVE),)),
        (
            "Two traits as one: “Brave” and “Bold”",
            f"Brave:\n{IS_BRAVE}\nBold:\nStrength: 1\nSentiment: 0",
            IS_BRAVE,
        ),
    ),
}


@pytest.mark.parametrize(("proposal", "words"), CASES.values(), ids=CASES)
def test_a_proposal_says_what_it_is_about_what_is_there_and_what_is_proposed(
    proposal: Proposal, words: tuple[str, str, str]
) -> None:
    assert (about(proposal), there(proposal), proposed(proposal)) == words


@pytest.mark.parametrize("occasion", Occasion)
def test_each_occasion_has_words_and_the_prompt_where_there_is_one(occasion: Occasion) -> None:
    proposal = replace(CASES["short"][0], occasion=occasion)
    assert origin(proposal)
    assert origin(replace(proposal, prompt_index=1_200)) == f"{origin(proposal)}, prompt 1,200"
