"""Cards of every version and container, and generators of cards with every field and unknown ones."""

import base64
import io
import json
import struct
import zipfile
import zlib
from typing import Any

from hypothesis import strategies as st

from core.library.cards.png import SIGNATURE, plain_picture, written

V1: dict[str, Any] = {
    "name": "Kara",
    "description": "A keeper of the lamp.",
    "personality": "dry",
    "scenario": "A lighthouse.",
    "first_mes": "Who is there?",
    "mes_example": "<START>\n{{user}}: Hi",
}
V2: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        **V1,
        "creator_notes": "For the sea.",
        "system_prompt": "{{original}} Be brief.",
        "post_history_instructions": "Stay dry.",
        "alternate_greetings": ["Come in.", "Go away."],
        "tags": ["sea", "night"],
        "creator": "somebody",
        "character_version": "1.1",
        "extensions": {
            "talkativeness": 0.50,
            "depth_prompt": {"prompt": "Rain.", "depth": 3, "role": "system"},
            "other/tool": {"deep": [1, 2.0, {"x": None}]},
        },
        "character_book": {
            "entries": [
                {
                    "keys": ["lamp"],
                    "content": "It is old.",
                    "enabled": True,
                    "insertion_order": 5,
                    "extensions": {},
                }
            ],
            "extensions": {},
        },
    },
}
V3: dict[str, Any] = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        **V2["data"],
        "nickname": "K",
        "group_only_greetings": ["Ahoy, all."],
        "creator_notes_multilingual": {"de": "Fürs Meer."},
        "source": ["https://cards.example/kara"],
        "creation_date": 1_700_000_000,
        "modification_date": 0,
        "assets": [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
    },
}


def text_of(card: object) -> bytes:
    """Write a card as an author's tool does, with white space of its own."""
    return json.dumps(card, ensure_ascii=False, indent="\t").encode()


def packed(card: object) -> bytes:
    """Write a card as it is within a picture."""
    return base64.b64encode(card if isinstance(card, bytes) else text_of(card))


def t_ext(keyword: str, text: bytes) -> bytes:
    """Write a plain text chunk."""
    return written(b"tEXt", keyword.encode("latin-1") + b"\0" + text)


def z_txt(keyword: str, text: bytes) -> bytes:
    """Write a packed text chunk."""
    return written(b"zTXt", keyword.encode("latin-1") + b"\0\0" + zlib.compress(text))


def i_txt(keyword: str, text: bytes, *, is_packed: bool) -> bytes:
    """Write an international text chunk, packed or not."""
    body = zlib.compress(text) if is_packed else text
    return written(b"iTXt", keyword.encode() + bytes([0, is_packed, 0]) + b"en\0Card\0" + body)


def picture(*chunks: bytes, end: bytes = b"") -> bytes:
    """Return a small picture with these chunks before its end mark."""
    plain = plain_picture((10, 200, 30), 3, 2)
    mark = written(b"IEND", b"")
    assert plain.endswith(mark)
    return plain[: -len(mark)] + b"".join(chunks) + mark + end


def image_data(content: bytes) -> list[bytes]:
    """Return the chunks of a picture that no text is in, byte for byte."""
    assert content.startswith(SIGNATURE)
    found, at = [], len(SIGNATURE)
    while at < len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind = content[at + 4 : at + 8]
        if kind not in (b"tEXt", b"zTXt", b"iTXt"):
            found.append(content[at : at + 12 + length])
        at += 12 + length
        if kind == b"IEND":
            break
    return found


def archive(card: object, files: dict[str, bytes] | None = None, front: bytes = b"") -> bytes:
    """Return a CHARX with a card and files, behind `front`."""
    content = io.BytesIO(front)
    with zipfile.ZipFile(content, "a") as opened:
        opened.writestr("card.json", card if isinstance(card, bytes) else text_of(card))
        for path, file in (files or {}).items():
            opened.writestr(path, file)
    return content.getvalue()


WORDS = st.text(max_size=20)
SCALARS = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | WORDS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN = st.dictionaries(WORDS.map(lambda name: f"x_{name}"), VALUES, max_size=3)
TEXT = dict.fromkeys(V1, WORDS)
BOOK_ENTRY = st.fixed_dictionaries(
    {"keys": st.lists(WORDS, max_size=3), "content": WORDS, "enabled": st.booleans()},
    optional={
        "insertion_order": st.integers(-1_000, 1_000),
        "extensions": st.fixed_dictionaries(
            {},
            optional={
                "position": st.integers(0, 7),
                "selectiveLogic": st.integers(0, 3),
                "probability": st.integers(0, 100),
                "depth": st.integers(0, 20),
                "exclude_recursion": st.booleans(),
                "group": WORDS,
                "sticky": st.none() | st.integers(0, 9),
                "x_other": VALUES,
            },
        ),
        "case_sensitive": st.none() | st.booleans(),
        "use_regex": st.booleans(),
        "constant": st.booleans(),
        "name": WORDS,
        "priority": st.integers(-9, 9),
        "id": st.none() | st.integers(0, 99) | WORDS,
        "comment": WORDS,
        "selective": st.booleans(),
        "secondary_keys": st.lists(WORDS, max_size=2),
        "position": st.sampled_from(["before_char", "after_char"]),
        "x_unknown": VALUES,
    },
)
BOOK = st.fixed_dictionaries(
    {"entries": st.lists(BOOK_ENTRY, max_size=3), "extensions": UNKNOWN},
    optional={
        "name": WORDS,
        "description": WORDS,
        "scan_depth": st.integers(0, 100),
        "token_budget": st.integers(0, 9_999),
        "recursive_scanning": st.booleans(),
        "x_unknown": VALUES,
    },
)
_MORE = {
    "creator_notes": WORDS,
    "system_prompt": WORDS,
    "post_history_instructions": WORDS,
    "alternate_greetings": st.lists(WORDS, max_size=3) | WORDS,
    "tags": st.lists(WORDS, max_size=3),
    "creator": WORDS,
    "character_version": WORDS | st.floats(0, 9),
    "extensions": UNKNOWN,
    "character_book": st.none() | BOOK,
    "x_unknown": VALUES,
}
_NEWEST = {
    "nickname": WORDS,
    "creator_notes_multilingual": st.dictionaries(WORDS, WORDS, max_size=2),
    "source": st.lists(WORDS, max_size=2),
    "creation_date": st.integers(0, 2**33),
    "modification_date": st.integers(0, 2**33),
    "assets": st.lists(
        st.fixed_dictionaries({"type": WORDS, "uri": WORDS, "name": WORDS, "ext": WORDS}), max_size=2
    ),
}
V1_CARDS = st.tuples(st.fixed_dictionaries(TEXT), UNKNOWN).map(lambda both: {**both[1], **both[0]})
V2_CARDS = st.tuples(UNKNOWN, st.fixed_dictionaries(TEXT, optional=_MORE)).map(
    lambda both: {**both[0], "spec": "chara_card_v2", "spec_version": "2.0", "data": both[1]}
)
V3_CARDS = st.tuples(
    UNKNOWN,
    st.fixed_dictionaries(
        {**TEXT, "group_only_greetings": st.lists(WORDS, max_size=2)}, optional={**_MORE, **_NEWEST}
    ),
).map(lambda both: {**both[0], "spec": "chara_card_v3", "spec_version": "3.0", "data": both[1]})
LAYOUTS = st.sampled_from([None, 1, "\t"])
CARD_TEXTS = st.tuples(V1_CARDS | V2_CARDS | V3_CARDS, LAYOUTS, st.booleans()).map(
    lambda made: json.dumps(made[0], indent=made[1], ensure_ascii=made[2]).encode("utf-8", "replace")
)
