"""The GM's commands, as pure functions: what each stores, and what each refuses with a sentence."""

from dataclasses import replace

import pytest

from core.agents.context_builder import ContextBuilder
from core.domain.errors import ErrorCode, IllegalCommandError, LimitExceededError, StoryEngineError
from core.domain.requests.request import RequestState
from core.domain.session.profile import Profile
from core.domain.session.session_state import SessionState
from core.domain.slot import Slot
from core.engine.decisions import commands, tab1_commands
from core.engine.decisions.tab1_commands import Tab1Edit
from core.engine.queue.queue_commands import begun_with, move_up, next_request
from core.engine.services.takes.take_commands import ask_again
from tests.core.rooms.simulation import Simulation, active
from tests.core.values.sessions import choices


def edit(simulation: Simulation, edit: Tab1Edit) -> None:
    simulation.store(tab1_commands.edit_tab1(simulation.snapshot, edit, simulation.now))


def test_an_edit_keeps_every_field_that_it_does_not_name() -> None:
    simulation = Simulation()
    edit(
        simulation,
        Tab1Edit(world="Sea", chapter="Storm", identities={Slot.RED: "A pilot"}, character_count=2),
    )
    edit(simulation, Tab1Edit(identities={Slot.ORANGE: "A cook"}, names={Slot.RED: "Kara"}))
    tab1, session = simulation.snapshot.tab1, simulation.snapshot.session
    assert (tab1.world, tab1.chapter) == ("Sea", "Storm")
    assert tab1.identities == {Slot.RED: "A pilot", Slot.ORANGE: "A cook"}
    assert session.roster == ((Slot.RED, "Kara"), (Slot.ORANGE, "Agent Orange"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (Tab1Edit(world="x" * 5_001), "world"),
        (Tab1Edit(chapter="x" * 5_001), "chapter"),
        (Tab1Edit(identities={Slot.RED: "x" * 5_001}), "identity of Agent Red"),
        (Tab1Edit(names={Slot.RED: "x" * 41}), "name"),
        (Tab1Edit(title="x" * 201), "title"),
    ],
)
def test_a_text_that_is_too_long_is_refused_and_never_cut(change: Tab1Edit, field: str) -> None:
    with pytest.raises(LimitExceededError, match=f"The {field} has"):
        tab1_commands.edit_tab1(Simulation().snapshot, change, Simulation().now)


def test_two_characters_cannot_have_one_name_in_two_ways_of_writing_its_accents() -> None:
    """What an earlier chapter told one of them would be told to the other."""
    simulation = Simulation()
    edit(simulation, Tab1Edit(names={Slot.RED: "Zo\u00e9"}))
    for name in ("Zo\u00e9", "Zoe\u0301", "ZOE\u0301"):
        with pytest.raises(IllegalCommandError, match="cannot both be called"):
            edit(simulation, Tab1Edit(names={Slot.ORANGE: name}))


def test_what_a_slot_has_of_a_character_is_cleaned_and_an_empty_profile_is_none() -> None:
    simulation = Simulation()
    told = Profile(short_description=" The\x1b[31m keeper\nof lamps ", aliases=("Kay", "", "KAY"), group=" ")
    edit(simulation, Tab1Edit(profiles={Slot.ORANGE: told}))
    edit(simulation, Tab1Edit(profiles={Slot.RED: Profile(group="Lamp")}))
    kept = Profile(short_description="The keeper of lamps", aliases=("Kay",))
    assert simulation.snapshot.tab1.profiles == {Slot.RED: Profile(group="Lamp"), Slot.ORANGE: kept}
    assert simulation.snapshot.cast[Slot.ORANGE].profile == kept
    edit(simulation, Tab1Edit(profiles={Slot.ORANGE: Profile()}))
    assert simulation.snapshot.tab1.profiles.keys() == {Slot.RED}


def test_a_profile_that_the_library_could_not_have_is_refused() -> None:
    with pytest.raises(IllegalCommandError, match="at most 500 characters"):
        edit(Simulation(), Tab1Edit(profiles={Slot.RED: Profile(short_description="x" * 501)}))


def test_a_text_that_just_fits_is_kept_whole() -> None:
    simulation = Simulation()
    edit(simulation, Tab1Edit(world="x" * 5_000))
    assert len(simulation.snapshot.tab1.world) == 5_000


def test_control_characters_are_gone_before_a_text_is_measured_and_stored() -> None:
    simulation = Simulation()
    edit(simulation, Tab1Edit(world="\x1b[31m" + "x" * 5_000 + "\x00", names={Slot.RED: " Kara\nof  Rime "}))
    assert simulation.snapshot.tab1.world == "x" * 5_000
    assert simulation.snapshot.session.name_of(Slot.RED) == "Kara of Rime"


def test_two_characters_cannot_have_the_same_name_whatever_its_case() -> None:
    simulation = Simulation()
    edit(simulation, Tab1Edit(names={Slot.RED: "Kara"}))
    with pytest.raises(IllegalCommandError, match="cannot both be called"):
        edit(simulation, Tab1Edit(names={Slot.ORANGE: "KARA"}))
    with pytest.raises(IllegalCommandError, match="cannot both be called"):
        edit(simulation, Tab1Edit(names={Slot.ORANGE: "agent red", Slot.RED: ""}))


def test_an_empty_name_and_the_default_one_both_mean_the_default() -> None:
    simulation = Simulation()
    edit(simulation, Tab1Edit(names={Slot.RED: "Kara", Slot.ORANGE: "Agent Orange"}))
    edit(simulation, Tab1Edit(names={Slot.RED: "  "}))
    assert simulation.snapshot.session.names == {}


@pytest.mark.parametrize("count", [0, 8])
def test_a_chapter_has_one_to_seven_characters(count: int) -> None:
    with pytest.raises(IllegalCommandError, match="1 to 7"):
        edit(Simulation(), Tab1Edit(character_count=count))


def test_tab_1_cannot_be_edited_once_it_is_being_locked() -> None:
    simulation = Simulation()
    simulation.set_up()
    simulation.lock()
    with pytest.raises(IllegalCommandError, match="being locked"):
        edit(simulation, Tab1Edit(world="Land"))


def test_nothing_is_locked_without_a_world_or_a_chapter() -> None:
    with pytest.raises(IllegalCommandError, match="Write a world or a chapter"):
        Simulation().lock()


def test_a_lock_that_failed_is_tried_again_as_the_same_request() -> None:
    simulation = Simulation()
    simulation.set_up()
    first = simulation.lock()
    simulation.fail()
    assert simulation.lock() == first
    assert simulation.begin().attempts == 2


def test_a_prompt_empties_its_composer_and_no_other() -> None:
    simulation = active()
    for slot in (Slot.RED, Slot.ORANGE):
        simulation.store(commands.save_unsent(simulation.snapshot, slot, f"for {slot}"))
    simulation.submit("for 1", Slot.RED)
    assert simulation.snapshot.unsent == {Slot.ORANGE: "for 2"}


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b", "\x1b[31m\x1b[0m"])
def test_a_prompt_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(IllegalCommandError, match="no text to send"):
        active().submit(text)


def test_a_prompt_to_a_slot_that_does_not_play_is_refused() -> None:
    with pytest.raises(IllegalCommandError, match="Agent Violet does not play"):
        active().submit("Hello", Slot.VIOLET)


def test_a_prompt_longer_than_its_field_is_refused() -> None:
    with pytest.raises(LimitExceededError, match="prompt"):
        active().submit("x" * 20_001)


def test_the_same_text_after_a_failure_is_the_same_request_with_one_attempt_more() -> None:
    simulation = active()
    first = simulation.submit("Who goes there?")
    simulation.fail()
    assert simulation.submit("Who goes there?") == first
    assert simulation.begin().attempts == 2


def test_another_text_after_a_failure_is_a_new_request_and_the_failed_one_is_given_up() -> None:
    simulation = active()
    first = simulation.submit("Who goes there?")
    simulation.fail()
    assert simulation.submit("Who is there?") != first
    assert simulation.request(first).state is RequestState.CANCELLED


def test_the_same_text_to_another_character_is_another_request() -> None:
    simulation = active()
    first = simulation.submit("Who goes there?", Slot.RED)
    simulation.fail()
    assert simulation.submit("Who goes there?", Slot.ORANGE) != first
    assert simulation.snapshot.unsent == {Slot.RED: "Who goes there?"}


def test_sending_a_returned_text_leaves_in_the_composer_what_was_typed_behind_it() -> None:
    simulation = active()
    first = simulation.submit("First")
    simulation.store(commands.save_unsent(simulation.snapshot, Slot.RED, "and then"))
    simulation.fail()
    assert simulation.snapshot.unsent == {Slot.RED: "First\n\nand then"}
    assert simulation.submit("First") == first
    assert simulation.snapshot.unsent == {Slot.RED: "and then"}


def test_a_retry_leaves_alone_what_the_gm_made_of_the_returned_text() -> None:
    simulation = active()
    simulation.submit("First")
    simulation.fail()
    simulation.store(commands.save_unsent(simulation.snapshot, Slot.RED, "First, but better"))
    simulation.submit("First", is_typed=False)
    assert simulation.snapshot.unsent == {Slot.RED: "First, but better"}


def test_a_retry_of_the_later_of_two_returned_texts_leaves_the_earlier_one() -> None:
    simulation = active()
    simulation.submit("First")
    second = simulation.submit("Second")
    simulation.crash_and_open()
    assert simulation.snapshot.unsent == {Slot.RED: "First\n\nSecond"}
    assert simulation.submit("Second", is_typed=False) == second
    assert simulation.snapshot.unsent == {Slot.RED: "First"}


def test_sending_what_was_typed_further_than_it_was_stored_empties_the_composer() -> None:
    simulation = active()
    simulation.store(commands.save_unsent(simulation.snapshot, Slot.RED, "Who go"))
    simulation.submit("Who goes there?")
    assert simulation.snapshot.unsent == {}


def test_a_queued_prompt_can_be_taken_back_in_front_of_what_was_typed_since() -> None:
    simulation = active()
    simulation.submit("First")
    simulation.begin()
    second = simulation.submit("Second")
    simulation.store(commands.save_unsent(simulation.snapshot, Slot.RED, "later"))
    simulation.store(commands.withdraw(simulation.snapshot, second, simulation.now))
    assert simulation.snapshot.unsent == {Slot.RED: "Second\n\nlater"}
    assert simulation.request(second).state is RequestState.CANCELLED


def test_a_prompt_that_a_model_has_cannot_be_taken_back() -> None:
    simulation = active()
    first = simulation.submit("First")
    simulation.begin()
    with pytest.raises(IllegalCommandError, match="cancel it instead"):
        commands.withdraw(simulation.snapshot, first, simulation.now)


def test_a_failed_prompt_that_is_given_up_stays_in_its_composer_and_frees_the_queue() -> None:
    simulation = active()
    first = simulation.submit("First")
    simulation.begin()
    second = simulation.submit("Second", Slot.ORANGE)
    simulation.fail()
    assert simulation.request(second).state is RequestState.PENDING
    with pytest.raises(AssertionError, match="nothing can be given"):
        simulation.begin()
    simulation.store(commands.withdraw(simulation.snapshot, first, simulation.now))
    assert simulation.snapshot.unsent == {Slot.RED: "First"}
    assert simulation.begin().id == second


def test_only_prompts_can_be_taken_back() -> None:
    simulation = Simulation()
    simulation.set_up()
    lock = simulation.lock()
    with pytest.raises(IllegalCommandError, match="Only a prompt"):
        commands.withdraw(simulation.snapshot, lock, simulation.now)


def test_a_settled_request_is_refused_with_a_sentence() -> None:
    simulation = active()
    done = simulation.submit("First")
    simulation.settle()
    with pytest.raises(IllegalCommandError, match="settled already"):
        commands.withdraw(simulation.snapshot, done, simulation.now)


def test_the_narrative_is_defined_in_any_state_within_its_limits() -> None:
    simulation = active()
    simulation.store(commands.define_narrative(simulation.snapshot, "Plain", 900, simulation.now))
    session = simulation.snapshot.session
    assert (session.definition, session.target_words, session.state) == ("Plain", 900, SessionState.ACTIVE)
    for words in (0, 5_001):
        with pytest.raises(IllegalCommandError, match="1 to 5,000 words"):
            commands.define_narrative(simulation.snapshot, "Plain", words, simulation.now)
    with pytest.raises(LimitExceededError):
        commands.define_narrative(simulation.snapshot, "x" * 5_001, None, simulation.now)


def test_a_build_that_failed_is_taken_up_as_the_same_request() -> None:
    simulation = active()
    simulation.play(7)
    simulation.store(commands.end_chapter(simulation.snapshot, simulation.now))
    changes, first = commands.build_narrative(simulation.snapshot, simulation.now)
    simulation.store(changes)
    simulation.fail(ErrorCode.LLM_TRUNCATED)
    assert commands.build_narrative(simulation.snapshot, simulation.now)[1] == first


def test_a_title_can_be_given_in_any_state_and_is_one_line() -> None:
    simulation = active()
    simulation.store(tab1_commands.retitle(simulation.snapshot, " The\n Lamp ", simulation.now))
    assert simulation.snapshot.session.title == "The Lamp"
    with pytest.raises(LimitExceededError, match="title"):
        tab1_commands.retitle(simulation.snapshot, "x" * 201, simulation.now)


def test_corrections_are_measured_only_once_memory_is_known() -> None:
    simulation = active()
    unread = replace(simulation.snapshot, is_memory_known=False, blocks=())
    with pytest.raises(ValueError, match="earlier corrections count too"):
        commands.correct_canon(unread, ContextBuilder(choices()), "Iron is soft.", simulation.now)


def test_all_corrections_together_have_at_most_eight_thousand_characters() -> None:
    simulation = active()
    builder = ContextBuilder(choices())

    def correct(length: int) -> None:
        simulation.store(commands.correct_canon(simulation.snapshot, builder, "x" * length, simulation.now))

    for _ in range(3):
        correct(2_000)
    with pytest.raises(LimitExceededError, match="2,001"):
        correct(2_001)
    correct(1_990)
    with pytest.raises(StoryEngineError, match="10 are left") as refused:
        correct(11)
    assert (refused.value.code, refused.value.hint) == (ErrorCode.LIMIT_EXCEEDED, "Write it shorter.")
    correct(10)
    with pytest.raises(StoryEngineError, match="0 are left") as refused:
        correct(1)
    assert refused.value.hint == ""


def test_a_prompt_that_is_sent_while_one_runs_that_was_moved_down_waits_for_it() -> None:
    simulation = active()
    for text in ("One", "Two", "Three"):
        simulation.submit(text)
    [_, second, third] = [request.id for request in simulation.snapshot.open_prompts]
    simulation.begin()
    simulation.store(move_up(simulation.snapshot, third, simulation.now))
    simulation.settle()
    simulation.settle()
    running = simulation.begin()
    assert (running.id, running.priority) == (second, 21)
    made, fourth = commands.submit_prompt(simulation.snapshot, Slot.RED, "Four", simulation.now)
    simulation.store(begun_with(simulation.snapshot, made, simulation.now))
    states = {request.id: request.state for request in simulation.snapshot.open_prompts}
    assert states == {second: RequestState.PROCESSING, fourth: RequestState.PENDING}
    assert next_request(simulation.snapshot) == running


def test_a_prompt_that_is_moved_up_still_waits_for_another_take_of_the_one_before_it() -> None:
    simulation = active()
    simulation.play(1)
    take, take_id = ask_again(simulation.snapshot, simulation.now)
    simulation.store(take)
    following = simulation.submit("And then?")
    simulation.store(move_up(simulation.snapshot, following, simulation.now))
    assert simulation.begin().id == take_id
    simulation.settle()
    assert simulation.begin().id == following
