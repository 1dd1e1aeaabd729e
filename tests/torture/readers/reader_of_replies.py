"""The reader's rules for what stands at a prompt: its takes, further replies, and what was added unasked."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from psycopg.rows import TupleRow

CORRECTED = "corrected"


@dataclass(frozen=True, slots=True)
class Told:
    """An event at a prompt, as the log has it."""

    prompt_index: int
    take: int
    ordinal: int
    role: str
    slot: int | None
    text: str
    request_id: str | None
    is_afterthought: bool
    origin: str | None

    @property
    def content(self) -> tuple[object, ...]:
        """The fields that a copy in another take shares with it."""
        return self.role, self.slot, self.text, self.request_id


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as far as it decides who answers."""

    request_id: str
    kind: str
    state: str
    slot: int | None
    then: list[int]
    follows: bool
    continues: bool
    prompt: int | None
    text: str


Take = list[Told]


def check_replies(log: Sequence[TupleRow], called: Sequence[TupleRow]) -> None:
    """Hold every take of the log against the requests that it came from."""
    requests = {one.request_id: one for one in (Asked(*row) for row in called)}
    prompts = _takes(Told(*row) for row in log)
    for takes in prompts.values():
        assert [take[0].take for take in takes] == list(range(1, len(takes) + 1)), "takes count from 1"
        for number, take in enumerate(takes):
            _check_take(take, requests)
            same = [other for other in takes[:number] if other[0].request_id == take[0].request_id]
            assert not same or _is_made_from(take, same), "no prompt was stored twice"
    events = [event for takes in prompts.values() for take in takes for event in take]
    asked = {(event.request_id, event.text) for event in events if event.role == "user" and event.request_id}
    places = {(event.request_id, event.prompt_index) for event in events if event.request_id}
    assert len(places) == len({request_id for request_id, _ in places}), "a request is about one prompt"
    done = [one for one in requests.values() if (one.kind, one.state) == ("reply", "done")]
    first = {(one.request_id, one.text) for one in done if not one.follows}
    assert asked == first, "a prompt's events and its request are settled together"
    told = {event.request_id for event in events if event.role == "agent" and event.ordinal > 1}
    further = {one.request_id for one in done if one.follows}
    assert further <= told, "a further reply and its request are settled together"


def check_missing(
    called: Sequence[TupleRow], newest: Sequence[TupleRow], prompt_index: int, boundary: int
) -> None:
    """A prompt waits for one further reply at most, which nobody has given; it is not in memory yet.

    `newest` are the events of the newest prompt that count, and their fourth value is the character.
    """
    requests = (Asked(*row) for row in called)
    missing = [one for one in requests if one.follows and one.state in ("pending", "processing", "failed")]
    assert len(missing) <= 1, "further replies are asked for one after the other"
    for one in missing:
        assert one.prompt == prompt_index > boundary, "the prompt that waits for a reply is the newest"
        assert one.slot not in {slot for _, _, _, slot, _ in newest}, "who has answered is not asked again"


def _takes(log: Iterator[Told]) -> dict[int, list[Take]]:
    """Return the takes of each prompt; the lines before the first one belong to none."""
    found: dict[int, dict[int, Take]] = defaultdict(lambda: defaultdict(list))
    for event in log:
        if event.prompt_index:
            found[event.prompt_index][event.take].append(event)
    return {index: list(takes.values()) for index, takes in found.items()}


def _check_take(take: Take, requests: dict[str, Asked]) -> None:
    """A take is the GM's text, the replies of those who were called, in their order, and what was added."""
    assert [event.ordinal for event in take] == list(range(len(take))), "the ordinals of a take have no gap"
    roles = [event.role for event in take]
    assert roles[:2] == ["user", "agent"], "a prompt is stored with its reply"
    assert "user" not in roles[1:]
    replies = [event for event in take if event.role == "agent"]
    sources = [event.request_id for event in replies if event.request_id]
    assert len(sources) == len(set(sources)), "no reply is in a take twice"
    answered = [event.slot for event in replies if not event.is_afterthought]
    assert len(answered) == len(set(answered)), "nobody answers a prompt twice"
    for event in replies[1:]:
        request = requests.get(event.request_id or "")
        if request is not None:
            is_further = request.kind == "reply" and (request.follows or request.continues)
            assert is_further != event.is_afterthought, "a further reply has a request of its own"
            assert event.is_afterthought == (request.kind == "afterthought")
            assert request.state == "done"
    first = requests.get(take[0].request_id or "")
    if first is not None and not first.continues:
        order = [first.slot, *first.then]
        assert [slot for slot in order if slot in answered] == answered, "they answer in the order of calling"


def _is_made_from(take: Take, earlier: list[Take]) -> bool:
    """Whether a take is an earlier one with the GM's own reply, or without what was added unasked."""
    if any(event.origin == CORRECTED for event in take):
        return True
    kept = [event.content for event in take]
    return any(
        len(other) > len(take) and [event.content for event in other if event.content in kept] == kept
        for other in earlier
    )
