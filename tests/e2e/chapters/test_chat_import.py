"""`storyengine import` reads a chat; what is in it is data, and what is no chat is refused in a sentence."""

import json

from tests.bad_text import KINDS, acts
from tests.e2e.program import Machine

BAD = " ".join(kind.text for kind in KINDS if "\x00" not in kind.middle)


def test_a_chat_becomes_a_chapter_and_nothing_in_it_acts_on_the_terminal(here: Machine) -> None:
    said = f"The lamp is out. {BAD}"
    records = [
        {"user_name": "GM", "character_name": "Kara"},
        {
            "name": f"Kara {BAD}"[:200],
            "mes": said,
            "swipes": ["Hm.", said],
            "swipe_id": 1,
        },
        {"name": "GM", "is_user": True, "is_system": True, "mes": "A secret of mine."},
        {"name": "GM", "is_user": True, "mes": f"Light it. {BAD}"},
    ]
    chat = here.write("A [b]chat.jsonl", "\n".join(map(json.dumps, records)))
    made = here.call("import", chat)
    assert made.returncode == 0, made.stderr
    assert "1 prompt, 1 reply, 1 further take, 1 hidden message that no character knows" in made.stdout
    assert "Write world, chapter and identities on tab 1, then lock" in made.stdout
    session = made.stdout.split()[3]
    shown = here.call("show", session)
    transcript = here.call("export", session, "--format", "transcript")
    for output in (made, shown, transcript):
        assert not acts(output.stdout + output.stderr)
    assert "The lamp is out." in transcript.stdout


def test_what_is_no_chat_is_refused_and_nothing_is_stored(here: Machine) -> None:
    before = here.lines("sessions")
    refused = here.call("import", here.write("list.jsonl", "[1, 2]\n"))
    assert refused.returncode != 0
    assert "The file is no chat of SillyTavern: line 1 is not an object." in refused.stderr
    assert here.lines("sessions") == before
