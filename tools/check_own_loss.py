#!/usr/bin/env python3
"""Compares a custom loss (nn over a loaded model's embeddings) with torch: the gradients of all weights of all-MiniLM-L6-v2, one batch, float32.
An update of AdamW with a large epsilon moves each weight by its gradient, so the gradients are read from the file that is saved. Prints the
largest difference from torch in float64, and torch's own in float32 (wanted: 1e-5). Build first (npm run build, npm run models).

    .venv/bin/python tools/check_own_loss.py [--model DIR]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import safetensors.torch
import torch
import transformers

from check_training import ROOT, mean_vectors

ROWS = [
    ("A man plays the guitar.", "Someone makes music.", 0.8),
    ("Where is my order?", "My parcel has not arrived yet, and I have waited for a week.", 0.7),
    ("The river is deep.", "Shares fell on Monday.", 0.05),
    ("Birds sing in the morning", "At dawn one hears birds", 0.95),
    ("I was charged twice", "How do I bake bread without yeast?", 0.0),
]
LARGE = 1e4  # beside which roots of squared gradients vanish
OURS = """
import { writeFileSync } from 'node:fs';
import { nn } from '%(nn)s';
import { Trainer } from '%(entry)s';
const { model, rows, out, large } = JSON.parse(process.argv[2]);
const { cosine_similarity, mse_loss, relu } = nn.functional;
const loss = ({ embeddings: [a, b] }, given) => {
  const cosines = cosine_similarity(a, b);
  const wanted = nn.tensor(given.map(([, , score]) => score));
  return mse_loss(cosines, wanted).add(relu(a.matmul(b.transpose(0, 1)).sub(0.1)).mean().mul(0.3));
};
const texts = rows.map(([sentence1, sentence2, score]) => Object.assign([sentence1, sentence2, score], { sentence1, sentence2 }));
const trainer = await Trainer.from_pretrained(model, { task: 'feature-extraction', method: 'full', loss, max_steps: 1, batch_size: rows.length,
  learning_rate: large, adam_epsilon: large, weight_decay: 0, warmup_steps: 0, max_grad_norm: 0, lr_scheduler_type: 'constant' });
const report = await trainer.fit(texts);
writeFileSync(out, (await trainer.save())['model.safetensors']);
console.log(JSON.stringify({ loss: report.loss, norm: report.grad_norm }));
await trainer.dispose();
"""


def gradients(folder, dtype):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").to(dtype).eval()
    a, b = (mean_vectors(model, tokenizer, [row[column] for row in ROWS]) for column in (0, 1))
    wanted = torch.tensor([row[2] for row in ROWS], dtype=dtype)
    loss = torch.nn.functional.mse_loss(torch.nn.functional.cosine_similarity(a, b), wanted)
    loss = loss + 0.3 * torch.relu(a @ b.T - 0.1).mean()
    loss.backward()
    return loss.item(), {name: weight.grad.double() for name, weight in model.named_parameters() if weight.grad is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(ROOT / ".models/all-MiniLM-L6-v2"))
    folder = parser.parse_args().model
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        entries = {"nn": (ROOT / "dist/nn_entry_node.js").as_uri(), "entry": (ROOT / "dist/train_entry_node.js").as_uri()}
        (place / "ours.mjs").write_text(OURS % entries)
        out = place / "model.safetensors"
        request = json.dumps({"model": folder, "rows": ROWS, "out": str(out), "large": LARGE})
        ran = subprocess.run(["node", place / "ours.mjs", request], capture_output=True, text=True)
        if ran.returncode:
            sys.exit(ran.stderr)
        ours, after = json.loads(ran.stdout), safetensors.torch.load_file(out)
    before = safetensors.torch.load_file(pathlib.Path(folder) / "model.safetensors")
    (exact_loss, exact), (float_loss, single) = gradients(folder, torch.float64), gradients(folder, torch.float32)
    largest = max(gradient.abs().max().item() for gradient in exact.values())
    ours_off = max((before[name].double() - after[name].double() - gradient).abs().max().item() for name, gradient in exact.items())
    torchs_off = max((single[name] - gradient).abs().max().item() for name, gradient in exact.items())
    print(f"loss {ours['loss']:.8f}, torch {exact_loss:.8f} (float64), {float_loss:.8f} (float32)")
    print(f"{len(exact)} weights, the largest gradient {largest:.4f}: ours differ by {ours_off:.2e}, torch's in float32 by {torchs_off:.2e}")
    sys.exit(ours_off > 1e-5)


main()
