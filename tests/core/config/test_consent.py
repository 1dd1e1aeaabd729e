"""Consent: which addresses may be sent to, and that nothing passes for this machine that is not."""

import ipaddress
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.consent import Consent, InvalidAddressError, is_loopback, normalise_base_url
from core.config.files.private_files import write_privately
from core.domain.errors import ErrorCode, StoryEngineError

REMOTE = "https://api.example.com/v1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "consent.json"


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("HTTPS://API.Example.COM:443/v1/", REMOTE),
        (" https://api.example.com/v1 ", REMOTE),
        ("https://api.example.com/v1///", REMOTE),
        ("http://api.example.com:80", "http://api.example.com"),
        ("http://api.example.com:443/v1", "http://api.example.com:443/v1"),
        ("https://api.example.com/V1", "https://api.example.com/V1"),
        ("http://[0:0::1]:8080/v1", "http://[::1]:8080/v1"),
        ("http://my_box:11434/v1", "http://my_box:11434/v1"),
    ],
)
def test_one_way_of_writing(written: str, normal: str) -> None:
    assert normalise_base_url(written) == normal
    assert normalise_base_url(normal) == normal


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com/v1",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "http://127.0.0.1@evil.example/v1",
        "http://evil.example@127.0.0.1/v1",
        "http://user:password@api.example.com/v1",
        "http://evil.example\\@127.0.0.1/v1",
        "http://127.0.0.1\\.evil.example/v1",
        "http://evil.example#@127.0.0.1/",
        "http://evil.example?@127.0.0.1/",
        "http://127.0.0.1\n.evil.example/",
        "http://127.0.0.1\t/",
        "http://127.0.0.1 .evil.example/",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://lοcalhost/",
        "http://%6cocalhost/",
        "http://127.0.0.1%2eevil.example/",
        "http://[::1%25eth0]/",
        "http://[::1/",
        "http://[::1].evil.example/",
        "http://[::1]evil.example:80/",
        "http://[evil.example]/",
        "http://localhost./",
        "http://127.0.0.1./",
        "http://a..b/",
        "http://api.example.com:99999/",
        "http://api.example.com:x/",
    ],
)
def test_what_can_be_read_in_two_ways_is_no_address(url: str) -> None:
    with pytest.raises(InvalidAddressError):
        normalise_base_url(url)
    with pytest.raises(InvalidAddressError):
        is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost",
        "HTTP://LocalHost:11434/v1",
        "http://127.0.0.1:8080/v1",
        "http://127.255.255.254/",
        "https://[::1]:1/",
    ],
)
def test_this_machine_needs_no_consent(url: str, file: Path) -> None:
    assert is_loopback(url)
    Consent((), file).check(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1.evil.example/v1",
        "http://localhost.evil.example/v1",
        "http://evil.localhost/v1",
        "http://localhost-evil.example/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.01/",
        "http://0/",
        "http://0.0.0.0/",
        "http://10.0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:8.8.8.8]/",
        "http://[::]/",
        "http://[::127.0.0.1]/",
        "http://[fe80::1]/",
        "http://128.0.0.1/",
        "http://126.255.255.255/",
    ],
)
def test_what_only_looks_like_this_machine_needs_consent(url: str, file: Path) -> None:
    assert not is_loopback(url)
    with pytest.raises(StoryEngineError) as caught:
        Consent((), file).check(url)
    assert caught.value.code is ErrorCode.CONSENT_REQUIRED


HOSTS = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
    st.from_regex(r"(127|localhost|[a-z0-9x]{1,9})(\.[0-9a-fx]{1,4}){0,4}(\.[a-z]{2,5})?", fullmatch=True),
    st.text(max_size=20),
)
USERS = st.sampled_from(["", "", "127.0.0.1@", "localhost:80@", "x\\@", "@"])
TAILS = st.sampled_from(
    ["", "/", ":8080/v1", ":80", "/v1", "@evil.example", ".evil.example", "\\x", "?", "#"]
)


@given(st.sampled_from(["http", "HTTPS", "ftp", ""]), USERS, HOSTS, TAILS)
def test_only_true_loopback_passes_for_it(scheme: str, user: str, host: str, tail: str) -> None:
    url = f"{scheme}://{user}{host}{tail}"
    try:
        normal = normalise_base_url(url)
    except InvalidAddressError:
        return
    assert normalise_base_url(normal) == normal
    assert is_loopback(normal) == is_loopback(url)
    if is_loopback(url):
        found = normal.split("//")[1].split("/")[0].rsplit("]")[0].lstrip("[")
        found = found if "::" in found else found.split(":")[0]
        assert found == "localhost" or ipaddress.ip_address(found).is_loopback
        assert "evil" not in normal


@given(st.ip_addresses(v=4))
def test_four_decimals_are_judged_by_the_network(address: ipaddress.IPv4Address) -> None:
    assert is_loopback(f"http://{address}:1/v1") == (address.packed[0] == 127)


def test_grant_and_revoke(file: Path) -> None:
    consent = Consent((), file)
    assert consent.grant("HTTPS://api.example.com:443/v1/") == REMOTE
    Consent((), file).check(REMOTE)
    assert consent.granted() == {REMOTE}
    assert not consent.is_granted("https://api.example.com/v2")
    assert not consent.is_granted("http://api.example.com/v1")
    assert consent.revoke(REMOTE)
    assert not consent.revoke(REMOTE)
    assert not consent.is_granted(REMOTE)


def test_what_another_window_does_holds_at_once(file: Path) -> None:
    here, there = Consent((), file), Consent((), file)
    there.grant(REMOTE)
    here.check(REMOTE)
    there.revoke(REMOTE)
    assert not here.is_granted(REMOTE)


def test_what_two_windows_change_at_once_is_all_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "https://other.example.com/v1"
    Consent((), file).grant(other)
    told: list[StoryEngineError] = []

    def write(to: Path, text: str) -> None:
        monkeypatch.undo()
        monkeypatch.setattr("core.config.files.private_files._LOCK_TIMEOUT", 0.0)  # it would wait for us
        try:
            Consent((), file).revoke(other)
        except StoryEngineError as error:
            told.append(error)
        write_privately(to, text)

    monkeypatch.setattr("core.config.consent.write_privately", write)
    Consent((), file).grant(REMOTE)
    assert told or not Consent((), file).is_granted(other), "a consent that was taken back came back"
    assert Consent((), file).is_granted(REMOTE)


def test_settings_grant_too_and_say_so_when_revoked(file: Path) -> None:
    consent = Consent(("not an address", REMOTE + "/"), file)
    consent.check(REMOTE)
    with pytest.raises(StoryEngineError, match="settings still grant"):
        consent.revoke(REMOTE)


def test_the_refusal_names_what_helps(file: Path) -> None:
    with pytest.raises(StoryEngineError) as caught:
        Consent((), file).check(REMOTE + "/")
    assert f"storyengine consent grant {REMOTE}" in caught.value.hint
    assert "STORYENGINE_CONSENT" in caught.value.hint
    assert "nothing was sent" in caught.value.message


def test_the_file_is_private_and_whole(file: Path) -> None:
    Consent((), file).grant(REMOTE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert sorted(os.listdir(file.parent)) == [file.name, f"{file.name}.lock"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"granted": 7}', '{"granted": [1, "x"]}', "\x00"])
def test_a_file_that_cannot_be_read_grants_nothing(file: Path, content: str) -> None:
    file.parent.mkdir()
    file.write_text(content)
    consent = Consent((), file)
    assert consent.granted() == frozenset()
    consent.grant(REMOTE)
    consent.check(REMOTE)


def test_a_full_or_closed_disk_is_said(file: Path) -> None:
    file.parent.write_text("in the way")
    with pytest.raises(StoryEngineError) as caught:
        Consent((), file).grant(REMOTE)
    assert caught.value.code is ErrorCode.STORAGE_SAVE_FAILED


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://a b.example/", "it contains ' '"),
        ("http://a\tb.example/", "it contains blanks"),
        ("ftp://a.example/", "http:// or https://"),
        ("http://[v1.a]/", "IPv6"),
        ("http://a.example:99999/", "host and port"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_what_is_wrong_with_it(url: str, words: str) -> None:
    with pytest.raises(InvalidAddressError, match=words):
        normalise_base_url(url)


def test_a_consent_among_others_that_are_no_address_holds(file: Path) -> None:
    good = "https://api.example.com/v1"
    assert Consent(("no address", good, "ftp://x"), file).is_granted(good)
