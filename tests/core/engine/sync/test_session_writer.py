"""How changes of one session become durable, also when the store is away or another window writes."""

import asyncio
from collections.abc import Iterator
from functools import partial

import pytest

from core.domain.errors import ErrorCode, IllegalCommandError, SessionLockedError, StorageError
from core.domain.ids import RequestId
from core.domain.requests.request import Content, RequestState
from core.domain.slot import Slot
from core.engine.decisions import commands, tab1_commands
from core.engine.decisions.recovery import recover
from core.engine.sync.notifications import StorageRecovered, StorageTrouble, UnsentChanged, WriterChanged
from core.engine.sync.session_writer import CONTENTS_REMEMBERED
from core.storage.changes import Changes
from core.storage.session_store import WriterInfo
from core.storage.snapshot import Snapshot
from tests.core.rooms.faulty_store import AWAY
from tests.core.rooms.scene import ELSEWHERE, HERE, Scene
from tests.core.rooms.simulation import BACKOFF
from tests.core.values.sessions import NOW

pytestmark = pytest.mark.anyio


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """How long the writer has waited each time, without the waiting."""
    waited: list[float] = []
    sleep = asyncio.sleep

    async def at_once(seconds: float) -> None:
        waited.append(seconds)
        await sleep(0)

    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "sleep", at_once)
        yield waited


async def test_what_is_stored_is_adopted_and_heard(scene: Scene) -> None:
    await scene.write("One")
    assert scene.unsent == "One"
    assert scene.writer.snapshot == scene.store.snapshot
    assert scene.heard.notifications == [UnsentChanged(Slot.RED, "One")]
    assert scene.writer.is_current
    assert scene.store.epoch == 1, "a lock that holds is not taken again"
    assert not scene.writer._tasks, "what has ended is not kept"


async def test_a_store_that_is_away_is_waited_for_longer_and_longer_and_told_of_once(
    scene: Scene, waits: list[float]
) -> None:
    scene.store.failures = [AWAY] * 7
    decided: list[Snapshot] = []

    def decide(snapshot: Snapshot) -> Changes:
        decided.append(snapshot)
        return commands.save_unsent(snapshot, Slot.RED, "One")

    await scene.writer.apply_patiently(decide)
    assert len(decided) == 1, "what may be stored already is sent again as it was"
    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert scene.unsent == "One"
    assert scene.heard.notifications == [
        StorageTrouble(AWAY),
        UnsentChanged(Slot.RED, "One"),
        StorageRecovered(),
    ]


async def test_no_recovery_is_told_where_nothing_was_wrong(scene: Scene) -> None:
    await scene.writer.apply_patiently(lambda snapshot: commands.save_unsent(snapshot, Slot.RED, "One"))
    assert not scene.heard.count(StorageRecovered)


async def test_what_waiting_cannot_help_is_raised_at_once_also_to_the_patient(
    scene: Scene, waits: list[float]
) -> None:
    scene.store.failures = [StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)]
    with pytest.raises(StorageError):
        await scene.writer.apply_patiently(lambda snapshot: commands.save_unsent(snapshot, Slot.RED, "One"))
    assert not waits
    assert not scene.heard.notifications
    await scene.write("Two")
    assert scene.unsent == "Two"


@pytest.mark.usefixtures("waits")
async def test_a_store_that_is_back_and_refuses_is_no_longer_said_to_be_away(scene: Scene) -> None:
    scene.store.failures = [AWAY, StorageError(ErrorCode.STORAGE_SAVE_FAILED, is_transient=False)]
    with pytest.raises(StorageError):
        await scene.writer.apply_patiently(lambda snapshot: commands.save_unsent(snapshot, Slot.RED, "One"))
    assert scene.heard.notifications == [StorageTrouble(AWAY), StorageRecovered()]


async def test_the_gm_does_not_wait_behind_a_reply_that_waits_for_the_store(scene: Scene) -> None:
    away = StorageError(ErrorCode.STORAGE_SAVE_FAILED, hint="Start the server.")
    scene.store.failures = [away] * 3
    paid = asyncio.create_task(
        scene.writer.apply_patiently(lambda snapshot: commands.save_unsent(snapshot, Slot.BLUE, "Paid"))
    )
    await asyncio.sleep(0)
    typed = asyncio.create_task(scene.write("Typed"))
    with pytest.raises(StorageError, match=r"Start the server\."):
        await typed
    with pytest.raises(StorageError, match=r"Start the server\."):
        await scene.write("Typed again")
    assert not paid.done()
    scene.store.failures.clear()
    await paid
    await scene.write("Typed once more")
    assert scene.store.snapshot.unsent == {Slot.BLUE: "Paid", Slot.RED: "Typed once more"}


async def test_changes_are_made_one_after_the_other_each_on_what_the_one_before_left(scene: Scene) -> None:
    def longer(snapshot: Snapshot) -> Changes:
        return commands.save_unsent(snapshot, Slot.RED, snapshot.unsent.get(Slot.RED, "") + "x")

    await asyncio.gather(*(scene.writer.apply(longer) for _ in range(20)))
    assert scene.unsent == "x" * 20


async def test_one_who_goes_away_while_it_is_stored_does_not_stop_it(scene: Scene) -> None:
    writing = asyncio.create_task(scene.write("One"))
    await asyncio.sleep(0)
    writing.cancel()
    await scene.writer.finish(5)
    assert scene.unsent == "One"
    await scene.writer.finish(5)


async def test_a_lock_whose_connection_broke_is_taken_again_without_reading_the_chapter_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene.store, "load", None)
    scene.lease.lose()
    assert not scene.writer.is_current
    await scene.write("One")
    assert scene.unsent == "One"
    assert scene.store.epoch == 2
    assert scene.writer.is_current
    await scene.write("Two")
    assert scene.store.epoch == 2, "a lock that holds is not taken again"


async def test_a_window_that_was_succeeded_and_is_alone_again_goes_on_after_what_the_other_stored(
    scene: Scene,
) -> None:
    other = await scene.take_elsewhere("Theirs")
    await other.aclose()
    await scene.write("One")
    stored = scene.store.snapshot
    assert (stored.session.title, scene.unsent) == ("Theirs", "One")
    assert scene.writer.snapshot == stored
    assert scene.lease.is_closed, "the lock that is worth nothing any more is given back"
    assert scene.writer.is_current


async def test_a_window_that_was_succeeded_stores_nothing_says_so_and_asks_only_once(scene: Scene) -> None:
    other = await scene.take_elsewhere("Theirs")
    scene.writer.on_locked_out = partial(scene.heard.notifications.append, WriterChanged(None))
    request = asyncio.create_task(scene.writer.waiters.wait(RequestId(scene.store.snapshot.session.id)))
    await asyncio.sleep(0)
    for _ in range(2):
        with pytest.raises(SessionLockedError):
            await scene.write("Mine")
    with pytest.raises(SessionLockedError):
        await request
    assert scene.unsent == ""
    assert scene.heard.notifications == [
        WriterChanged(other.info),
        WriterChanged(None),
    ]
    assert scene.writer.lease is None
    assert scene.writer.holder == other.info
    assert not scene.writer.is_current


async def test_our_own_lock_that_the_server_still_holds_is_trouble_of_the_store(
    scene: Scene, waits: list[float]
) -> None:
    scene.lease.lose()
    ghost = scene.store.seize(HERE)
    with pytest.raises(StorageError):
        await scene.write("One")
    assert scene.writer.lease is not None, "no other window writes"
    await ghost.aclose()
    await scene.write("One")
    assert scene.unsent == "One"


@pytest.mark.parametrize(
    ("is_lost", "label", "is_locked_out"),
    [(True, ELSEWHERE, True), (True, HERE, False), (False, ELSEWHERE, False)],
)
async def test_a_window_stops_writing_when_its_lock_is_lost_and_another_has_it(
    scene: Scene, is_lost: bool, label: str, is_locked_out: bool
) -> None:
    scene.lease.is_lost = is_lost
    await scene.writer.hear_of_writer(WriterInfo(label=label, since=NOW))
    assert (scene.writer.lease is None) is is_locked_out
    assert scene.heard.count(WriterChanged) == is_locked_out


async def test_a_window_that_writes_does_not_read_along(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(scene.store, "load", None)
        await scene.writer.refresh()
    scene.writer.lease = None
    scene.store.apply(tab1_commands.retitle(scene.store.snapshot, "Theirs", NOW))
    await scene.writer.refresh()
    assert scene.writer.snapshot.session.title == "Theirs"


async def test_who_takes_over_has_read_what_was_stored_and_gives_the_lock_back_when_that_fails(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await scene.take_elsewhere("Theirs")
    with pytest.raises(SessionLockedError):
        await scene.write("Mine")
    await other.aclose()

    async def fail(*_: object, **options: object) -> Snapshot:
        raise AWAY

    with monkeypatch.context() as patched:
        patched.setattr(scene.store, "load", fail)
        refused = scene.store.seize(HERE)
        with pytest.raises(StorageError):
            await scene.writer.become_writer(refused)
    assert refused.is_closed
    assert scene.writer.lease is None
    await scene.writer.become_writer(scene.store.seize(HERE))
    assert scene.writer.snapshot.session.title == "Theirs"
    assert scene.writer.holder is None
    assert scene.writer.is_current
    await scene.write("Mine")
    assert scene.unsent == "Mine"


@pytest.mark.parametrize("is_late", [False, True], ids=["not stored", "stored, but the answer was lost"])
async def test_a_prompt_of_which_the_gm_was_told_that_it_is_not_stored_is_not_sent(
    scene: Scene, is_late: bool
) -> None:
    scene.store.failures, scene.store.is_late = [AWAY], is_late
    with pytest.raises(StorageError):
        await scene.send("One")
    assert not scene.writer.is_current
    await scene.write("One, and more")
    assert [request.state for request in scene.store.snapshot.requests] == [RequestState.FAILED] * is_late
    assert scene.writer.snapshot == scene.store.snapshot
    assert scene.writer.is_current
    again = await scene.send("One")
    assert [request.id for request in scene.store.snapshot.requests if request.state.is_open] == [again]


async def test_what_was_in_doubt_before_another_window_wrote_is_not_taken_back_afterwards(
    scene: Scene,
) -> None:
    scene.store.failures, scene.store.is_late = [AWAY], True
    with pytest.raises(StorageError):
        await scene.send("One")
    other = await scene.take_elsewhere("Theirs")
    with pytest.raises(SessionLockedError):
        await scene.write("Mine")
    repaired = recover(scene.store.snapshot, NOW, BACKOFF)
    assert repaired is not None
    await scene.store.commit(repaired, other)
    await other.aclose()
    await scene.writer.become_writer(scene.store.seize(HERE))
    again = await scene.send("One")
    scene.store.failures = [AWAY]
    with pytest.raises(StorageError):
        await scene.write("Two")
    await scene.write("Three")
    assert [request.id for request in scene.store.snapshot.requests if request.state.is_open] == [again]


async def test_memory_is_read_when_it_is_needed_and_only_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scene.writer.snapshot
    scene.writer.snapshot = await scene.store.load(whole.session.id)
    assert not scene.writer.snapshot.blocks
    assert await scene.writer.know_memory() == whole == scene.writer.snapshot
    monkeypatch.setattr(scene.store, "memory", None)
    assert await scene.writer.know_memory() == whole


async def test_a_text_that_is_stored_is_not_sent_to_the_store_again_until_it_is_long_ago(
    scene: Scene, waits: list[float]
) -> None:
    identity = Content.of("A ferrywoman of fifty.")

    async def store_with(*contents: Content) -> tuple[Content, ...]:
        session_id = scene.store.snapshot.session.id
        await scene.writer.apply_patiently(lambda _: Changes(session_id=session_id, contents=contents))
        return scene.store.commits[-1].contents

    scene.store.failures = [AWAY]
    assert await store_with(identity) == (identity,), "what failed was not stored"
    assert await store_with(identity) == ()
    others = [Content.of(str(number)) for number in range(CONTENTS_REMEMBERED - 1)]
    assert await store_with(*others) == tuple(others)
    assert await store_with(identity) == (), "it was used just now"
    assert await store_with(Content.of("one more")) != ()
    assert await store_with(identity) == ()
    assert await store_with(others[1]) == ()
    assert await store_with(others[0]) == (others[0],), "the oldest is forgotten"


async def test_closing_ends_what_waits_for_the_store_and_gives_the_lock_back(scene: Scene) -> None:
    scene.store.failures = [AWAY] * 1_000
    closed = IllegalCommandError("The chapter is closed.")
    paid = asyncio.create_task(
        scene.writer.apply_patiently(lambda snapshot: commands.save_unsent(snapshot, Slot.RED, "Paid"))
    )
    request = asyncio.create_task(scene.writer.waiters.wait(RequestId(scene.store.snapshot.session.id)))
    await asyncio.sleep(0)
    await scene.writer.finish(0.01)
    await scene.writer.aclose(closed)
    assert paid.done(), "it has ended before the lock is given back"
    with pytest.raises(IllegalCommandError, match="closed"):
        await request
    assert (await asyncio.gather(paid, return_exceptions=True))[0].__class__ is asyncio.CancelledError
    assert scene.store.writer is None
    with pytest.raises(SessionLockedError):
        await scene.write("One")


async def test_closing_gives_the_lock_back_where_nothing_is_under_way_also_twice(scene: Scene) -> None:
    for _ in range(2):
        await scene.writer.aclose(IllegalCommandError("The chapter is closed."))
        assert scene.store.writer is None


@pytest.mark.parametrize("steps", range(5))
async def test_one_who_goes_away_as_its_turn_comes_does_not_keep_the_others_waiting(
    scene: Scene, steps: int
) -> None:
    await scene.writer._access._mutex.acquire()
    reader = asyncio.create_task(scene.writer.know_memory(is_patient=False))
    for _ in range(3):
        await asyncio.sleep(0)
    scene.writer._access._mutex.release()
    for _ in range(steps):
        await asyncio.sleep(0)
    reader.cancel()
    await asyncio.wait({reader})
    async with asyncio.timeout(5):
        await scene.write("One")
    assert scene.unsent == "One"


async def test_one_who_comes_between_two_turns_does_not_wait_for_a_store_that_is_away(scene: Scene) -> None:
    await scene.writer._access._mutex.acquire()
    paid = asyncio.create_task(
        scene.writer.apply_patiently(lambda snapshot: commands.save_unsent(snapshot, Slot.RED, "Paid"))
    )
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    scene.store.failures = [AWAY] * 1_000
    reader = asyncio.create_task(scene.writer.know_memory(is_patient=False))
    scene.writer._access._mutex.release()
    async with asyncio.timeout(5):
        with pytest.raises(StorageError):
            await reader
    await scene.writer.aclose(IllegalCommandError("The chapter is closed."))
    await asyncio.wait({paid})


async def test_what_the_gm_does_is_not_overtaken_while_nothing_else_is_stored(scene: Scene) -> None:
    """A summary that was due at the same moment came first, and the end of the chapter was refused."""
    reader = asyncio.create_task(scene.writer.know_memory(is_patient=False))
    await asyncio.sleep(0)
    assert scene.writer._access._mutex.locked() or reader.done()
    await reader
