"""The table of the commands that the palette offers, by their conditions."""

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.actions import parse
from textual.app import SystemCommand

from core.domain.session.language import read_language
from storyengine_tui.screens.shared.session_tab import SessionTab
from storyengine_tui.shell.overlay_app import OverlayApp
from storyengine_tui.shell.way_back import do_on_page

if TYPE_CHECKING:
    from core.engine.recall.hits import Hit
    from core.engine.session.session_handle import SessionHandle


def _keep_bank(app: OverlayApp, is_on: bool) -> None:
    from storyengine_tui.screens.chapter.bank_switch import keep_bank

    if app.session is not None:
        app.do(keep_bank(app, app.session, is_on=is_on))


def _ask_language(app: OverlayApp) -> None:
    """Ask for the language of the chapter that is open."""
    from storyengine_tui.screens.chapter.bank_switch import LanguageModal, set_language

    if (session := app.session) is not None:

        def typed(line: str | None) -> None:
            if language := read_language(line or ""):
                app.do(set_language(app, session, language))

        app.push_screen(LanguageModal(session.snapshot.session.language.value), typed)


def _search(app: OverlayApp) -> None:
    """Open the search over the chapter."""
    from storyengine_tui.screens.search.search_screen import place_wanted, search_in

    def chosen(hit: "Hit | None") -> None:
        if hit is not None:
            app.chapter.post_message(place_wanted(hit))

    async def prepare(session: "SessionHandle") -> None:
        await session.vectors.ask_for_search()

    if app.engine is not None and app.session is not None:
        app.push_screen(search_in(app.engine, app.session.id), chosen)
        app.do(prepare(app.session), group="search")


def _offer_more(app: OverlayApp) -> None:
    """Offer what else the card has of the character in the panel that shows."""
    from storyengine_tui.screens.setup.casting.casting import offer_more

    if app.engine is not None and (panel := app.shown_character) is not None:
        app.do(offer_more(app, app.engine.library, panel, is_asked=True))


class Need(Enum):
    """Condition of a command."""

    NOTHING = auto()
    ENGINE = auto()
    SESSION = auto()
    """An open chapter."""
    WRITER = auto()
    """One that this window may change."""
    ENDED = auto()
    ENDED_HERE = auto()
    """An ended chapter that this window may change."""
    BANK = auto()
    NO_BANK = auto()
    TEXT = auto()
    """A field whose text a model may help with."""
    CHARACTER = auto()
    """The panel of a character."""
    EDITABLE_CHARACTER = auto()
    CARD = auto()
    """A character that was taken from the library."""


Command = tuple[str, str, str | Callable[[OverlayApp], object]]
"""The name of a command, what it does, and the action of the app, or the function, that does it."""

COMMANDS: Final[dict[Need, tuple[Command, ...]]] = {
    Need.ENGINE: (
        ("Chapters", "Open, start, rename, archive or restore one, and its save slots", "chapters"),
        (
            "Library",
            "Books, characters and lorebooks across chapters; import cards and lore",
            "library('cast')",
        ),
        ("Lorebooks", "Write and import them, edit their entries, and try a text on one", "library('lore')"),
        ("New chapter", "Start with an empty world", "new_chapter"),
        ("Example", "Open an example chapter, or start with an empty one", "welcome"),
        ("Model", "The settings: who answers, and how to connect another model", "model"),
    ),
    Need.ENDED: (
        (
            "Next chapter",
            "The next one of the book: world, cast, and what this chapter hands on",
            "next_chapter",
        ),
        (
            "Proposals",
            "Changes proposed for characters of the library; take them, drop them, undo that",
            "proposals",
        ),
    ),
    Need.ENDED_HERE: (
        (
            "What this chapter changed",
            "For each character of the library, as proposals that you take or drop",
            "look_back(False)",
        ),
        (
            "Hold the ceremony",
            "Also faded and duplicate records, and topics that wait; as proposals",
            "look_back(True)",
        ),
    ),
    Need.SESSION: (
        ("World", "Tab 1: world, chapter and cast", lambda app: app.chapter.action_tab("setup")),
        ("Play", "Tab 2: prompt the characters", lambda app: app.chapter.action_tab("play")),
        (
            "Chapter",
            "Tab 3: memory, and the written chapter",
            lambda app: app.chapter.action_tab("narrative"),
        ),
        ("Search", "Find words in the story, its memory and its drafts, here or in the whole book", _search),
        ("Prompt blocks", "Your own rules for the agents, and their variants", "prompt_blocks"),
        ("Lorebooks in play", "Attach some of the library, or detach them", "chapter_lore"),
        ("Calls", "The queue, every call that was made, and money: costs, prices, ceilings", "provenance"),
    ),
    Need.TEXT: (("Help with this text", "Continue, tighten or rewrite it, or have one suggested", "assist"),),
    Need.EDITABLE_CHARACTER: (
        (
            "Take a character from the library",
            "Into the panel that shows, as a copy; beside what is there, field by field",
            "take_character",
        ),
    ),
    Need.CARD: (
        (
            "What else the card has",
            "Scenario, greetings, prompt blocks and lore of it, for the character that shows",
            _offer_more,
        ),
    ),
    Need.CHARACTER: (
        (
            "Keep this character in the library",
            "Or see how the one there with this name differs, and take over either way",
            "keep_character",
        ),
    ),
    Need.WRITER: (
        # Not by a name that comes first: Enter alone must not archive a chapter.
        ("Set aside (Archive)", "Take this chapter off the list; nothing is lost", "archive"),
    ),
    Need.BANK: (
        (
            "Stop the memory bank",
            "Its items stay, and are no longer recalled",
            lambda app: _keep_bank(app, False),
        ),
        (
            "Language of the story",
            "{language} now; recall and search know the forms of its words",
            _ask_language,
        ),
    ),
    Need.NO_BANK: (
        (
            "Keep a memory bank",
            "Draw facts, people, places, threads and quotes from play, and recall them",
            lambda app: _keep_bank(app, True),
        ),
    ),
    Need.NOTHING: (("Help", "The keys that work here", "help"),),
}
"""Commands of the program and of the open chapter, by their conditions.

`{language}` stands for the language of the story.
"""

_ACTIONS: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    "setup": (
        ("retry", "Retry the lock", "Try again to lock world and cast"),
        ("add_secret", "Add a secret", "Write what only some characters know, until it is revealed"),
        ("reset", "Reset Chapter", "Archive this chapter and begin an empty one, after a question"),
    ),
    "play": (
        ("cancel", "Stop", "Stop the call that runs; the text is in its panel again"),
        ("retry", "Retry", "Send again what failed"),
        ("take_back", "Take back", "Return the last queued prompt to its panel"),
        ("take_back_all", "Take all back", "Return every queued prompt to its panel, joined there"),
        ("reroll", "Re-roll", "Write the newest reply again; every take stays"),
        ("reroll_with", "Re-roll with another model", "Write it again with a model that you name"),
        ("continue_reply", "Continue the reply", "Go on where the newest reply ends"),
        ("correct_reply", "Correct the reply", "Write the newest reply as it should be"),
        ("keep_partial", "Keep the stopped reply", "Use the text that arrived as the reply"),
        ("undo", "Undo the newest prompt", "Take it back; its text returns to its panel, to edit and send"),
        ("redo", "Redo the prompt", "Bring back the prompt that was undone last"),
        ("branch", "Branch", "Begin a new chapter with this one up to a prompt"),
        (
            "choose_hearers",
            "Choose who hears it",
            "Whisper, choose who hears a prompt, or who is in the scene",
        ),
        ("choose_away", "Away for a while", "Let characters leave the scene for a while, or bring them back"),
        ("let_be_silent", "Silence and action", "Let characters act without words, or say nothing"),
        ("why_silent", "Why no words", "Read the reason of a silence, which is for your eyes alone"),
        ("hint_after", "Point out silent characters", "Mark who had no reply for many prompts"),
        ("choose_called", "Choose who answers", "One character, several in turn, or all present"),
        ("let_add", "Let characters add something", "Unasked, while you are idle; off until you say so"),
        ("strike_afterthought", "Strike what was added", "Take the newest unasked words out of the story"),
        ("leave_out", "Leave the reply out", "Go on without the further reply that failed"),
        ("add_line", "Add a line", "Tell what happens, without a prompt; those you choose witness it"),
        ("begin_scene", "New scene", "Recent context begins here, with a line if you write one"),
        ("send('always')", "Always send this line", "Also when it is old; to those who witnessed it"),
        ("send('never')", "Never send this line", "No model is given the line with the cursor"),
        ("send('default')", "Send this line as usual", "While it is recent, as every other line"),
        ("roll_dice", "Roll dice", "Roll d20 or any others; the result is part of the story"),
        ("reveal", "Reveal a secret", "Tell a secret to those you choose"),
        ("view_as", "As the next character sees it", "Show only what one character has witnessed"),
        ("view_all", "See everything again", "Show the whole story, as you know it"),
        ("quote_here", "Keep as a quote", "Keep the words selected in the transcript, or its line"),
        ("sheet", "Character sheet", "What play changed about the character of the panel"),
        ("next_input", "What is given next", "Read the exact next input of the panel's character"),
        (
            "end_chapter",
            "End Chapter",
            "Summarise what is left and go on to tab 3; asks first if it looks unfinished",
        ),
    ),
    "narrative": (
        ("build", "Build Narrative", "Write the chapter"),
        (
            "build_as",
            "Write the chapter as one character saw it",
            "From its viewpoint, with its knowledge alone",
        ),
        ("view_as", "Memory as the next character sees it", "Show what is known to one character"),
        ("view_all", "All of memory again", "Show memory as you know it"),
        ("correct", "Correct memory", "Correct a mistake in memory"),
        ("revise('rebuild')", "Rebuild memory", "Let a model write the block with the cursor again"),
        ("revise('edit')", "Edit memory", "Change the block with the cursor by hand"),
        ("revise('compare')", "Compare memory", "See how revisions of the block differ"),
        ("revise('pin')", "Pin canon", "Keep the line with the cursor, or release it"),
        ("revise('strike')", "Strike canon", "Forget the line with the cursor, or release it"),
        (
            "revise('rebuild_later')",
            "Rebuild older memory",
            "Rebuild in order the blocks made from older memory",
        ),
        ("bank_list('people')", "People", "Those outside the cast, as the bank remembers them"),
        ("bank_list('places')", "Places", "The places of the story, as the bank remembers them"),
        ("bank_list('threads')", "Threads", "Open threads of the story; close them, or edit them"),
        ("bank_list('facts')", "Facts", "Facts, events, traits, and what changed; confirm them"),
        ("bank_list('quotes')", "Quotes", "Words that are kept, with who said them"),
        ("bank_alike", "Find duplicates", "Show items of the bank that may say the same"),
        ("bank_act('add')", "Add to the bank", "Add an item, and choose who knows it"),
        ("bank_act('undo')", "Undo in the bank", "Take back the last change of its items"),
        ("bank_act('redo')", "Redo in the bank", "Make the change again that was undone last"),
        ("cancel", "Stop writing", "Stop writing or rebuilding; earlier drafts stay"),
        ("retry", "Retry the narrative", "Try again to have the chapter written"),
        ("compare_drafts", "Compare drafts", "See in which words two drafts of the chapter differ"),
        ("download", "Download Chapter", "Export the draft that shows as a text file"),
    ),
}

TAB_ACTIONS: Final = tuple((tab, *action) for tab, actions in _ACTIONS.items() for action in actions)
"""Commands of a tab: the tab, the action, its name, and what it does."""


def _met_needs(app: OverlayApp) -> list[Need]:
    """Return the needs that are met now."""
    session, panel = app.session, app.shown_character
    is_writer = session is not None and not session.is_read_only
    stored = None if session is None else session.snapshot.session
    has_ended = stored is not None and stored.state.has_ended
    keeps_bank = stored is not None and stored.keeps_bank
    met = {
        Need.NOTHING: True,
        Need.ENGINE: app.engine is not None,
        Need.SESSION: session is not None,
        Need.WRITER: is_writer,
        Need.ENDED: has_ended,
        Need.ENDED_HERE: has_ended and is_writer,
        Need.BANK: keeps_bank and is_writer,
        Need.NO_BANK: not keeps_bank and is_writer,
        Need.TEXT: app.helped_area is not None,
        Need.CHARACTER: panel is not None,
        Need.EDITABLE_CHARACTER: panel is not None and panel.is_editable,
        Need.CARD: panel is not None and panel.profile.character_id is not None,
    }
    return [need for need, is_met in met.items() if is_met]


def commands_of(app: OverlayApp, leave: Callable[[], object]) -> Iterator[SystemCommand]:
    """Yield the commands that are possible now."""
    language = "" if app.session is None else app.session.snapshot.session.language.value.capitalize()
    for need in _met_needs(app):
        for name, text, run in COMMANDS[need]:
            work = partial(_perform, run) if isinstance(run, str) else run
            do = partial(work, app) if need is Need.NOTHING else partial(do_on_page, app, partial(work, app))
            yield SystemCommand(name, text.format(language=language), do)
    for tab, action, name, text in TAB_ACTIONS:
        if app.session is not None and app.chapter.may_do(tab, action):
            there = partial(app.chapter.do_there, tab, action)
            yield SystemCommand(name, text, partial(do_on_page, app, there))
    for page in app.chapter.query(SessionTab) if app.session is not None else ():
        for action, name in page.text_targets():
            text = "Put what is typed into that panel, in front of its text"
            move = partial(app.chapter.do_there, "play", action)
            yield SystemCommand(f"Move the text to {as_title(name)}", text, partial(do_on_page, app, move))
    yield SystemCommand("Quit", "Everything is stored", leave)


def _perform(action: str, app: OverlayApp) -> None:
    """Perform an action of the app, such as `library('lore')`."""
    _, name, parameters = parse(action)
    getattr(app, f"action_{name}")(*parameters)


def as_title(name: str) -> str:
    """Return a name as part of a command's title, which Textual reads as markup.

    Textual's own `escape` leaves markup behind where a name has backslashes, so they become slashes.
    """
    return name.replace("\\", "/").replace("[", r"\[")
