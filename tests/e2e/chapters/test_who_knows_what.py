"""Who knows what on the command line: a short mystery at a real terminal, as each of its cast sees it."""

import re

import pytest

from storyengine_tui.cli.exit_codes import ExitCode
from tests.bad_text import KINDS, acts
from tests.core.values.scripts import KARA_JOSS_INES
from tests.e2e.program import PATIENCE, PROGRAM, Machine
from tests.e2e.terminal.game_master import GameMaster
from tests.terminal import Size

TITLE = "The Short Mystery"
SECRET = "SECRET-7 the will is false"
LATER = "LATER-8 the butler wrote it"
SCRIPT = f"""
title = "{TITLE}"
world = "A house by the sea."
chapter = "The will is gone."
viewpoint = "Ines"
{KARA_JOSS_INES}[[secret]]
text = "{SECRET}"
known_by = ["Kara", "Joss"]
[[secret]]
text = "{LATER}"
known_by = []
reveal_at = 5
reveal_to = ["Ines"]
[[prompt]]
text = "ALL-1 who was here last?"
line = "OPENING-0 the clock stops."
roll = "2d6+1"
[[prompt]]
to = "Joss"
text = "WHISPER-2 burn the letter."
whisper = true
[[prompt]]
to = "Kara"
text = "LEFT-3 she is out of the room."
present = ["Kara", "Joss"]
takes = 2
[[prompt]]
to = "Kara"
text = "UNDONE-4 the police."
undo = true
[[prompt]]
to = "Ines"
text = "BACK-4 you come in again."
present = ["Kara", "Joss", "Ines"]
[[prompt]]
to = "Ines"
text = "END-5 now you see it."
[[prompt]]
branch_at = 3
branch_title = "The Other Way"
to = "Joss"
text = "OTHER-4 stay where you are."
"""
HEARD = {
    "Kara": {"OPENING-0", "ALL-1", "LEFT-3", "BACK-4", "END-5"},
    "Joss": {"OPENING-0", "ALL-1", "WHISPER-2", "LEFT-3", "BACK-4", "END-5"},
    "Ines": {"OPENING-0", "ALL-1", "BACK-4", "LATER-8", "END-5"},
}
SECRETS = {"Kara": {"SECRET-7"}, "Joss": {"SECRET-7"}, "Ines": {"LATER-8"}}
BAD = " ".join(kind.text for kind in KINDS if "\x00" not in kind.middle and kind.name != "lone surrogates")


def marks(text: str) -> set[str]:
    """Return what is named in a text of everything that not everyone knows."""
    return set(re.findall("(?:OPENING|ALL|WHISPER|LEFT|UNDONE|BACK|END|OTHER|SECRET|LATER)-[0-9]", text))


def ids(here: Machine) -> list[str]:
    listed = [line.split("\t") for line in here.lines("sessions")]
    return [cells[0] for title in (TITLE, "The Other Way") for cells in listed if cells[1] == title]


@pytest.fixture(scope="module")
def mystery(served: tuple[Machine, str]) -> Machine:
    """A machine on which the mystery was played at a terminal."""
    here = served[0]
    script = here.write("mystery.toml", SCRIPT)
    command = (PROGRAM, "play", script, "--provider", "scripted", "--out", here.out)
    with GameMaster(here, size=Size(120, 40), program=command) as window:
        assert window.wait_for_end(PATIENCE) == 0, window.text
        said = bytes(window.received).decode()
    assert "[Roll 2d6+1: " in said
    assert "Secret 2 revealed" in said
    assert "The chapter is in" in said
    return here


def test_each_has_witnessed_and_is_sent_what_they_may_know_and_no_more(mystery: Machine) -> None:
    first, _ = ids(mystery)
    for name, heard in HEARD.items():
        exported = mystery.call("export", first, "--format", "transcript", "--as", name)
        assert exported.returncode == 0, exported.stderr
        transcript = exported.stdout
        assert marks(transcript) == heard
        shown = "\n".join(mystery.lines("context", first, "--as", name.lower()))
        assert marks(shown) == heard | SECRETS[name]
        assert "[Roll 2d6+1: " in shown
    whole = marks(mystery.call("export", first, "--format", "transcript").stdout)
    assert whole == {"WHISPER-2", "LEFT-3", *HEARD["Ines"]}, "all of it, but for what nobody was told"


def test_a_branch_goes_on_with_those_who_were_there_and_keeps_what_they_know(mystery: Machine) -> None:
    _, other = ids(mystery)
    shown = {name: marks("\n".join(mystery.lines("context", other, "--as", name))) for name in HEARD}
    assert shown == {
        "Kara": {"OPENING-0", "ALL-1", "LEFT-3", "OTHER-4", "SECRET-7"},
        "Joss": {"OPENING-0", "ALL-1", "WHISPER-2", "LEFT-3", "OTHER-4", "SECRET-7"},
        "Ines": {"OPENING-0", "ALL-1", "LATER-8"},  # prompt 5 comes next, and with it her secret
    }
    assert mystery.lines("present", other) == ["Present: Kara, Joss"]
    told = mystery.call("export", other, "--format", "chapter").stdout
    assert told
    assert not marks(told) & {"WHISPER-2", "LEFT-3", "OTHER-4", "SECRET-7"}, "Ines tells it"
    everything = "\n".join(mystery.lines("show", other))
    assert f"Secret 1 (known to: Kara, Joss): {SECRET}" in everything
    assert "Present: Kara, Joss" in everything
    assert "known to Joss" in everything, "his own memory of it"


def test_a_second_play_rolls_and_tells_nothing_again(mystery: Machine) -> None:
    before = [mystery.lines("export", session) for session in ids(mystery)]
    script = mystery.work / "mystery.toml"
    again = mystery.call("play", script, "--provider", "scripted", "--out", mystery.out)
    assert again.returncode == 0, again.stderr
    assert [mystery.lines("export", session) for session in ids(mystery)] == before


def test_the_gm_says_who_is_present_rolls_and_reveals_between_two_plays(mystery: Machine) -> None:
    first, _ = ids(mystery)
    assert mystery.lines("present", first, "Kara", "3") == ["Present: Kara, Ines"]
    [rolled] = mystery.lines("roll", "3d6", first, "--seed", "7")
    assert mystery.lines("roll", "3d6", "--seed", "7") == [rolled]
    assert mystery.lines("roll", "d20", first, "--to", "joss", "--seed", "1")
    assert mystery.lines("reveal", first, "1", "--to", "Ines") == ["Secret 1 is revealed to: Ines"]
    shown = {name: "\n".join(mystery.lines("context", first, "--as", name)) for name in HEARD}
    assert [rolled in shown[name] for name in HEARD] == [True, False, True]
    assert ["[Roll d20: " in shown[name] for name in HEARD] == [False, True, False]
    assert [SECRET in shown[name] for name in HEARD] == [True, True, True]
    refused = mystery.call("reveal", first, "1", "--to", "Ines")
    assert refused.returncode == ExitCode.REFUSED
    assert "They know that secret already" in refused.stderr
    assert mystery.lines("present", first, "--everyone") == ["Present: everyone"]


def test_an_ended_chapter_is_told_again_by_another(mystery: Machine) -> None:
    _, other = ids(mystery)
    by_kara = "\n".join(mystery.lines("write", other, "--as", "Kara", STORYENGINE_PROVIDER="scripted"))
    assert by_kara.strip()
    assert "WHISPER-2" not in by_kara
    assert sum(line.startswith("Draft ") for line in mystery.lines("show", other)) == 2
    refused = mystery.call("write", ids(mystery)[0], STORYENGINE_PROVIDER="scripted")
    assert refused.returncode == ExitCode.REFUSED


def test_what_is_wrong_is_said_and_changes_nothing(mystery: Machine) -> None:
    first, _ = ids(mystery)
    before = mystery.lines("export", first)
    for words, said in (
        (
            ("context", first, "--as", "Mott"),
            "“Mott” names no character of this chapter; the cast is 1 Kara,",
        ),
        (("present", first, "Kara", "4"), "“4” names no character"),
        (("reveal", first, "9"), "There is no secret 9"),
        (("roll", "6", first), "is not a roll of dice"),
        (("roll", "d6", "--to", "Kara"), "name the chapter as well"),
        (("export", first, "--as", "Kara"), "Only a transcript has --as"),
    ):
        refused = mystery.call(*words)
        assert refused.returncode != 0
        assert said in refused.stderr
    assert mystery.lines("export", first) == before


@pytest.mark.parametrize(
    "words",
    [
        ("present", "last"),
        ("context", "last", "--as"),
        ("export", "last", "--format", "transcript", "--as"),
        ("roll",),
        ("reveal", "last", "1", "--to"),
        ("write", "last", "--as"),
    ],
    ids=lambda words: words[0],
)
def test_a_name_or_dice_with_escapes_are_repeated_without_them(
    mystery: Machine, words: tuple[str, ...]
) -> None:
    refused = mystery.call(*words, BAD[: BAD.index(" ")] + "\x1b]0;owned\x07\x1b[31mX")
    assert refused.returncode == ExitCode.REFUSED
    assert "Before it" in refused.stderr or "X”" in refused.stderr
    assert not acts(refused.stdout + refused.stderr)


def test_what_a_chapter_says_of_who_knows_what_is_shown_without_its_escapes(here: Machine) -> None:
    told = "".join(f"\\u{ord(one):04x}" if ord(one) < 0x10000 else one for one in BAD)
    script = here.write(
        "bad-mystery.toml",
        f'title = "Bad"\nworld = "Sea"\nchapter = "Storm"\n[[agent]]\nname = "Kara"\n'
        f'[[secret]]\ntext = "{told}"\nknown_by = [1]\nreveal_at = 1\n'
        f'[[prompt]]\ntext = "Go."\nline = "{told}"\nroll = "d6"\n',
    )
    played = here.call("play", script, "--provider", "scripted", "--out", here.out)
    assert played.returncode == 0, played.stderr
    for words in (("show", "last"), ("context", "last", "--as", "Kara"), ("present", "last")):
        shown = here.call(*words)
        assert shown.returncode == 0, shown.stderr
        assert not acts(shown.stdout)
        assert words[0] == "present" or "Before it" in shown.stdout
