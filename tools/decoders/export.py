"""Packs a trained model as one GGUF file, and writes the data for the card and the tests beside it: torch's results with exactly these weights,
and the baselines."""

import argparse
import hashlib
import json
import math
import platform
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import corpus
from train import END, PIECES, WINDOW, make_model, nats_of, stream_of, windows_of

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "wattn-story"
# Chosen before the first model was trained. The card shows what the seeds give, all of it.
BEGINNINGS = ["Once upon a time", "The old man opened the door and", '"Where are we going?" said the girl']
SAMPLING = {"max_new_tokens": 70, "do_sample": True, "temperature": 0.7, "top_p": 0.95}
SEEDS = [1, 2]
GREEDY = ["Once upon a time", "The king said to his", "She looked out of the", "It was a dark and", "Alice was", "They went into the garden, and"]


def others(data):
    """Public-domain texts of other kinds, which training never saw: the first 60,000 characters of each."""
    read = lambda name: (Path(data) / f"text/{name}.txt").read_text("utf-8", "replace")
    with zipfile.ZipFile(Path(data) / "text/inaugural.zip") as z:
        speeches = "\n\n".join(z.read(n).decode("latin-1") for n in sorted(z.namelist()) if n.endswith(".txt"))
    plain = {"Darwin": read("darwin"), "Shakespeare": read("shakespeare"), "Inaugural addresses": speeches}
    return {name: [c for c in corpus.chapters_of(text[:60000])] for name, text in plain.items()}


def save_folder(saved, tokenizer, folder):
    """The model as transformers saves it, in float32."""
    model = make_model()
    model.load_state_dict(saved["model"])
    model.generation_config.max_new_tokens = 100
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END, model_max_length=WINDOW).save_pretrained(folder)
    return model


def pack(folder, dtype, target):
    command = ["node", ROOT / "dist/cli.js", "pack", "--model", folder, "--dtype", dtype, "--out", target]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def baselines(tokenizer, chapters, windows):
    """Bits a byte of what a test book has: by the counts of bytes, by those of pieces, and by those of pairs of pieces (Witten and Bell 1991, mixed with the counts of pieces)."""
    stream = stream_of(tokenizer, chapters)
    size = sum(len(text.encode()) for text in windows)
    count = np.full(256, 1.0)
    np.add.at(count, np.frombuffer("\n".join(chapters).encode(), np.uint8), 1)
    own = np.bincount(np.frombuffer("".join(windows).encode(), np.uint8), minlength=256)
    out = {"bytes": float(-(own * np.log2(count / count.sum())).sum() / size)}
    single = np.bincount(stream, minlength=PIECES) + 1.0
    single /= single.sum()
    pairs = Counter(zip(stream[:-1].tolist(), stream[1:].tolist()))
    seen, kinds = np.zeros(PIECES), np.zeros(PIECES)
    for (first, _), n in pairs.items():
        seen[first] += n
        kinds[first] += 1
    rows = [e.ids for e in tokenizer.encode_batch(windows)]
    out["pieces"] = -sum(math.log2(single[b]) for ids in rows for b in ids[1:]) / size
    mixed = lambda a, b: (pairs[a, b] + kinds[a] * single[b]) / (seen[a] + kinds[a]) if seen[a] else single[b]
    out["pairs"] = -sum(math.log2(mixed(a, b)) for ids in rows for a, b in zip(ids, ids[1:])) / size
    return {name: round(bits, 4) for name, bits in out.items()}


@torch.inference_mode()
def goldens(packed, tokenizer, texts):
    """What torch makes of the weights that are in the file, as float32: greedy continuations and the likelihood of texts."""
    model = LlamaForCausalLM.from_pretrained(packed.parent, gguf_file=packed.name, dtype=torch.float32).eval()
    greedy = []
    for prompt in GREEDY:
        ids = torch.tensor([tokenizer.encode(prompt).ids])
        new = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=40, do_sample=False, pad_token_id=0)[0, ids.shape[1] :].tolist()
        greedy.append({"prompt": prompt, "tokens": new, "text": tokenizer.decode(new)})
    scored = [{"text": text, "pieces": pieces, "nats": round(nats, 4)} for text in texts for nats, pieces in [nats_of(model, tokenizer, [text])]]
    return {"greedy": greedy, "scored": scored}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--books", required=True, help="a folder with the repositories that corpus.py names")
    p.add_argument("--data", required=True, help="the folder of data sets: text/")
    p.add_argument("--out", required=True, help="the folder that train.py wrote")
    p.add_argument("--dtype", default="q8", choices=["q8", "q4"])
    p.add_argument("--model", required=True, help="the .gguf to write; a report beside it")
    a = p.parse_args()
    torch.set_num_threads(1)
    out, target = Path(a.out), Path(a.model)
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = out / NAME
    saved = torch.load(out / "checkpoint.pt")
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    model = save_folder(saved, tokenizer, folder)
    for dtype in ("q8", "q4"):
        pack(folder, dtype, out / f"{dtype}.gguf")
    target.write_bytes((out / f"{a.dtype}.gguf").read_bytes())
    sources = corpus.training_texts(a.books, a.data)
    chapters = [c for texts in sources.values() for c in texts]
    books = {"dev": corpus.read_book(a.books, corpus.DEV), "test": corpus.read_book(a.books, corpus.TEST)} | others(a.data)
    sets = {name: windows_of(tokenizer, texts) for name, texts in books.items()}
    (out / "windows.json").write_text(json.dumps({"sets": sets, "beginnings": BEGINNINGS, "sampling": SAMPLING, "seeds": SEEDS}) + "\n")
    config = json.loads((folder / "config.json").read_text())
    report = {
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        "bytes": target.stat().st_size,
        "dtype": a.dtype,
        "parameters": sum(q.numel() for q in model.parameters()),
        "config": {key: config[key] for key in sorted(config) if key.startswith(("hidden_size", "inter", "num_", "vocab", "max_pos"))},
        "sources": {name: {"characters": sum(map(len, texts)), "pieces": len(stream_of(tokenizer, texts))} for name, texts in sources.items()},
        "sizes": {name: {"windows": len(texts), "bytes": sum(len(t.encode()) for t in texts)} for name, texts in sets.items()},
        "steps": saved["step"],
        "rows": saved["rows"],
        "seconds": round(saved["seconds"]),
        "curve": saved["curve"],
        "baselines": baselines(tokenizer, chapters, sets["test"]),
        **goldens(target, tokenizer, sets["test"][1:5]),
        "sampling": SAMPLING,
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__},
    }
    target.with_suffix(".json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(report["sha256"], report["bytes"], report["baselines"])


if __name__ == "__main__":
    main()
