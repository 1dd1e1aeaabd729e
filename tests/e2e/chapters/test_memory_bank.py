"""The memory bank, as users switch it on; and with the bundled model, whose items all have their proof."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from core.config.models.model_defaults import LOCAL_MODEL
from core.domain.bank.item import Item
from core.domain.requests.request import Request, RequestState
from core.domain.requests.request_kinds import RequestKind
from core.domain.story.event import Event
from db.store import open_store
from storyengine_tui.cli.exit_codes import ExitCode
from tests.e2e.program import Machine

TOLD = (
    "The lamp goes out. The keeper Old Tam lies in the bed below.",
    "A wave breaks the window. The harbour of Varn is dark.",
    "You find a brass key under the stairs.",
    "The boat is loose. Your left hand bleeds.",
    "Who lit the fire on the reef?",
    "The ship Corrie Anne fires a gun.",
    "The oil is gone.",
)


@dataclass
class Kept:
    """What the database has of the newest chapter."""

    items: Sequence[Item]
    events: Sequence[Event]
    requests: Sequence[Request]


async def _kept(url: str) -> Kept:
    store = await open_store(url)
    try:
        session_id = (await store.chapters.listed())[0].id
        requests = await store.calls.requests(session_id, kind=RequestKind.EXTRACTION)
        return Kept(await store.bank.items(session_id), await store.log(session_id), requests)
    finally:
        await store.aclose()


def test_a_chapter_is_switched_on_and_off_by_name(served: tuple[Machine, str]) -> None:
    here, url = served
    here.play("Kept", 2)
    said = here.lines("bank", "on", "last")
    assert said == [
        "The chapter keeps a memory bank. 1 part of it will be read, in the background, while it is open."
    ]
    [waiting] = asyncio.run(_kept(url)).requests
    assert waiting.state is RequestState.PENDING
    assert "memory bank: items of prompts 1–2" in "\n".join(here.lines("queue", "list"))
    [stopped] = here.lines("bank", "off", "last")
    assert stopped == "The chapter keeps no memory bank; the items that it has stay."
    assert here.call("bank", "on", "nothing").returncode == ExitCode.REFUSED


def test_what_reading_costs_is_said_and_asked_before_a_bank_is_kept(served: tuple[Machine, str]) -> None:
    here, _ = served
    here.play("Costly", 2)
    settings = here.root / "home" / ".config" / "storyengine" / "config.toml"
    settings.parent.mkdir(0o700, parents=True, exist_ok=True)
    settings.write_text('[prices."MODEL"]\ninput = 1.0\noutput = 10.0\n'.replace("MODEL", LOCAL_MODEL))
    try:
        refused = here.call("bank", "on", "last")
        assert refused.returncode == ExitCode.REFUSED
        assert re.search(r"Reading 1 part sends about [\d,]+ tokens, and costs up to \$\d", refused.stdout), (
            refused.stdout
        )
        assert "Add --yes to have it read." in refused.stderr
        costs, kept = here.lines("bank", "on", "last", "--yes")
        assert refused.stdout.split() == costs.split()
        assert kept.startswith("The chapter keeps a memory bank. 1 part of it will be read")
    finally:
        settings.unlink()


def test_a_search_says_where_the_words_are_and_which_name_a_word_was_taken_for(
    served: tuple[Machine, str],
) -> None:
    here, _ = served
    here.play("Sought with Kara", 2)
    said = here.lines("search", "sought kara", "--session", "last")
    assert "transcript, prompt 2  GM: Sought with Kara, prompt 2: what now?" in said
    first, *others = here.lines("search", "Karra", "--session", "last")
    assert first == "Nothing has “Karra”; this is for “Kara”:"
    assert set(others) == set(here.lines("search", "Kara", "--session", "last"))
    hits = json.loads(here.call("search", "kara", "--session", "last", "--json").stdout)
    prompt = next(hit for hit in hits if hit["who"] == "GM")
    assert prompt["text"][prompt["start"] : prompt["end"]] == "Kara"
    assert here.lines("search", "zeppelin", "--session", "last") == ["Nothing was found."]


@pytest.mark.chapter
def test_the_bundled_model_reads_a_chunk_to_its_end_and_keeps_only_what_has_evidence(
    served: tuple[Machine, str],
) -> None:
    here, url = served
    prompts = "".join(f'[[prompt]]\ntext = "{text}"\n' for text in TOLD)
    setting = 'title = "Rime"\nworld = "A lighthouse, 1890."\nchapter = "A storm at Rime."\nbank = true\n'
    cast = "".join(f'[[agent]]\nname = "{name}"\nidentity = "{name} of it."\n' for name in ("Mira", "Joss"))
    script = here.write("rime.toml", setting + cast + prompts)
    with here.start("play", script, "--provider", "local") as played:
        _, errors = played.communicate(timeout=1_200)
    assert played.returncode == 0, errors
    kept = asyncio.run(_kept(url))
    assert [one.state for one in kept.requests] == [RequestState.DONE]
    assert kept.items
    texts = {(one.prompt_index, one.take, one.ordinal): one.text for one in kept.events}
    for item in kept.items:
        for proof in item.evidence:
            assert texts[proof.place][proof.start : proof.end] == proof.words
