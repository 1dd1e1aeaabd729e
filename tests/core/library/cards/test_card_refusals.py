"""Files that are no cards, or are made to harm, are refused with one sentence and quickly."""

import io
import json
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from time import thread_time

import pytest

from core.library.cards.card_file import read_card
from core.library.cards.png import LARGEST_TEXT, SIGNATURE, written
from core.library.json_document import LARGEST_JSON, MAX_DEPTH
from core.library.refusal import LARGEST_FILE, FileRefusedError
from tests.core.library.cards.card_samples import V2, V3, archive, packed, picture, t_ext, text_of, z_txt

SECONDS = 10.0
"""Far more than any of them takes, on a machine that does other work as well."""


def zipped(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as opened:
        for path, file in files:
            opened.writestr(path, file)
    return content.getvalue()


def lying(content: bytes) -> bytes:
    """Return an archive that says of its last file that it has one byte."""
    changed = bytearray(content)
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = changed.rfind(mark) + place
        changed[at : at + 4] = (1).to_bytes(4, "little")
    return bytes(changed)


CARD = ("card.json", text_of(V3))
HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no card": lambda: b'{"a": 1}',
    "a list": lambda: b"[1]",
    "a number": lambda: b"5",
    "half a card": lambda: text_of(V2)[:-20],
    "text": lambda: b"a letter",
    "a picture without a card": lambda: picture(),
    "a signature alone": lambda: SIGNATURE,
    "a jpeg": lambda: b"\xff\xd8\xff\xe0 a picture",
    "an encrypted card": lambda: picture(t_ext("ccv3", b"rcc||rccv1||AAAA||")),
    "an encrypted card in base64": lambda: picture(t_ext("chara", packed(b"rcc||rccv1||AAAA||"))),
    "a file of 64 MB": lambda: b"{" + b" " * LARGEST_FILE,
    "a picture of 50 MB with a card": lambda: picture(
        t_ext("chara", packed(text_of(V2))), written(b"teST", b"\0" * 50_000_000)
    ),
    "a JSON text of 17 MB": lambda: b'{"spec":"chara_card_v2","data":"' + b"x" * LARGEST_JSON + b'"}',
    "deep JSON": lambda: b'{"first_mes":' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}",
    "very deep JSON": lambda: b'{"first_mes":' + b"[" * 5_000_000,
    "many values": lambda: b'{"first_mes":[' + b"1," * 2_100_000 + b"1]}",
    "a long number": lambda: b'{"first_mes":"", "n":' + b"9" * 50_000 + b"}",
    "a packed text that is a bomb": lambda: picture(z_txt("chara", b"A" * (LARGEST_TEXT + 1_000))),
    "many packed texts": lambda: picture(*[z_txt(f"k{number}", b"A" * (20 << 20)) for number in range(5)]),
    "a large text": lambda: picture(t_ext("chara", b"A" * (LARGEST_TEXT + 1))),
    "many chunks": lambda: picture(*[written(b"teST", b"")] * 300_000),
    "a chunk that is longer than the file": lambda: SIGNATURE + b"\xff\xff\xff\xfftEXt" + b"x" * 100,
    "an archive without a card": lambda: zipped(("other.json", b"{}")),
    "an archive that is cut off": lambda: archive(V3)[:-10],
    "a bomb": lambda: zipped(CARD, ("x", b"\0" * (60 << 20))),
    "a bomb that says that it is small": lambda: lying(zipped(CARD, ("x", b"\0" * (60 << 20)))),
    "a card that is a bomb": lambda: zipped(("card.json", b" " * (40 << 20))),
    "many small files": lambda: zipped(
        CARD, *[(f"{number}", b"") for number in range(10_001)], method=zipfile.ZIP_STORED
    ),
    "a path out of the archive": lambda: archive(V3, {"../../etc/passwd": b"x"}),
    "a path from the root": lambda: archive(V3, {"/etc/passwd": b"x"}),
    "a path with a backslash": lambda: archive(V3, {"a\\..\\b": b"x"}),
    "a path with a drive": lambda: archive(V3, {"c:/x": b"x"}),
    "a path that is shown in another direction": lambda: archive(V3, {"a\u202egpj.exe": b"x"}),
    "two cards": lambda: zipped(CARD, ("Card.json", text_of(V2))),
    "packed in another way": lambda: zipped(CARD, ("x", b"\0" * 1_000), method=zipfile.ZIP_LZMA),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_one_sentence_quickly(name: str) -> None:
    content = HOSTILE[name]()
    began = thread_time()
    with pytest.raises(FileRefusedError) as refused:
        read_card(content, "the\x1b[31m file.png")
    assert thread_time() - began < SECONDS
    message = refused.value.message
    assert message.endswith(".")
    assert "\n" not in message
    assert "\x1b" not in message
    assert len(message) < 200


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "kara.png is empty."),
        (b"\xef\xbb\xbf \r\n\0", "kara.png is empty."),
        (picture(t_ext("chara", b" ")), "kara.png holds no character card."),
        (
            picture(t_ext("chara", packed(V2)))[:-60],
            "kara.png is damaged: the picture was cut off before its end.",
        ),
        (
            picture(t_ext("chara", b"x" * (LARGEST_TEXT + 1))),
            "kara.png has a text that is larger than 24 MB.",
        ),
    ],
    ids=["no bytes", "nothing but blanks", "an empty text", "cut off", "a text too large"],
)
def test_the_sentence_names_the_file_and_says_what_it_lacks(content: bytes, said: str) -> None:
    with pytest.raises(FileRefusedError) as refused:
        read_card(content, "kara.png")
    assert refused.value.message == said


def test_of_a_lorebook_it_is_said_what_reads_it() -> None:
    world = json.dumps({"entries": {"0": {"uid": 0, "key": ["lamp"], "content": "Old."}}}).encode()
    with pytest.raises(FileRefusedError, match="holds a lorebook and no character card") as refused:
        read_card(world, "world.json")
    assert refused.value.hint == "`storyengine lore import` reads it."


def test_an_encrypted_card_is_said_to_be_one() -> None:
    for name in ("an encrypted card", "an encrypted card in base64"):
        with pytest.raises(FileRefusedError, match="encrypted RisuAI card") as refused:
            read_card(HOSTILE[name](), "x")
        assert refused.value.hint == "Export it from RisuAI without encryption."


def test_a_bomb_is_never_unpacked_into_memory() -> None:
    packed_bomb = zlib.compress(b"\0" * (150 << 20), 1)
    bomb = picture(written(b"zTXt", b"chara\0\0" + packed_bomb))
    tracemalloc.start()
    with pytest.raises(FileRefusedError):
        read_card(bomb, "")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 80 << 20


def test_a_large_card_that_is_within_its_bounds_is_read() -> None:
    card = {**V2, "data": {**V2["data"], "x_big": "é" * 4_000_000}}
    text = json.dumps(card, ensure_ascii=False).encode()
    assert read_card(picture(t_ext("chara", packed(text))), "").card.name == "Kara"
