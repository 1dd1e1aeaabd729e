"""A chapter that is exported, imported or restored with work beside the play still open."""

from dataclasses import replace

import pytest

from core.domain.requests.request import RequestState
from core.domain.slot import Slot
from core.engine.engine import Engine
from core.exchange.session_copy import PUT_ASIDE
from core.exchange.session_export import from_json
from core.storage.changes import Changes
from db.store import PostgresStore
from tests.engine.queue.test_background import work
from tests.engine.queue.test_background import work_as_a_kind as work_as_a_kind
from tests.engine.windows import CHOICES, Recorder, chapter, done

pytestmark = pytest.mark.anyio


async def test_a_copy_of_a_chapter_calls_no_model_by_itself(store: PostgresStore) -> None:
    model = Recorder()
    async with chapter(store, model) as session:
        session_id = session.id
    engine = Engine(store, model, CHOICES, label="here")
    interrupted = replace(work(session_id), state=RequestState.PROCESSING, attempts=1)
    await engine.closed(session_id).apply(
        lambda _: Changes(session_id=session_id, requests=(work(session_id), interrupted))
    )
    copy = await engine.import_body(from_json(await engine.export(session_id)))
    asked = len(model.calls)
    opened = await engine.open(copy)
    try:
        await done(opened, await opened.submit_prompt(Slot.RED, "Who is there?"))
        assert len(model.calls) == asked + 1, "the prompt of the GM"
        put_aside = opened.snapshot.requests
        assert [(one.state, one.error_message) for one in put_aside] == [(RequestState.FAILED, PUT_ASIDE)] * 2
        assert (await opened.wait(await opened.retry(put_aside[0].id))).state is RequestState.DONE
    finally:
        await opened.aclose()
