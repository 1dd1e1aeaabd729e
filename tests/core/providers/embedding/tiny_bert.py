"""A made-up BERT model of one layer, as its publishers lay it out, and a reader of GGUF files."""

import json
import random
import struct
from pathlib import Path
from typing import Any

VOCABULARY = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "key", "##s", "é"]
HIDDEN, INNER, LONGEST = 4, 8, 16
CONFIG: dict[str, object] = {
    "num_hidden_layers": 1,
    "max_position_embeddings": LONGEST,
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_attention_heads": 2,
    "layer_norm_eps": 1e-12,
    "type_vocab_size": 2,
}


def shapes() -> dict[str, tuple[int, ...]]:
    """The tensors that such a model has."""
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), HIDDEN),
        "embeddings.position_embeddings.weight": (LONGEST, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for name, (rows, columns) in {
        "attention.self.query": (HIDDEN, HIDDEN),
        "attention.self.key": (HIDDEN, HIDDEN),
        "attention.self.value": (HIDDEN, HIDDEN),
        "attention.output.dense": (HIDDEN, HIDDEN),
        "intermediate.dense": (INNER, HIDDEN),
        "output.dense": (HIDDEN, INNER),
    }.items():
        found |= {f"encoder.layer.0.{name}.weight": (rows, columns), f"encoder.layer.0.{name}.bias": (rows,)}
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        found |= {f"encoder.layer.0.{name}.{part}": (HIDDEN,) for part in ("weight", "bias")}
    return found


def write_model(folder: Path, *, dtype: str = "F32", config: dict[str, object] | None = None) -> Path:
    """Write the files of the model, and return their folder."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG | (config or {})))
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in VOCABULARY), "utf-8")
    chance = random.Random(7)
    table: dict[str, object] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name, shape in shapes().items():
        floats = b"".join(struct.pack("<f", chance.uniform(-1, 1)) for _ in range(_product(shape)))
        table[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(content), len(content) + len(floats)],
        }
        content += floats
    head = json.dumps(table).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + content)
    return folder


def floats_of(folder: Path, name: str) -> list[float]:
    """Return the numbers of one tensor of the source."""
    whole = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", whole)
    begin, end = json.loads(whole[8 : 8 + length])[name]["data_offsets"]
    base = 8 + length
    return [*struct.unpack(f"<{(end - begin) // 4}f", whole[base + begin : base + end])]


_KINDS = {4: "I", 5: "i", 6: "f", 7: "?"}


class GgufReader:
    """Reads a whole GGUF file by its published form: `metadata` and `tensors` (shape, numbers)."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0
        assert self._take(4) == b"GGUF"
        self.version, tensors, pairs = self._unpack("<IQQ")
        self.metadata = {self._string(): self._value(self._unpack("<I")[0]) for _ in range(pairs)}
        heads = [self._head() for _ in range(tensors)]
        base = -(-self._at // 32) * 32
        self.tensors = {head[0]: self._tensor(base, *head[1:]) for head in heads}
        self.kinds = {name: kind for name, _, kind, _ in heads}

    def _take(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]

    def _unpack(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def _string(self) -> str:
        return self._take(self._unpack("<Q")[0]).decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == 8:
            return self._string()
        if kind == 9:
            inner, count = self._unpack("<IQ")
            return [self._value(inner) for _ in range(count)]
        return self._unpack(f"<{_KINDS[kind]}")[0]

    def _head(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._string()
        shape = self._unpack(f"<{self._unpack('<I')[0]}Q")
        return name, shape, *self._unpack("<IQ")

    def _tensor(
        self, base: int, shape: tuple[int, ...], kind: int, offset: int
    ) -> tuple[tuple[int, ...], list[float]]:
        assert offset % 32 == 0
        form = f"<{_product(shape)}{'e' if kind else 'f'}"
        return shape, [*struct.unpack_from(form, self._content, base + offset)]


def _product(shape: tuple[int, ...]) -> int:
    count = 1
    for side in shape:
        count *= side
    return count
