"""What a character lacks and what a chapter changed, on the command line: asked, listed, taken, undone."""

import json
import os
import signal
import time

import psycopg
import pytest

from tests.e2e.program import PATIENCE, Machine
from tests.store.servers import plain_url

ESCAPES = "\\u001b[31m\\u001b]0;owned\\u0007"
REPLIES = f"""
[[reply]]
match.schema = "text"
match.last = "sea"
text = "The sea took my brother."
[[reply]]
match.schema = "gaps"
payload = {{ short_description = "{ESCAPES}The last of [/x] the lamp.", traits = [{{ name = "Watchful" }}] }}
[[reply]]
match.schema = "changes"
[[reply.payload.changes]]
prompt = 1
quote = "took my brother"
about = "identity"
name = ""
text = "{ESCAPES}She lost her brother."
value = 0
why = "It lasts."
[[reply.payload.changes]]
prompt = 1
quote = "made up by the model"
about = "identity"
name = ""
text = "Nothing of it is true."
value = 0
why = ""
"""
SCRIPT = """
title = "The Proposed Chapter"
world = "A house by the sea."
chapter = "The lamp is out."
book = "The Proposed Book"
[[agent]]
name = "Mirabel"
[[agent]]
name = "Stattler"
[[prompt]]
to = "Mirabel"
text = "What do you know of the sea?"
"""


def card(name: str, **extra: object) -> bytes:
    ours = {"story_engine": {"topics": [{"name": "The sea", "exposure_now": 0.5}], **extra}}
    return json.dumps(
        {
            "spec": "chara_card_v2",
            "spec_version": "2.0",
            "data": {"name": name, "description": f"{name} keeps the lamp.", "extensions": ours},
        }
    ).encode()


@pytest.fixture(scope="module")
def settings(served: tuple[Machine, str]) -> dict[str, str]:
    """What makes the model answer; the chapter was played, and its cast is in the library."""
    here = served[0]
    replies = here.write("proposed-replies.toml", REPLIES)
    for content in (card("Mirabel"), card("Stattler", is_static=True)):
        assert here.pipe(content, "cast", "import", "--trust", "-").returncode == 0
    script = here.write("proposed.toml", SCRIPT)
    made = here.call("play", script, "--provider", "scripted", "--replies", replies, "--out", here.out)
    assert made.returncode == 0, made.stderr
    return {"STORYENGINE_PROVIDER": "scripted", "STORYENGINE_SCRIPT": str(replies)}


def shown(here: Machine, name: str) -> str:
    return here.call("cast", "show", name).stdout


def test_gaps_are_proposed_listed_taken_and_undone(here: Machine, settings: dict[str, str]) -> None:
    before = shown(here, "Mirabel")
    asked = here.call("cast", "assist", "mirabel", **settings)
    assert asked.returncode == 0, asked.stderr
    assert "1. Mirabel: Short description, to fill a gap" in asked.stdout
    assert "proposed: The last of [/x] the lamp." in asked.stdout
    assert "2. Mirabel: New trait “Watchful”, to fill a gap" in asked.stdout
    assert "\x1b" not in asked.stdout
    assert shown(here, "Mirabel") == before, "nothing is changed by asking"
    taken = here.call("cast", "proposals", "Mirabel", "--take", "1", "--drop", "2")
    assert taken.stdout.splitlines() == ["Taken: Short description", "Dropped: 1"]
    assert "The last of [/x] the lamp." in shown(here, "Mirabel")
    for _ in range(2):
        assert here.call("cast", "proposals", "Mirabel", "--undo").returncode == 0
    assert shown(here, "Mirabel") == before
    assert here.call("cast", "proposals", "Mirabel", "--all").stdout.startswith("Taken: 2;")
    assert here.call("cast", "proposals", "Mirabel").stdout.strip() == "Nothing is proposed."


def test_a_chapter_is_looked_back_at_by_its_book_and_no_one_twice(
    here: Machine, settings: dict[str, str]
) -> None:
    held = here.call("ceremony", "the proposed book", **settings)
    assert held.returncode == 0, held.stderr
    assert "Left alone: Stattler is static: only you change it" in held.stdout
    assert "More of the identity, from the chapter, prompt 1" in held.stdout
    assert "because:  “took my brother” It lasts." in held.stdout
    assert "Topic “The sea”, counted in the chapter" in held.stdout
    assert "Nothing of it is true" not in held.stdout
    assert "\x1b" not in held.stdout
    listed = here.call("cast", "proposals").stdout
    again = here.call("ceremony", "the proposed book", **settings)
    said = "Looking back at “The Proposed Chapter”.\nLeft alone: Stattler is static: only you change it\n"
    said += "1 question was answered before; --again asks once more.\n"
    assert again.stdout == said + listed
    assert "chapter:  The Proposed Chapter" in listed
    once_more = here.call("ceremony", "the proposed book", "--again", **settings)
    assert "1 question …" in once_more.stdout
    assert "answered before" not in once_more.stdout


def test_after_the_next_chapter_was_begun_the_ceremony_is_of_the_last_that_has_ended(
    here: Machine, settings: dict[str, str]
) -> None:
    assert here.pipe(card("Fozzie"), "cast", "import", "-").returncode == 0
    asked = here.call("cast", "assist", "Fozzie", **settings)
    assert "to fill a gap" in asked.stdout, "what is not of the chapter"
    assert here.call("next", here.lines("book", "show", "the proposed book")[1].split()[-1]).returncode == 0
    for chapter in ("the proposed book", "last"):
        held = here.call("ceremony", chapter, **settings)
        assert held.returncode == 0, held.stderr
        assert held.stdout.startswith("Looking back at “The Proposed Chapter”.")
        assert "from the chapter, prompt 1" in held.stdout
        assert "to fill a gap" not in held.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cast", "proposals", "Mirabel", "--take", "99"), "There is no proposal 99; nothing was decided."),
        (("cast", "proposals", "--undo"), "Name the character whose last decision is undone."),
        (("cast", "assist", "Stattler"), "static: only you change it; nothing was asked."),
        (("ceremony", "no such book"), "there is no book called “no such book”"),
    ],
)
def test_what_is_not_possible_is_refused_with_a_sentence(
    here: Machine, settings: dict[str, str], arguments: tuple[str, ...], said: str
) -> None:
    refused = here.call(*arguments, **settings)
    assert refused.returncode == 8
    assert said in refused.stderr


def test_a_ceremony_of_an_archived_chapter_says_that_it_is_archived(
    here: Machine, settings: dict[str, str]
) -> None:
    chapter = here.lines("book", "show", "the proposed book")[1].split()[-1]
    here.lines("archive", chapter)
    try:
        refused = here.call("ceremony", chapter, **settings)
        assert refused.returncode == 8
        assert f"the chapter “{chapter}” is archived" in refused.stderr
        assert f"storyengine restore {chapter}" in refused.stderr
    finally:
        here.lines("restore", chapter)
    assert "there is no chapter “ffffffff”" in here.call("ceremony", "ffffffff", **settings).stderr


KILLED = """
title = "The Killed Chapter"
world = "A house by the sea."
chapter = "The lamp is out."
[[agent]]
name = "Gonzo"
[[agent]]
name = "Kermit"
[[prompt]]
to = "Gonzo"
text = "What do you know of the sea?"
"""
HANGING = REPLIES.replace(
    '[[reply]]\nmatch.schema = "changes"',
    '[[reply]]\nmatch = { schema = "changes", anywhere = "Name: Kermit" }\nfault = "hang"\n'
    '[[reply]]\nmatch.schema = "changes"',
)
SETTLED = """
    SELECT state, count(artifact.*) FROM llm_request request
    LEFT JOIN llm_artifact artifact ON artifact.request_id = request.request_id
        AND artifact.error_code IS NULL
    WHERE request.kind = 'ceremony' AND request.session_id = %s
    GROUP BY request.request_id, state ORDER BY request.request_id
"""


def test_a_ceremony_that_was_killed_goes_on_and_asks_nothing_twice(
    here: Machine, settings: dict[str, str], served: tuple[Machine, str]
) -> None:
    for name in ("Gonzo", "Kermit"):
        assert here.pipe(card(name), "cast", "import", "-").returncode == 0
    replies, hanging = here.write("calm.toml", REPLIES), here.write("hanging.toml", HANGING)
    script = here.write("killed.toml", KILLED)
    made = here.call("play", script, "--provider", "scripted", "--replies", replies, "--out", here.out)
    assert made.returncode == 0, made.stderr
    [chapter] = [line for line in here.lines("sessions") if "The Killed Chapter" in line]
    session = chapter.split("\t")[0]
    with psycopg.connect(plain_url(served[1]), autocommit=True) as raw:
        state: list[tuple[str, int]] = []
        with here.start("ceremony", session, **{**settings, "STORYENGINE_SCRIPT": str(hanging)}) as process:
            deadline = time.monotonic() + PATIENCE
            while state != [("done", 1), ("processing", 0)]:
                assert time.monotonic() < deadline, state
                assert process.poll() is None
                state = raw.execute(SETTLED, [session]).fetchall()
            os.killpg(process.pid, signal.SIGKILL)
        before = here.lines("cast", "proposals", "Gonzo")
        # The call that was cut off may have been made again before the command asks what is left.
        assert here.lines("ceremony", session, **settings)[0].startswith("Looking back at “The Killed")
        assert raw.execute(SETTLED, [session]).fetchall() == [("done", 1), ("done", 1)]
    assert here.lines("cast", "proposals", "Gonzo") == before
    assert sum("from the chapter" in line for line in here.lines("cast", "proposals", "Kermit")) == 1
    file = here.out / "killed.json"
    here.lines("export", session, "--format", "json", "--out", file)
    kinds = [one["kind"] for one in json.loads(file.read_text())["body"]["requests"]]
    assert kinds.count("ceremony") == 2
    [imported] = here.lines("import", file)
    assert imported
