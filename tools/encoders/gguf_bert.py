"""A BERT in GGUF: llama.cpp's names of tensors and keys. A head for labels is its cls.output with classifier.output_labels."""

import gguf
import numpy as np
import torch
from rounding import codes_of

NAMES = {
    "bert.embeddings.word_embeddings": "token_embd",
    "bert.embeddings.position_embeddings": "position_embd",
    "bert.embeddings.token_type_embeddings": "token_types",
    "bert.embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
    "bert.pooler.dense": "cls",
    "classifier": "cls.output",
}


def gguf_name(name):
    stem, ending = name.rsplit(".", 1)
    layer = "bert.encoder.layer."
    if stem.startswith(layer):
        number, role = stem[len(layer) :].split(".", 1)
        return f"blk.{number}.{NAMES[role]}.{ending}"
    return f"{NAMES[stem]}.{ending}"


def describe(w, config, tokenizer):
    """Writes the shape of the model and its WordPiece vocabulary into the GGUFWriter w."""
    w.add_block_count(config.num_hidden_layers)
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_layer_norm_eps(config.layer_norm_eps)
    w.add_causal_attention(False)
    w.add_pooling_type({"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS}[getattr(config, "pooling", "mean")])
    tokens = [t for t, _ in sorted(tokenizer.get_vocab().items(), key=lambda x: x[1])]
    special = [t.startswith("[") and t.endswith("]") and len(t) > 2 for t in tokens]
    w.add_tokenizer_model("bert")
    marked = [t if s else t.removeprefix("##") if t.startswith("##") and len(t) > 2 else "\u2581" + t for t, s in zip(tokens, special)]
    w.add_token_list(marked)
    w.add_token_types([gguf.TokenType.CONTROL if s else gguf.TokenType.NORMAL for s in special])
    w.add_token_type_count(2)
    for key, token in (("bos", "[CLS]"), ("eos", "[SEP]"), ("sep", "[SEP]"), ("pad", "[PAD]"), ("unk", "[UNK]"), ("mask", "[MASK]")):
        getattr(w, f"add_{key}_token_id")(tokens.index(token))


def q4_0(values, scale):
    """Bytes of GGUF's q4_0 [rows, columns / 32 * 18]: of each block an f16 scale, then its numbers plus 8, two a byte."""
    rows, columns = values.shape
    codes = (codes_of(values.reshape(rows, -1, 32), scale.reshape(rows, -1, 1)) + 8).to(torch.uint8).numpy()
    packed = codes[:, :, :16] | codes[:, :, 16:] << 4
    scales = scale.numpy().astype(np.float16).reshape(rows, -1, 1).view(np.uint8)
    return np.concatenate([scales, packed], axis=2).reshape(rows, -1)


@torch.no_grad()
def read_gguf(path, student):
    """Fills a rounded student (student.py's shape_rounded) with what write() of export.py wrote: numbers and scales of the blocks, and all else."""
    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
    modules = dict(student.named_modules())
    for name, values in student.named_parameters():
        tensor = tensors[gguf_name(name)]
        values.copy_(torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type)).reshape(values.shape))
        if tensor.tensor_type == gguf.GGMLQuantizationType.Q4_0:
            blocks = np.ascontiguousarray(tensor.data.reshape(len(values), -1, 18)[:, :, :2])
            modules[name.removesuffix(".weight")].scale.copy_(torch.from_numpy(blocks.view(np.float16)[:, :, 0].astype(np.float32)))


def pieces_in(path, emoji):
    """The word pieces of the vocabulary, as tokenizer.json spells them; without the emoji after them, each of which has two."""
    field = gguf.GGUFReader(path).fields["tokenizer.ggml.tokens"]
    marked = [bytes(field.parts[i]).decode("utf-8") for i in field.data]
    special = [t.startswith("[") and t.endswith("]") and len(t) > 2 for t in marked]
    pieces = [t if s else t[1:] if t.startswith("\u2581") else f"##{t}" for t, s in zip(marked, special)]
    return pieces[: len(pieces) - 2 * len(emoji)]
