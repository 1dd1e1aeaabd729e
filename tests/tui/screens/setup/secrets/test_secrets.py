"""Secrets on tab 1: a cell that shows once there is one, and a screen where each is edited."""

from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from core.domain.audience import EVERYONE, NOBODY, Audience
from core.domain.ids import SessionId
from core.domain.session.session import Tab1Inputs
from core.domain.slot import Slot
from core.domain.story.secret import LONGEST_SECRET, MOST_SECRETS, Reveal, Secret
from core.engine.engine import Engine
from core.engine.session.session_handle import SessionHandle
from core.storage.snapshot import Snapshot
from storyengine_tui.screens.setup.lock_modal import LockModal
from storyengine_tui.screens.setup.secrets.secret_screen import SecretScreen
from storyengine_tui.screens.setup.secrets.secrets_cell import SecretsCell
from storyengine_tui.screens.setup.secrets.secrets_view import TypedSecret, first_words, known_line
from storyengine_tui.screens.shared.kept_text import KeptText
from storyengine_tui.shell.app import StoryEngineApp
from storyengine_tui.widgets.banner import Banner
from storyengine_tui.widgets.dialogs.confirm_modal import ConfirmModal
from storyengine_tui.widgets.fields.capped_text_area import CappedTextArea
from storyengine_tui.widgets.fields.slot_checks import SlotChecks
from tests.core.values import sessions
from tests.tui.engine_app import Desktop, in_front, make_active, make_draft, opened, screen_text, until

pytestmark = pytest.mark.anyio

MIRA, JONAS = Audience.of((Slot.RED,)), Audience.of((Slot.ORANGE,))
SECRETS = (
    Secret(
        number=1, text="The keeper's son is alive, and hides in the boathouse till the tide.", known_by=MIRA
    ),
    Secret(
        number=2,
        text="The lamp was put out on purpose. [/x]",
        known_by=MIRA | JONAS,
        reveal_at=12,
        reveal_to=EVERYONE,
    ),
)


async def _make_with(engine: Engine, session_id: SessionId, secrets: tuple[Secret, ...] = SECRETS) -> None:
    session = await engine.open(session_id)
    await session.scene.edit_secrets(secrets)
    await session.aclose()


async def make_secrets(engine: Engine) -> None:
    await _make_with(engine, await make_draft(engine))


async def make_played(engine: Engine) -> None:
    """Store a chapter of one prompt with secrets, one of which was revealed."""
    await _make_with(engine, await make_draft(engine))
    summary = (await engine.sessions())[0]
    session = await engine.open(summary.id)
    await session.wait(await session.lock())
    await session.wait(await session.submit_prompt(Slot.RED, "What do you see?"))
    await session.scene.reveal(1, JONAS)
    await session.aclose()


def session_of(app: StoryEngineApp) -> SessionHandle:
    assert app.session is not None
    return app.session


def cell_of(app: StoryEngineApp) -> SecretsCell:
    return app.chapter.query_one(SecretsCell)


def rows(app: StoryEngineApp) -> list[str]:
    options = cell_of(app).query_one(OptionList)
    return [str(options.get_option_at_index(index).prompt) for index in range(options.option_count)]


async def screen_shown(pilot: Pilot[Any]) -> SecretScreen:
    return await in_front(pilot, SecretScreen)


async def secret_opened(pilot: Pilot[Any], app: StoryEngineApp, number: int) -> SecretScreen:
    """Open a secret from the list on tab 1."""
    await pilot.press("f2")
    listed = cell_of(app).query_one(OptionList)
    listed.focus()
    await until(pilot, lambda: app.focused is listed)
    listed.highlighted = number - 1
    await pilot.press("enter")
    return await screen_shown(pilot)


async def secret_begun(pilot: Pilot[Any], app: StoryEngineApp) -> SecretScreen:
    """Begin a secret as the palette does."""
    assert app.chapter.may_do("setup", "add_secret")
    app.chapter.do_there("setup", "add_secret")
    return await screen_shown(pilot)


@pytest.mark.parametrize(
    ("known", "to", "said"),
    [
        (MIRA, MIRA, "Known already to Mira."),
        (MIRA | JONAS, MIRA, "Known already to Mira."),
        (MIRA, JONAS, ""),
        (MIRA, EVERYONE, ""),
        (EVERYONE, EVERYONE, "Known already to everyone."),
        (MIRA, NOBODY, ""),
    ],
)
def test_a_reveal_to_somebody_who_knows_the_secret_says_so(known: Audience, to: Audience, said: str) -> None:
    names = {Slot.RED: "Mira", Slot.ORANGE: "Jonas"}
    snapshot = Snapshot(session=sessions.session(prompts=1, names=names, characters=2), tab1=Tab1Inputs())
    typed = TypedSecret(text="A secret.", known_by=known, reveal_at="3", reveal_to=to)
    assert known_line(typed, snapshot, 1) == said
    # Also what was revealed before counts.
    told = replace(snapshot, reveals=(Reveal(1, 1, JONAS),))
    assert known_line(replace(typed, known_by=NOBODY, reveal_to=JONAS), told, 1) == "Known already to Jonas."


def part(screen: SecretScreen, name: str) -> SlotChecks:
    return screen.query_one(f"#{name}", SlotChecks)


async def test_text_knowers_and_reveal_are_stored_without_a_command_and_shown_after_a_restart(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_secrets) as (pilot, app):
        screen = await secret_opened(pilot, app, 1)
        await pilot.press("!")
        part(screen, "known-by").focus()
        await pilot.press("down", "space")
        screen.query_one("#reveal-at").focus()
        await pilot.press("7", "enter")
        assert app.focused is part(screen, "reveal-to")
        await pilot.press("1", "3")
        wanted = Secret(
            number=1,
            text=SECRETS[0].text + "!",
            known_by=MIRA | JONAS,
            reveal_at=7,
            reveal_to=Audience.of((Slot.RED, Slot.YELLOW)),
        )
        await until(pilot, lambda: session_of(app).snapshot.secrets == (wanted, SECRETS[1]))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
    async with desktop.window() as (pilot, app):
        assert rows(app)[0].endswith("known to Mira, Jonas [/x]; revealed to Mira, Agent Yellow at prompt 7")
        screen = await secret_opened(pilot, app, 1)
        assert screen.query_one("#reveal-at", Input).value == "7"
        assert part(screen, "reveal-to").audience == wanted.reveal_to


async def test_an_emptied_secret_keeps_its_stored_text_and_d_deletes_it_after_a_question(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_secrets) as (pilot, app):
        screen = await secret_opened(pilot, app, 1)
        await pilot.press("ctrl+g", "backspace")
        await until(pilot, lambda: "A secret without a text is not stored" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert session_of(app).snapshot.secrets == SECRETS
        assert screen is not app.screen
        await pilot.press("d")
        await until(pilot, lambda: "Delete secret 1?" in screen_text(app))
        await pilot.press("right", "enter")
        await until(pilot, lambda: len(session_of(app).snapshot.secrets) == 1)
        await until(pilot, lambda: len(rows(app)) == 1)
        assert session_of(app).snapshot.secrets[0].text == SECRETS[1].text
        await pilot.press("d", "right", "enter")
        await until(pilot, lambda: not cell_of(app).display)
        await until(pilot, lambda: app.focused is app.chapter.query_one("#world"), "the focus is lost")


async def test_after_the_lock_a_text_is_read_its_reveal_is_planned_and_a_new_secret_is_added_whole(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_played) as (pilot, app):
        # After the lock, a text is read and its reveal can be planned.
        await pilot.press("f2")
        assert rows(app)[0].endswith("known to Mira, Jonas [/x]; revealed after prompt 1")
        assert cell_of(app).check_action("drop", ()) is False
        screen = await secret_opened(pilot, app, 2)
        assert screen.query_one("#text", CappedTextArea).read_only
        assert part(screen, "known-by").disabled
        assert app.focused is screen.query_one("#reveal-at")
        await pilot.press("ctrl+g", "2", "0")
        await until(pilot, lambda: session_of(app).snapshot.secrets[1].reveal_at == 20)
        assert session_of(app).snapshot.secrets[1].text == SECRETS[1].text
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # A new secret of a played chapter is added whole by its button.
        screen = await secret_begun(pilot, app)
        await pilot.press(*"It burns")
        assert len(session_of(app).snapshot.secrets) == 2, "half a text would stay half for good"
        part(screen, "known-by").focus()
        await pilot.press("3")
        await pilot.click("#add")
        await until(pilot, lambda: app.screen is app.chapter)
        added = session_of(app).snapshot.secrets[2]
        assert added == Secret(number=3, text="It burns", known_by=Audience.of((Slot.YELLOW,)))
        assert len(rows(app)) == 3


async def test_what_was_written_of_a_new_secret_survives_a_killed_program(desktop: Desktop) -> None:
    await desktop.prepare(make_active)
    async with desktop.window() as (pilot, app):
        await secret_begun(pilot, app)
        await pilot.press(*"It burns")
        kept = KeptText.of("secret", session_of(app).id, desktop.paths.data)
        assert kept.read() == "It burns"
    async with desktop.window() as (pilot, app):
        screen = await secret_begun(pilot, app)
        assert screen.query_one("#text", CappedTextArea).text == "It burns"
        assert "You wrote this before, and did not save it." in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is app.chapter)
        assert not kept.file.exists()


async def test_a_secret_that_leaves_no_room_stays_on_the_screen_with_the_reason(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desktop.window(make_secrets) as (pilot, app):
        monkeypatch.setattr("core.agents.context_builder.ROOM_TO_PLAY", 10_000_000)
        screen = await secret_opened(pilot, app, 1)
        await pilot.press("!")
        await until(pilot, lambda: screen.query_one(Banner).is_shown)
        assert str(screen.query_one("#saved", Static).content) == "not stored"
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        assert screen.query_one("#text", CappedTextArea).text == SECRETS[0].text + "!"
        assert session_of(app).snapshot.secrets == SECRETS
        monkeypatch.undo()
        await pilot.press("?")
        await until(pilot, lambda: session_of(app).snapshot.secrets[0].text == SECRETS[0].text + "!?")


async def test_quitting_stores_what_was_typed_just_now(desktop: Desktop) -> None:
    async with desktop.window(make_secrets) as (pilot, app):
        screen = await secret_opened(pilot, app, 1)
        screen.query_one("#text", CappedTextArea).insert(" To the last word.")
        await app.workspace.close(insists=True)
    async with desktop.engine() as engine:
        [summary] = await engine.sessions()
        session = await engine.open(summary.id)
        assert session.snapshot.secrets[0].text.endswith(" To the last word.")
        await session.aclose()


async def test_no_more_secrets_than_a_chapter_can_have(desktop: Desktop) -> None:
    async def make_full(engine: Engine) -> None:
        full = tuple(
            Secret(number=number, text=f"Secret {number}", known_by=NOBODY)
            for number in range(1, MOST_SECRETS + 1)
        )
        await _make_with(engine, await make_draft(engine), full)

    async with desktop.window(make_full) as (pilot, app):
        app.chapter.do_there("setup", "add_secret")
        await until(pilot, lambda: app._notifications)
        assert [note.message for note in app._notifications] == ["A chapter has at most 50 secrets."]
        assert app.screen is app.chapter


async def test_a_secret_has_no_more_text_than_fits_and_says_so(desktop: Desktop) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        await secret_begun(pilot, app)
        app.post_message(events.Paste("x" * (LONGEST_SECRET + 1)))
        await until(pilot, lambda: "Full: 2,000 characters fit, 1 was not taken" in screen_text(app))
        await until(pilot, lambda: session_of(app).snapshot.secrets)
        assert len(session_of(app).snapshot.secrets[0].text) == LONGEST_SECRET


async def test_a_window_that_only_reads_shows_a_secret_and_changes_nothing(desktop: Desktop) -> None:
    async with desktop.window(make_secrets) as (_, writer), desktop.app().run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        screen = await secret_opened(pilot, app, 1)
        assert screen.query_one("#text", CappedTextArea).read_only
        assert part(screen, "known-by").disabled
        assert not app.chapter.may_do("setup", "add_secret")
        assert cell_of(app).check_action("add", ()) is False
        changed = (SECRETS[0], Secret(number=2, text="Another one.", known_by=NOBODY))
        await session_of(writer).scene.edit_secrets(changed)
        await until(pilot, lambda: "Another one." in rows(app)[1], "what another window stores is not shown")
        await app.close_everything()


async def test_secrets_are_listed_with_who_knows_them_and_their_reveals_are_planned(desktop: Desktop) -> None:
    async with desktop.window(make_secrets) as (pilot, app):
        # The lock dialog says who will know which secret.
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        text = str(app.screen.query_one("#consequences", Static).content)
        assert "“The keeper's son is alive, and hides in…” – Mira\n" in text
        assert (
            "“The lamp was put out on purpose. [/x]” – Mira, Jonas [/x]; revealed to everyone at prompt 12\n"
            in text
        )
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # The list says who knows each secret by names that change and what is planned.
        assert [row.split("\n")[1] for row in rows(app)] == [
            "known to Mira",
            "known to Mira, Jonas [/x]; revealed to everyone at prompt 12",
        ]
        await pilot.press("ctrl+n", "X")
        await until(pilot, lambda: "Jonas [/x]X" in rows(app)[1])
        # Half a reveal is not stored and not lost without a question.
        screen = await secret_opened(pilot, app, 1)
        screen.query_one("#reveal-at").focus()
        await pilot.press("9")
        await until(pilot, lambda: "Choose who learns it at prompt 9." in screen_text(app))
        await until(pilot, lambda: str(screen.query_one("#saved", Static).content) == "not all stored")
        assert session_of(app).snapshot.secrets == SECRETS
        assert app.unsaved == "Choose who learns it at prompt 9."
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
        part(screen, "reveal-to").focus()
        await pilot.press("1")
        await until(pilot, lambda: session_of(app).snapshot.secrets[0].reveal_at == 9)
        assert "Choose who learns" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # A reveal at prompt 0 is refused with a sentence.
        screen = await secret_opened(pilot, app, 2)
        field = screen.query_one("#reveal-at", Input)
        field.value = "0"
        await until(pilot, lambda: "A reveal is planned at prompt 1 or a later one." in screen_text(app))
        field.value = ""
        part(screen, "reveal-to").tick_only(NOBODY)
        field.value = "5"
        field.value = ""
        await until(pilot, lambda: session_of(app).snapshot.secrets[1].reveal_at is None)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # Everyone stays everyone when characters are added and one can be taken out.
        screen = await secret_opened(pilot, app, 1)
        part(screen, "known-by").focus()
        await pilot.press("2", "3")
        await until(pilot, lambda: session_of(app).snapshot.secrets[0].known_by == EVERYONE)
        await pilot.press("1")
        expected = Audience.of((Slot.ORANGE, Slot.YELLOW))
        await until(pilot, lambda: session_of(app).snapshot.secrets[0].known_by == expected)


async def test_nothing_of_secrets_shows_before_the_first_and_the_palette_makes_it_in_the_draft(
    desktop: Desktop,
) -> None:
    async with desktop.window(make_draft) as (pilot, app):
        # The lock dialog of a chapter without secrets says nothing of them.
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, LockModal))
        assert "secret" not in str(app.screen.query_one("#consequences", Static).content)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        # Nothing of secrets shows before the first and the palette makes it.
        assert not cell_of(app).display
        assert "ecret" not in screen_text(app).replace("Who this character is", "").replace("secrets.", "")
        screen = await secret_begun(pilot, app)
        await pilot.press(*"He lied")
        await until(pilot, lambda: session_of(app).snapshot.secrets)
        part(screen, "known-by").focus()
        await pilot.press("2")
        await until(pilot, lambda: session_of(app).snapshot.secrets[0].known_by == JONAS)
        assert str(screen.query_one("#saved", Static).content) == "stored"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chapter)
        assert session_of(app).snapshot.secrets == (Secret(number=1, text="He lied", known_by=JONAS),)
        assert cell_of(app).display
        assert rows(app) == ["1 He lied\nknown to Jonas [/x]"]


def test_a_question_names_a_secret_by_its_first_words_and_cuts_none_of_them() -> None:
    assert first_words("The keeper's son\nis alive, and his brother knows.") == (
        "The keeper's son is alive, and his…"
    )
    assert first_words("The captain lies.") == "The captain lies."
    assert first_words("k" * 50) == "k" * 40 + "…"
