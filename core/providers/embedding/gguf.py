"""Weights of a BERT model as llama.cpp reads them: a GGUF file made from safetensors (design 15).

Pure, and needs nothing but the standard library. Matrices are halved to 16 bits, which leaves vectors the
same to the sixth digit; what is added to them stays in 32 bits.
"""

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from core.config.files.bounded_file import read_bounded

MAGIC: Final = b"GGUF"
VERSION: Final = 3
ALIGNMENT: Final = 32
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
"""Types of values in the metadata."""
_SINGLE, _HALF = 0, 1
"""Types of tensors."""
_NORMAL, _CONTROL = 1, 3
"""Types of tokens."""
_MEAN_POOLING = 1
_FLOATS_AT_ONCE: Final = 1 << 16
_LARGEST_TABLE: Final = 10_000_000
"""Bytes of the table of a safetensors file, and of the vocabulary."""
_MOST_LAYERS: Final = 1_000
_WORD_BEGINS: Final = "\N{LOWER ONE EIGHTH BLOCK}"
"""Marks a token that begins a word."""
_SPECIAL: Final = {
    "bos": "[CLS]",
    "cls": "[CLS]",
    "eos": "[SEP]",
    "seperator": "[SEP]",  # the key is spelled so in the format
    "unknown": "[UNK]",
    "padding": "[PAD]",
    "mask": "[MASK]",
}
_BEFORE_LAYERS: Final = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm.weight": "token_embd_norm.weight",
    "embeddings.LayerNorm.bias": "token_embd_norm.bias",
}
_OF_A_LAYER: Final = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
_IN_SINGLE_PRECISION: Final = frozenset({"position_embd.weight", "token_types.weight"})


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor by its name in the GGUF file, and where its floats are in the source."""

    name: str
    shape: tuple[int, ...]
    begin: int
    count: int

    @property
    def is_half(self) -> bool:
        return len(self.shape) == 2 and self.name not in _IN_SINGLE_PRECISION

    @property
    def size(self) -> int:
        return self.count * (2 if self.is_half else 4)

    def head(self, offset: int) -> bytes:
        dimensions = struct.pack(f"<I{len(self.shape)}Q", len(self.shape), *reversed(self.shape))
        return _string(self.name) + dimensions + struct.pack("<IQ", int(self.is_half), offset)


def gguf_of(model: Path, name: str) -> Iterator[bytes]:
    """Yield the GGUF file of the BERT model in the folder `model`, piece by piece; the same each time.

    Raises OSError, and ValueError for files that are not those of such a model.
    """
    config = json.loads(read_bounded(model / "config.json"))
    listed = read_bounded(model / "vocab.txt", _LARGEST_TABLE).decode("utf-8")
    vocabulary = listed.removesuffix("\n").split("\n")
    with (model / "model.safetensors").open("rb") as source:
        try:
            metadata = _metadata(name, config, vocabulary)
            tensors = _tensors(source, config["num_hidden_layers"])
        except (KeyError, TypeError, struct.error) as error:
            raise ValueError(f"it is not a BERT model ({error})") from error
        yield from _file(metadata, tensors, source)


def _file(metadata: Sequence[bytes], tensors: Sequence[_Tensor], source: BinaryIO) -> Iterator[bytes]:
    heads, offset = [], 0
    for tensor in tensors:
        heads.append(tensor.head(offset))
        offset += tensor.size + _padding(tensor.size)
    counts = struct.pack("<IQQ", VERSION, len(tensors), len(metadata))
    head = b"".join((MAGIC, counts, *metadata, *heads))
    yield head + bytes(_padding(len(head)))
    for tensor in tensors:
        yield from _floats(source, tensor)
        yield bytes(_padding(tensor.size))


def _floats(source: BinaryIO, tensor: _Tensor) -> Iterator[bytes]:
    source.seek(tensor.begin)
    for first in range(0, tensor.count, _FLOATS_AT_ONCE):
        count = min(_FLOATS_AT_ONCE, tensor.count - first)
        block = source.read(4 * count)
        if len(block) != 4 * count:
            raise ValueError("the file of weights is shorter than it says")
        try:
            yield struct.pack(f"<{count}e", *struct.unpack(f"<{count}f", block)) if tensor.is_half else block
        except OverflowError:
            raise ValueError("a weight is too large") from None


def _metadata(name: str, config: dict[str, Any], vocabulary: Sequence[str]) -> list[bytes]:
    place = {token: number for number, token in enumerate(vocabulary)}
    is_special = [token.startswith("[") and token.endswith("]") and len(token) > 2 for token in vocabulary]
    types = [_CONTROL if special else _NORMAL for special in is_special]
    tokens = [
        token if special else _spelled(token) for token, special in zip(vocabulary, is_special, strict=True)
    ]
    return [
        _text("general.architecture", "bert"),
        _text("general.name", name),
        _number("general.file_type", _HALF),
        _number("bert.block_count", config["num_hidden_layers"]),
        _number("bert.context_length", config["max_position_embeddings"]),
        _number("bert.embedding_length", config["hidden_size"]),
        _number("bert.feed_forward_length", config["intermediate_size"]),
        _number("bert.attention.head_count", config["num_attention_heads"]),
        _pair("bert.attention.layer_norm_epsilon", _FLOAT32, struct.pack("<f", config["layer_norm_eps"])),
        _pair("bert.attention.causal", _BOOL, struct.pack("<?", False)),
        _number("bert.pooling_type", _MEAN_POOLING),
        _text("tokenizer.ggml.model", "bert"),
        _number("tokenizer.ggml.token_type_count", config["type_vocab_size"]),
        _array("tokenizer.ggml.tokens", _STRING, [_string(token) for token in tokens]),
        _array("tokenizer.ggml.token_type", _INT32, [struct.pack("<i", kind) for kind in types]),
        *(_number(f"tokenizer.ggml.{use}_token_id", place[token]) for use, token in _SPECIAL.items()),
    ]


def _spelled(token: str) -> str:
    """Return a token as llama.cpp wants it: it marks the beginnings of words, and BERT what goes on."""
    return token[2:] if token.startswith("##") else _WORD_BEGINS + token


def _tensors(source: BinaryIO, layers: int) -> list[_Tensor]:
    """Return all tensors of the file, which begins with a table of them."""
    (length,) = struct.unpack("<Q", source.read(8))
    if length > _LARGEST_TABLE or not 0 < layers <= _MOST_LAYERS:
        raise ValueError("the file of weights begins with no table that can be read")
    table = json.loads(source.read(length))
    return [_tensor(table[known], name, 8 + length) for known, name in _names(layers).items()]


def _tensor(entry: dict[str, Any], name: str, base: int) -> _Tensor:
    begin, end = entry["data_offsets"]
    tensor = _Tensor(name, tuple(entry["shape"]), base + begin, (end - begin) // 4)
    size = 1
    for side in tensor.shape:
        size *= side
    if entry["dtype"] != "F32" or size != tensor.count or begin < 0 or size <= 0:
        raise ValueError(f"the weights {name} are not as they should be")
    return tensor


def _names(layers: int) -> dict[str, str]:
    """Return the name of each tensor by that of the source."""
    found = dict(_BEFORE_LAYERS)
    for layer in range(layers):
        for known, name in _OF_A_LAYER.items():
            for part in ("weight", "bias"):
                found[f"encoder.layer.{layer}.{known}.{part}"] = f"blk.{layer}.{name}.{part}"
    return found


def _string(text: str) -> bytes:
    content = text.encode("utf-8")
    return struct.pack("<Q", len(content)) + content


def _pair(key: str, kind: int, value: bytes) -> bytes:
    return _string(key) + struct.pack("<I", kind) + value


def _text(key: str, text: str) -> bytes:
    return _pair(key, _STRING, _string(text))


def _number(key: str, number: int) -> bytes:
    return _pair(key, _UINT32, struct.pack("<I", number))


def _array(key: str, kind: int, values: Sequence[bytes]) -> bytes:
    return _pair(key, _ARRAY, struct.pack("<IQ", kind, len(values)) + b"".join(values))


def _padding(size: int) -> int:
    return -size % ALIGNMENT
