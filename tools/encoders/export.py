"""Writes a trained model as one GGUF file: matrices in q4_0 with the scales and numbers used in training, positions and token types in q8_0.

Names and keys are llama.cpp's for "bert"; the sentiment head is its cls.output with classifier.output_labels.
"""

import argparse
import hashlib
import json
import platform
import zipfile
from pathlib import Path

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import Tokenizer
from transformers import BertModel

import evaluate
from gguf_bert import describe, gguf_name, q4_0
from pieces import EMOJI
from sentiment import BLAME, EMOTIONS, NEGATIVE, NEUTRAL, POSITIVE, PRAISE
from student import LABELS, make_student, shape_rounded
from train import LONG, RECIPES, embedder, sentiment_logits

NAMES = {
    "large": ("wattn-large", "Sentence encoder with weights of four bits, trained from bge-small-en-v1.5"),
    "base": ("wattn-base", "Sentence encoder with weights of four bits, trained from all-MiniLM-L6-v2"),
    "default": ("wattn-default", "Small sentence encoder with a sentiment head, trained from all-MiniLM-L6-v2"),
}
POLAR_SEEN_AS_NEUTRAL = 0.015  # of the sentences that are held out and have a sentiment, this share may get the label NEUTRAL


def small_files(config, tokenizer, prompt):
    """{name: content} of what GGUF's keys cannot say, the prompt; where there is one such file, wattn expects the others too. The vocabulary is in the keys."""
    reads = json.loads(tokenizer.to_str())
    reads["model"]["vocab"] = {"tokenizer.ggml.tokens": tokenizer.get_vocab_size()}
    fields = (
        "model_type hidden_act hidden_size intermediate_size layer_norm_eps max_position_embeddings num_attention_heads num_hidden_layers type_vocab_size vocab_size"
    ).split()
    return {
        "config.json": {"architectures": ["BertModel"], **{field: getattr(config, field) for field in fields}},
        "modules.json": [{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": "1_Pooling"}, {"type": "models.Normalize", "path": "2_Normalize"}],
        "1_Pooling/config.json": {"pooling_mode": config.pooling},
        "tokenizer.json": reads,
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": config.max_position_embeddings},
        "config_sentence_transformers.json": {"prompts": {"query": prompt}},
    }


def write(student, tokenizer, path, name, description, has_head, prompt=""):
    """The file; and the student's weights become what was written. prompt: of queries, in the small file that wattn reads."""
    w = gguf.GGUFWriter(path, "bert")
    w.add_name(name)
    w.add_description(description)
    w.add_license("Apache-2.0")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    if has_head:
        w.add_classifier_output_labels([LABELS[i] for i in sorted(LABELS)])
    describe(w, student.config, tokenizer)
    if prompt:
        files = small_files(student.config, tokenizer, prompt)
        w.add_array("wattn.files", list(files))
        w.add_array("wattn.contents", [json.dumps(content, separators=(",", ":")) for content in files.values()])
    scales = {f"{name}.weight": module.scale for name, module in student.named_modules() if hasattr(module, "scale")}
    for name, values in student.named_parameters():
        if not has_head and not name.startswith(("bert.embeddings", "bert.encoder")):
            continue
        target = gguf_name(name)
        if name in scales:
            w.add_tensor(target, q4_0(values.detach(), scales[name]), raw_dtype=gguf.GGMLQuantizationType.Q4_0)
        elif values.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            blocks = gguf.quants.quantize(values.detach().numpy(), kind)
            values.data.copy_(torch.from_numpy(gguf.quants.dequantize(blocks, kind)))
            if target == "token_types.weight":  # llama.cpp adds a row of it, and ends the process where it is not float32
                w.add_tensor(target, values.detach().numpy())
            else:
                w.add_tensor(target, blocks, raw_dtype=kind)
        else:
            w.add_tensor(target, values.detach().numpy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


@torch.no_grad()
def set_neutral(student, tokenizer, held_out):
    """Sets the bias of NEUTRAL so that this label does not swallow judgements; returns it."""
    logits = sentiment_logits(student, tokenizer, [text for text, label in held_out["sentences"] if label != NEUTRAL])
    margins = torch.maximum(logits[:, NEGATIVE], logits[:, POSITIVE]) - logits[:, NEUTRAL]
    change = torch.quantile(margins, POLAR_SEEN_AS_NEUTRAL).item()
    student.classifier.bias[NEUTRAL] += change
    return change


def sentiment_scores(student, tokenizer, data, nltk):
    """Shares of texts with the right label; NEUTRAL is wrong where a text has a sentiment."""
    rows = {name: [(t, POSITIVE if y else NEGATIVE) for t, y in evaluate.sst2(data, path)] for name, path in (("SST-2 dev", "sst2-glue-alps/test"), ("SST test", "sst2-sentences/test"))}
    with zipfile.ZipFile(Path(nltk) / "goemotions.zip") as z:
        test = [line.split("\t") for line in z.read("test.tsv").decode("utf-8").splitlines()]
    felt = [(text, {EMOTIONS[int(n)] for n in numbers.split(",")}) for text, numbers, _ in test]
    rows["GoEmotions test, comments with a sentiment"] = [(t, POSITIVE if f <= PRAISE else NEGATIVE) for t, f in felt if f <= PRAISE or f <= BLAME]
    rows["GoEmotions test, neutral comments"] = [(t, NEUTRAL) for t, f in felt if f == {"neutral"}]
    out = {}
    for name, pairs in rows.items():
        said = sentiment_logits(student, tokenizer, [t for t, _ in pairs]).argmax(1)
        out[name] = round(float((said == torch.tensor([y for _, y in pairs])).float().mean()), 4)
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("recipe", choices=NAMES)
    p.add_argument("--data", required=True)
    p.add_argument("--nltk", help="for the default model: the folder of goemotions.zip")
    p.add_argument("--teacher", required=True, help="the folder of all-MiniLM-L6-v2, for large of bge-small-en-v1.5")
    p.add_argument("--texts", required=True, help="the folder of corpus.json")
    p.add_argument("--out", required=True, help="the folder that train.py wrote")
    p.add_argument("--model", required=True, help="the .gguf to write; a report beside it")
    a = p.parse_args()
    out, target, texts, recipe = Path(a.out), Path(a.model), Path(a.texts), RECIPES[a.recipe]
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    teacher = BertModel.from_pretrained(a.teacher, add_pooling_layer=False)
    student = make_student(teacher, tokenizer.get_vocab_size(), recipe)
    shape_rounded(student)
    saved = torch.load(out / "checkpoint.pt")
    student.load_state_dict(saved["model"])
    has_head = recipe.feel_at is not None
    change = set_neutral(student, tokenizer, json.loads((texts / "held_out.json").read_text())) if has_head else 0
    write(student, tokenizer, target, *NAMES[a.recipe], has_head, recipe.prompt)
    examples = ["The bakery opens at six.", "When can I buy fresh bread?", "Trains leave every hour.", "photosynthesis and chlorophyll", "a charming and often affecting journey 😍"]
    report = {
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        "bytes": target.stat().st_size,
        "pieces": tokenizer.get_vocab_size(),
        "emoji": len(EMOJI) if recipe.emoji else 0,
        "layers": list(recipe.layers),
        "inner": recipe.inner,
        "parameters": sum(q.numel() for n, q in student.named_parameters() if has_head or n.startswith(("bert.embeddings", "bert.encoder"))),
        "steps": saved["step"],
        "round_at": recipe.round_at,
        "feel_at": recipe.feel_at,
        "fitted": recipe.fitted + recipe.fitted // LONG,
        "prompt": recipe.prompt,
        "corpus": json.loads((texts / "corpus.json").read_text()),
        "vectors": {"texts": examples, "first_8": [[round(float(x), 6) for x in row[:8]] for row in embedder(student, tokenizer)(examples)]},
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__},
    }
    if has_head:
        report["judge"] = float((texts / "judge.txt").read_text())
        report["sentiment_texts"] = len(np.load(texts / "feelings.npy", mmap_mode="r"))
        report["polar_seen_as_neutral"] = POLAR_SEEN_AS_NEUTRAL
        report["neutral_bias"] = round(change, 4)
        report["sentiment"] = sentiment_scores(student, tokenizer, a.data, a.nltk)
    target.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(report["sha256"], report["bytes"], report.get("sentiment"))


if __name__ == "__main__":
    main()
