"""The texts of a chapter are searched for the topics of its cast while the screen goes on."""

import threading

import pytest

from core.engine.session import cast_work
from tests.core.rooms.cast_room import change, changes, ended, mira, settled, work_of

pytestmark = pytest.mark.anyio


async def test_a_chapter_is_searched_for_topics_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set[threading.Thread]()

    def watched(name: str) -> None:
        real = getattr(cast_work, name)

        def call(*values: object) -> object:
            threads.add(threading.current_thread())
            return real(*values)

        monkeypatch.setattr(cast_work, name, call)

    for name in ("of_exposure", "of_fading", "of_merging", "neglected"):
        watched(name)
    async with ended(mira(), entries=(changes(change()),)) as (session, _):
        await settled(session, await work_of(session).propose_changes(with_ceremony=True))
    assert threads
    assert threading.main_thread() not in threads
