"""The file that llama.cpp reads has all that the model's own files have."""

from pathlib import Path

import pytest

from core.providers.embedding.gguf import gguf_of
from tests.core.providers.embedding.tiny_bert import VOCABULARY, GgufReader, floats_of, shapes, write_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def read(model: Path) -> GgufReader:
    return GgufReader(b"".join(gguf_of(model, "tiny")))


def test_the_metadata_says_what_the_model_is(model: Path) -> None:
    made = read(model)
    assert made.version == 3
    assert made.metadata["general.architecture"] == "bert"
    assert made.metadata["bert.embedding_length"] == 4
    assert made.metadata["bert.context_length"] == 16
    assert made.metadata["bert.pooling_type"] == 1
    assert made.metadata["bert.attention.causal"] is False
    assert made.metadata["bert.attention.layer_norm_epsilon"] == pytest.approx(1e-12)


def test_tokens_keep_their_numbers_and_say_which_begin_a_word(model: Path) -> None:
    found = read(model).metadata
    tokens = found["tokenizer.ggml.tokens"]
    assert tokens == [*VOCABULARY[:6], "▁key", "s", "▁é"]
    assert found["tokenizer.ggml.token_type"] == [3] * 6 + [1] * 3
    named = {"cls": "[CLS]", "eos": "[SEP]", "unknown": "[UNK]", "padding": "[PAD]", "mask": "[MASK]"}
    for use, token in named.items():
        assert tokens[found[f"tokenizer.ggml.{use}_token_id"]] == token


def test_every_tensor_is_there_with_its_numbers(model: Path) -> None:
    made = read(model)
    assert len(made.tensors) == len(shapes())
    shape, numbers = made.tensors["blk.0.ffn_up.weight"]
    assert shape == (4, 8)  # the innermost side first
    assert numbers == pytest.approx(floats_of(model, "encoder.layer.0.intermediate.dense.weight"), abs=5e-4)
    assert made.tensors["blk.0.attn_output_norm.bias"][1] == floats_of(
        model, "encoder.layer.0.attention.output.LayerNorm.bias"
    )
    halved = {name for name, kind in made.kinds.items() if kind == 1}
    assert halved == {
        "token_embd.weight",
        *(f"blk.0.{name}.weight" for name in ("attn_q", "attn_k", "attn_v", "attn_output")),
        *(f"blk.0.{name}.weight" for name in ("ffn_up", "ffn_down")),
    }


def test_the_same_model_makes_the_same_file(model: Path) -> None:
    assert b"".join(gguf_of(model, "tiny")) == b"".join(gguf_of(model, "tiny"))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 8),
        ("model.safetensors", b"\x02" + bytes(7) + b"{}"),
        ("model.safetensors", b"\x02" + bytes(7) + b"[]"),
        ("config.json", b"{}"),
        ("config.json", b"no JSON"),
        ("vocab.txt", b"key\n"),
        ("vocab.txt", b"\xff"),
    ],
)
def test_files_of_something_else_are_refused(model: Path, file: str, content: bytes) -> None:
    (model / file).write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        read(model)


def test_weights_that_are_not_singles_or_are_cut_off_are_refused(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ValueError, match="not as they should be"):
        read(write_model(tmp_path / "halves", dtype="F16"))
    with pytest.raises(ValueError, match="no table"):
        read(write_model(tmp_path / "deep", config={"num_hidden_layers": 10**9}))
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-3])
    with pytest.raises(ValueError, match="shorter than it says"):
        read(model)
