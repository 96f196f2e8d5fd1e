"""Writes the trained tagger as one GGUF file, as wattn packs a repository: tensors by the checkpoint's names, its small files as metadata."""

import argparse
import hashlib
import json
import platform
from pathlib import Path

import faker
import gguf
import numpy as np
import tokenizers
import torch
import transformers
from model import config_of, read_base, shape_of_tagger, tokenizer_json
from student import shape_rounded
from tagged import TAGS
from tokenizers import Tokenizer
from train import found_in, logits_of, read, read_texts, scores_of

from gguf_bert import q4_0  # isort: skip (model.py and train.py say where it is)

O_BIASES = [0, -0.5, -1, -1.5, -2, -2.5, -3]  # tried on the logit of O
EXAMPLES = [
    "Please ask Ngozi Adeyemi to call me back under my user name red_kite77.",
    "the parcel goes to 12 Orchard Lane, Bath, says marek from the warehouse",
    "Version 3.2 of the Hudson driver fixes the export in May.",
]


def small_files(config, pieces):
    """config.json, tokenizer.json, tokenizer_config.json."""
    kept = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act", "max_position_embeddings", "type_vocab_size", "vocab_size", "layer_norm_eps", "pad_token_id")  # fmt: skip
    own = {key: config.to_dict()[key] for key in kept}
    own = {"architectures": ["BertForTokenClassification"], **own, "id2label": {str(i): tag for i, tag in enumerate(TAGS)}, "label2id": {tag: i for i, tag in enumerate(TAGS)}}
    special = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
    return {
        "config.json": json.dumps(own),
        "tokenizer.json": tokenizer_json(pieces),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": config.max_position_embeddings, **special}),
    }


def write(model, files, path):
    """The file; and the model's weights become what was written."""
    w = gguf.GGUFWriter(path, "wattn")
    w.add_name("wattn-pii")
    w.add_description("Tagger of what identifies people, with weights of four bits, trained from wattn-base")
    w.add_license("Apache-2.0")
    w.add_string("wattn.dtype", "q4")
    w.add_array("wattn.files", list(files))
    w.add_array("wattn.contents", list(files.values()))
    scales = {f"{name}.weight": module.scale for name, module in model.named_modules() if hasattr(module, "scale")}
    for name, values in model.named_parameters():
        if name in scales:
            w.add_tensor(name, q4_0(values.detach(), scales[name]), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
        elif "position_embeddings" in name:
            kind = gguf.GGMLQuantizationType.Q8_0
            blocks = gguf.quants.quantize(values.detach().numpy(), kind)
            values.data.copy_(torch.from_numpy(gguf.quants.dequantize(blocks, kind)))
            w.add_tensor(name, blocks, raw_dtype=kind)
        else:
            w.add_tensor(name, values.detach().numpy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def choose_bias(model, tokenizer, dev):
    """What is added to the logit of O: what has the best F2 (recall counts twice) on dev, in the mean of its sets; and all that were tried."""
    found, what_was_read = {}, read_texts(model, tokenizer, [row["text"] for row in dev])
    for bias in O_BIASES:
        rows = scores_of(found_in(what_was_read, bias), dev)
        parts = [rows[name]["all"] for name in rows]
        f2 = [5 * p * r / max(1e-9, 4 * p + r) for _, p, r in parts]
        found[bias] = {"f2": round(float(np.mean(f2)), 4), **{name: rows[name]["all"] for name in rows}}
    return max(found, key=lambda bias: found[bias]["f2"]), found


@torch.inference_mode()
def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True)
    p.add_argument("--texts", required=True, type=Path)
    p.add_argument("--out", required=True, type=Path, help="the folder that train.py wrote")
    p.add_argument("--model", required=True, type=Path, help="the .gguf to write; a report beside it")
    a = p.parse_args()
    torch.set_num_threads(1)
    saved = torch.load(a.out / "checkpoint.pt")
    _, pieces, shape = read_base(a.base)
    model = shape_of_tagger(shape, len(saved["layers"]))
    shape_rounded(model)
    model.load_state_dict(saved["model"])
    tokenizer = Tokenizer.from_str(tokenizer_json(pieces))
    dev = read(a.texts / "dev.jsonl")
    bias, tried = choose_bias(model, tokenizer, dev)
    model.classifier.bias[0] += bias
    write(model, small_files(config_of(shape, len(saved["layers"])), pieces), a.model)
    ids = [tokenizer.encode(text).ids for text in EXAMPLES]
    exact = [logits_of(model, [one], exact=True)[0] for one in ids]
    found = found_in(read_texts(model, tokenizer, EXAMPLES))
    report = {
        "sha256": hashlib.sha256(a.model.read_bytes()).hexdigest(),
        "bytes": a.model.stat().st_size,
        "layers": saved["layers"],
        "parameters": sum(q.numel() for q in model.parameters()),
        "steps": saved["step"],
        "o_bias": bias,
        "o_biases_tried": tried,
        "parts": json.loads((a.texts / "parts.json").read_text()),
        "log": [json.loads(line) for line in (a.out / "log.jsonl").read_text().splitlines()],
        "examples": [
            {"text": text, "ids": own, "logits": [[round(float(x), 5) for x in row] for row in rows], "spans": spans}
            for text, own, rows, spans in zip(EXAMPLES, ids, exact, found)
        ],
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__, "faker": faker.VERSION},
    }
    a.model.with_suffix(".json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(report["sha256"], report["bytes"], bias, json.dumps(tried))


if __name__ == "__main__":
    main()
