"""Canon reaches only who may know it, and all of it: random chapters in which every text carries a canary."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.context import visibility
from core.context.canon_locks import with_gm_locks
from core.context.carry_over import carry_over
from core.domain.audience import EVERYONE, NOBODY
from core.domain.story.memory import MemoryBlock
from core.domain.story.silence import Spoken
from core.engine.changes.canon import NewTake
from core.engine.kinds.memory import summary
from core.engine.services.takes import take_commands as takes
from tests.leaks.many_chapters import STEPS, play_chapters
from tests.leaks.random_chapter import RandomChapter

pytestmark = pytest.mark.anyio
CHAPTERS = 12
"""As many as those in which each gate that is broken must be noticed; torture plays thousands."""


async def test_no_input_has_what_its_reader_may_not_know_or_lacks_what_it_may() -> None:
    found = await play_chapters(range(CHAPTERS))
    assert found.leaks == []
    assert found.forgotten == []
    assert found.inputs > 20 * CHAPTERS
    assert found.checked > 100 * CHAPTERS
    assert found.set_off_count > 2 * CHAPTERS
    assert found.bank_count > 2 * CHAPTERS
    assert found.kept_count > CHAPTERS // 3


def _all_events(events: Sequence[Any], _: object) -> Any:
    return tuple(events)


def _all_blocks(session: Any, blocks: Sequence[MemoryBlock], *_: object) -> Any:
    return with_gm_locks(session, tuple(blocks), EVERYONE)


def _everyone_knows(*_: object) -> Any:
    return EVERYONE


def _all_pins(session: Any, blocks: Any, _: object = NOBODY, real: Any = with_gm_locks) -> Any:
    return real(session, blocks, NOBODY)


def _public_block(*values: Any, real: Any = summary._block, **more: Any) -> Any:
    return replace(real(*values, **more), audience=EVERYONE)


def _of_the_gm(_: object, story: visibility.Story) -> Any:
    return visibility.known_to_gm(visibility.Story(story.session, story.blocks, story.events))


def _handed_to_all(session: Any, *values: Any, real: Any = carry_over, **more: Any) -> Any:
    made = real(session, *values, **more)
    names = tuple(name for _, name in session.roster)
    return replace(made, lines=tuple(replace(line, known_to=names) for line in made.lines))


def _by_place(session: Any, line: Any) -> Any:
    return session.audience_of(slot for slot in session.slots if slot.default_name in line.known_to)


def _asked_aloud(*values: Any, real: Any = takes.ask_again, **more: Any) -> Any:
    changes, request_id = real(*values, **more)
    loud = [replace(one, audience=EVERYONE) if one.id == request_id else one for one in changes.requests]
    return replace(changes, requests=tuple(loud)), request_id


def _all_lore(lore: Any, _: object) -> Any:
    return lore


def _all_quotes(quotes: Any, _: object) -> Any:
    return tuple(quotes)


def _is_here(_: object, slot: object) -> Any:
    return False


def _heard_by_all(*values: Any, real: Any = NewTake.reply) -> Any:
    return real(*values[:-1], EVERYONE)


def _with_groups(others: Any) -> Any:
    return tuple(
        (one.name, f"{one.profile.short_description} of {one.profile.groups_visible}") for one in others
    )


BROKEN: dict[str, tuple[int, str, Callable[..., Any]]] = {
    "events pass whoever witnessed them": (0, "core.context.visibility._witnessed", _all_events),
    "memory passes whatever its label is": (0, "core.context.visibility._memory", _all_blocks),
    "secrets pass before they are revealed": (0, "core.context.visibility.Secrets.label_of", _everyone_knows),
    "what was before passes whatever its label is": (0, "core.context.visibility.label_in", _everyone_knows),
    "the others are told of a group": (0, "core.context.visibility.described", _with_groups),
    "what was before goes by places and not by names": (4, "core.context.visibility.label_in", _by_place),
    "what is handed on is known to the whole cast": (
        0,
        "core.engine.services.library.books.carry_over",
        _handed_to_all,
    ),
    "pinned canon passes whatever its label is": (9, "core.context.visibility.with_gm_locks", _all_pins),
    "private memory is labelled as everyone's": (0, "core.engine.kinds.memory.summary._block", _public_block),
    "a summary is made from everything": (0, "core.storage.snapshot.known_to_all_of", _of_the_gm),
    "a reason is told with the reply": (4, "core.engine.kinds.speaking.reply.read_spoken", Spoken),
    "those who are away hear what the others hear": (
        8,
        "core.domain.session.session.Session.is_away",
        _is_here,
    ),
    "a whisper is asked again aloud": (
        25,
        "core.engine.services.takes.take_commands.ask_again",
        _asked_aloud,
    ),
    "lore passes whatever its label is": (2, "core.context.visibility._lore", _all_lore),
    "words to keep pass whatever was heard": (0, "core.context.visibility._quotes", _all_quotes),
    "groups make no label": (2, "core.domain.session.lore.label_of", _everyone_knows),
    "what is never sent is sent": (1, "core.storage.snapshot.marked", _all_events),
    "replies are heard by everyone": (0, "core.engine.changes.canon.NewTake.reply", _heard_by_all),
}
"""For each gate a chapter in which it is soon noticed that it is broken: its seed, then the gate, and how."""


@pytest.mark.parametrize("name", BROKEN)
async def test_a_gate_that_is_broken_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, where, broken = BROKEN[name]
    monkeypatch.setattr(where, broken)
    for seed in dict.fromkeys([first, *range(CHAPTERS)]):
        if (await RandomChapter(seed).play(STEPS, until_leak=True)).leaks:
            return
    pytest.fail(f"{CHAPTERS} chapters in which {name} had no leak")
