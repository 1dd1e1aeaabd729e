"""The numbers of proposals count in the list that showed them."""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from core.domain.ids import CharacterId
from core.domain.proposal import Proposal, ProposedPart
from core.engine.services.library.proposals import Offered
from core.library.characters.character import LibraryCharacter
from storyengine_tui.cli.app import app
from storyengine_tui.cli.commands.library import proposals
from tests.core.library.proposals.proposal_samples import mira, proposed


class Library:
    """A library of two characters, each with one proposal; it remembers which were taken."""

    def __init__(self) -> None:
        self.cast = [replace(mira(), name="Ann"), replace(mira(), name="Old Mira")]
        self.made = [proposed(one, ProposedPart.IDENTITY, (), ({"text": one.name},)) for one in self.cast]
        self.taken: list[Proposal] = []
        self.characters = self.proposals = self

    async def find(self, name: str) -> LibraryCharacter:
        return next(one for one in self.cast if one.name == name)

    async def offered(self, character_id: CharacterId | None = None) -> list[Offered]:
        both = [Offered(made, one, is_outdated=False) for one, made in zip(self.cast, self.made, strict=True)]
        return [one for one in both if character_id in (None, one.character.id)]

    async def accept(self, proposal: Proposal) -> None:
        self.taken.append(proposal)


@pytest.mark.parametrize("of", [(), ("Old Mira",)])
def test_a_number_is_taken_of_the_list_that_showed_it_with_the_command_that_the_list_says(
    of: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library()

    @asynccontextmanager
    async def catalog(_: object) -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(library=library)

    async def unlocked() -> None:
        return None

    monkeypatch.setattr(proposals, "running_catalog", catalog)
    monkeypatch.setattr(proposals, "unlocked", unlocked)
    listed = CliRunner().invoke(app, ["cast", "proposals", *of]).output
    last = [line for line in listed.splitlines() if line.startswith(f"{1 if of else 2}. Old Mira")]
    assert last, listed
    command = shlex.split(listed.split("`")[1].removeprefix("storyengine "))
    CliRunner().invoke(app, [*command, "--take", last[0].split(".")[0]])
    assert library.taken == [library.made[1]]
