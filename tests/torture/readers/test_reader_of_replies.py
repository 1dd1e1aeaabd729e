"""The reader of the kills accepts what the product stores at a prompt, and refuses what it must not store."""

from collections.abc import Callable

import pytest

from tests.torture.readers.reader_of_replies import check_missing, check_replies

Row = tuple[object, ...]


def event(
    ordinal: int,
    role: str,
    request: str | None,
    slot: int | None = None,
    *,
    text: str = "",
    prompt: int = 1,
    take: int = 1,
    unasked: bool = False,
    origin: str | None = None,
) -> Row:
    return prompt, take, ordinal, role, slot, text or f"{request} says", request, unasked, origin


def request(
    name: str,
    slot: int,
    *then: int,
    kind: str = "reply",
    state: str = "done",
    follows: bool = False,
    continues: bool = False,
    prompt: int | None = 1,
) -> Row:
    return name, kind, state, slot, list(then), follows, continues, prompt, "Who goes?"


ASKED = request("a", 2, 3, 1)
SECOND, THIRD = request("b", 3, 1, follows=True), request("c", 1, follows=True)
ADDED = request("d", 1, kind="afterthought")
TOLD = (
    event(0, "user", "a", text="Who goes?"),
    event(1, "agent", "a", 2),
    event(2, "agent", "b", 3),
    event(3, "system", None, text="It rains."),
    event(4, "agent", "c", 1),
    event(5, "agent", "d", 1, unasked=True),
)
CALLED = (ASKED, SECOND, THIRD, ADDED)


def again(*events: Row, take: int = 2) -> tuple[Row, ...]:
    """Return events as another take has them."""
    return tuple((one[0], take, ordinal, *one[3:]) for ordinal, one in enumerate(events))


def test_three_who_answer_a_prompt_a_line_and_an_addition_are_what_the_product_stores() -> None:
    check_replies(TOLD, CALLED)
    check_missing(CALLED, [], prompt_index=1, boundary=1)


def test_a_take_without_what_was_added_is_no_prompt_told_twice() -> None:
    check_replies((*TOLD, *again(*TOLD[:5])), CALLED)


def test_a_reply_by_the_gms_own_hand_is_no_prompt_told_twice() -> None:
    own = event(5, "agent", "d", 1, text="By hand.", unasked=True, origin="corrected")
    check_replies((*TOLD, *again(*TOLD[:5], own)), CALLED)


BROKEN: dict[str, tuple[tuple[Row, ...], tuple[Row, ...]]] = {
    "stored twice": ((*TOLD, *again(*TOLD)), CALLED),
    "of one request at two prompts": ((*TOLD, *((2, *one[1:]) for one in TOLD[:2])), CALLED),
    "without its reply": (TOLD[:1], (ASKED,)),
    "with a gap": ((*TOLD[:2], *TOLD[3:]), CALLED),
    "answered twice by one": ((*TOLD[:2], event(2, "agent", "b", 2)), (ASKED, SECOND)),
    "answered in another order": (
        (*TOLD[:2], event(2, "agent", "c", 1), event(3, "agent", "b", 3)),
        (ASKED, SECOND, THIRD),
    ),
    "answered by someone not called": (TOLD[:3], (request("a", 2), SECOND)),
    "whose further reply is not told": (TOLD[:2], (ASKED, SECOND)),
    "whose further reply is told and still asked for": (
        TOLD[:3],
        (ASKED, request("b", 3, 1, follows=True, state="failed")),
    ),
    "told though its request failed": (TOLD[:2], (request("a", 2, state="failed"),)),
    "done and not told": ((), (request("a", 2),)),
    "with an addition that nobody asked for": (
        (*TOLD[:2], event(2, "agent", "b", 3, unasked=True)),
        (ASKED, SECOND),
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_prompt_is_refused_that_is(what: str) -> None:
    log, called = BROKEN[what]
    with pytest.raises(AssertionError):
        check_replies(log, called)


def missing(*requests: Row, newest: tuple[Row, ...] = (), prompt_index: int = 1, boundary: int = 0) -> None:
    check_missing(requests, newest, prompt_index, boundary)


WAITING = request("b", 3, follows=True, state="failed")


def test_a_prompt_may_wait_for_one_further_reply() -> None:
    missing(ASKED, WAITING, newest=((1, 1, "agent", 2, ""),))


@pytest.mark.parametrize(
    "refused",
    [
        lambda: missing(WAITING, request("c", 1, follows=True, state="pending")),
        lambda: missing(WAITING, prompt_index=2),
        lambda: missing(WAITING, boundary=1),
        lambda: missing(WAITING, newest=((1, 2, "agent", 3, ""),)),
    ],
    ids=["for two", "though it is not the newest", "though it is in memory", "of one who has answered"],
)
def test_a_prompt_does_not_wait_for_a_further_reply(refused: Callable[[], None]) -> None:
    with pytest.raises(AssertionError):
        refused()
