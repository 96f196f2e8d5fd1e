"""Writes the trained model as one GGUF file (q8_0: blocks of 32 int8 with an f16 scale; token embeddings q4_0), scores what was written.

Its weights are the mean of those after the third and the last stage of train.py, as in Wortsman et al. 2022, arXiv 2203.05482.

Names and keys are llama.cpp's for "bert"; the sentiment head is its cls.output with classifier.output_labels.
"""

import argparse
import hashlib
import json
import platform
import sys
from pathlib import Path

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import Tokenizer

sys.path.append(str(Path(__file__).parents[1] / "encoders"))
import evaluate  # noqa: E402
from gguf_bert import describe, gguf_name  # noqa: E402
from teacher import Teacher  # noqa: E402
from train import LABELS, STAGES, embedder, make_student, sentiment_accuracy  # noqa: E402


def write(model, tokenizer, path):
    """The file; and the model's weights become what was written."""
    config = model.config
    w = gguf.GGUFWriter(path, "bert")
    w.add_name("wattn-default")
    w.add_description("Small sentence encoder with a sentiment head, distilled from all-MiniLM-L6-v2")
    w.add_license("Apache-2.0")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    w.add_classifier_output_labels([LABELS[i] for i in sorted(LABELS)])
    describe(w, config, tokenizer)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            values = tensor.numpy()
            if values.ndim == 2:
                kind = gguf.GGMLQuantizationType.Q4_0 if "word_embeddings" in name else gguf.GGMLQuantizationType.Q8_0
                blocks = gguf.quants.quantize(values, kind)
                tensor.copy_(torch.from_numpy(gguf.quants.dequantize(blocks, kind)))
                w.add_tensor(gguf_name(name), blocks, raw_dtype=kind)
            else:
                w.add_tensor(gguf_name(name), values)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--teacher", required=True)
    p.add_argument("--out", required=True, help="the folder that train.py wrote")
    p.add_argument("--model", required=True, help="the .gguf to write; the card, the scores and some vectors beside it")
    a = p.parse_args()
    out, target = Path(a.out), Path(a.model)
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    model = make_student(tokenizer.get_vocab_size(), np.load(out / "first_vectors.npy"), 1, STAGES[-1][0])
    ends = [torch.load(out / f"step_{STAGES[stage][1]}.pt") for stage in (2, -1)]
    model.load_state_dict({name: sum(end[name] for end in ends) / 2 if ends[0][name].is_floating_point() else ends[0][name] for name in ends[0]})
    model.eval()
    write(model, tokenizer, target)

    embed = embedder(model, tokenizer)
    teacher = Teacher(a.teacher)
    first = np.load(out / "first_vectors.npy")

    def word_average(texts):
        """What the training began with: the mean of static token vectors."""
        rows = np.stack([first[e.ids[1:-1] or [1]].mean(0) for e in tokenizer.encode_batch(list(texts))])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    scores = {
        "default": evaluate.scores(embed, a.data) | {"sst2_dev": round(sentiment_accuracy(model, tokenizer, evaluate.sst2(a.data)), 4)},
        "word_average": evaluate.scores(word_average, a.data),
        "teacher": evaluate.scores(teacher.embed, a.data),
    }
    texts = ["The bakery opens at six.", "When can I buy fresh bread?", "Trains leave every hour.", "a charming and often affecting journey"]
    report = {
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        "bytes": target.stat().st_size,
        "stages": STAGES,
        "layers": model.config.num_hidden_layers,
        "parameters": sum(p.numel() for p in model.parameters()),
        "corpus": json.loads((out / "corpus.json").read_text()),
        "sentiment_texts": len(set((out / "feelings.txt").read_text("utf-8").splitlines())),
        "judge": float((out / "judge.txt").read_text()),
        "texts_used": json.loads((out / "teacher.json").read_text())["done"],
        "scores": scores,
        "vectors": {"texts": texts, "first_8": [[round(float(x), 6) for x in row[:8]] for row in embed(texts)]},
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__},
    }
    target.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(json.dumps({k: report[k] for k in ("sha256", "bytes", "scores")}, indent=1))


if __name__ == "__main__":
    main()
