#!/usr/bin/env python3
"""Holds Trainer against torch: the same steps of AdamW on the same batches of TREC, in float32, without dropout. Prints the largest relative
difference of the losses over the first 20 steps (wanted: 1e-4) and that of the last ones (1 %), and processor time. Then Python's own
libraries load what was saved: PEFT the adapter, sentence-transformers the whole model; their vectors must be ours. Build first (npm run build).

    .venv/bin/python tools/check_training.py DATA/classification/trec [--model DIR] [--steps 100] [--method lora full] [--loss ..]
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import peft
import sentence_transformers
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTED = 100  # texts whose vectors are compared
OURS = """
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from '%(esbuild)s';
import { Trainer } from '%(entry)s';
const { model, options, rows, texts, folder } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
await build({ entryPoints: ['%(rows)s'], outfile: join(folder, 'rows.mjs'), bundle: true, format: 'esm', logLevel: 'error' });
const { batches, toExamples } = await import(join(folder, 'rows.mjs'));
const save = async (name) => {
  for (const [file, bytes] of Object.entries(await trainer.save())) {
    mkdirSync(dirname(join(folder, name, file)), { recursive: true });
    writeFileSync(join(folder, name, file), bytes);
  }
};
const trainer = await Trainer.from_pretrained(model, options);
for await (const _ of trainer.fit(rows, { signal: AbortSignal.abort() })); // no step
await save('begin');
const losses = [];
const before = process.cpuUsage();
for await (const { loss } of trainer.fit(rows)) losses.push(loss);
const { user, system } = process.cpuUsage(before);
await save('end');
const { data, dims } = await trainer.embed(texts);
const source = batches(toExamples('rows', rows), options.batch_size, options.seed);
const order = losses.map(() => source.next().value);
console.log(JSON.stringify({ losses, order, seconds: (user + system) / 1e6, vectors: [...data], dims }));
await trainer.dispose();
"""


def seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def read_rows(folder, loss, count):
    """Texts with labels, or pairs of texts that have one label."""
    lines = (folder / "TREC.train.all").read_text("latin1").rstrip("\n").split("\n")
    rows = [{"text": text, "label": label} for label, text in (line.split(" ", 1) for line in lines)]
    if loss == "SupConLoss":
        return rows[:count]
    pairs, waiting = [], {}
    for row in rows:
        other = waiting.pop(row["label"], None)
        if other is None:
            waiting[row["label"]] = row["text"]
        elif other != row["text"]:
            pairs.append({"anchor": other, "positive": row["text"]})
    return pairs[:count]


def mean_vectors(model, tokenizer, texts):
    batch = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
    states = model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
    return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1)


def loss_of(loss, vectors, rows):
    if loss == "MultipleNegativesRankingLoss":
        half = len(rows)
        scores = 20 * vectors[:half] @ vectors[half:].T
        return torch.nn.functional.cross_entropy(scores, torch.arange(half))
    labels = [row["label"] for row in rows]
    others = ~torch.eye(len(rows), dtype=torch.bool)
    own = torch.tensor([[a == b for b in labels] for a in labels]) & others
    scores = (vectors @ vectors.T / 0.1).masked_fill(~others, -torch.inf)
    logs = torch.log_softmax(scores, dim=1).masked_fill(~own, 0)
    return -(logs.sum(1) / own.sum(1))[own.any(1)].mean()


def train_torch(model, tokenizer, rows, order, options):
    named = [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]
    matrices = [weight for _, weight in named if weight.dim() > 1]
    others = [weight for _, weight in named if weight.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=options["learning_rate"])
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, len(order) // 10, len(order))
    losses = []
    before = seconds()
    for batch in order:
        chosen = [rows[i] for i in batch]
        columns = ["text"] if "text" in chosen[0] else ["anchor", "positive"]
        vectors = mean_vectors(model, tokenizer, [row[column] for column in columns for row in chosen])
        loss = loss_of(options["loss"], vectors, chosen)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weight for _, weight in named], 1)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses, seconds() - before


def compare(method, loss, given):
    options = {
        "task": "feature-extraction",
        "method": method,
        "loss": loss,
        "max_steps": given.steps,
        "batch_size": 16 if loss == "SupConLoss" else 8,
        "learning_rate": 2e-3 if method == "lora" else 1e-4,
        "seed": 3,
        "threads": 1,
    }
    rows = read_rows(given.data, loss, given.steps * options["batch_size"])
    texts = [line.split(" ", 1)[1] for line in (given.data / "TREC.test.all").read_text("latin1").split("\n")[:TESTED]]
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "ours.mjs").write_text(
            OURS
            % {
                "esbuild": (ROOT / "node_modules/esbuild/lib/main.js").as_uri(),
                "entry": (ROOT / "dist/train_entry_node.js").as_uri(),
                "rows": ROOT / "web/train/rows.ts",
            }
        )
        request = {"model": str(given.model), "options": options, "rows": rows, "texts": texts, "folder": name}
        (folder / "request.json").write_text(json.dumps(request))
        out = subprocess.run(["node", folder / "ours.mjs", folder / "request.json"], capture_output=True, text=True)
        if out.returncode:
            sys.exit(out.stderr)
        ours = json.loads(out.stdout)
        vectors = torch.tensor(ours["vectors"]).reshape(ours["dims"])

        base = transformers.AutoModel.from_pretrained(given.model, add_pooling_layer=False)
        if method == "lora":
            model = peft.PeftModel.from_pretrained(base, folder / "begin", is_trainable=True)
        else:
            model = base
            model.embeddings.requires_grad_(False)
        model.eval()  # no dropout
        losses, time = train_torch(model, tokenizer, rows, ours["order"], options)

        with torch.no_grad():
            trained = mean_vectors(model, tokenizer, texts)
            if method == "lora":
                base = transformers.AutoModel.from_pretrained(given.model, add_pooling_layer=False)
                loaded = peft.PeftModel.from_pretrained(base, folder / "end").eval()
                read = mean_vectors(loaded, tokenizer, texts)
            else:
                loaded = sentence_transformers.SentenceTransformer(str(folder / "end"), device="cpu")
                read = loaded.encode(texts, convert_to_tensor=True)

    differences = [abs(a - b) / abs(b) for a, b in zip(ours["losses"], losses)]
    last = [sum(run[-10:]) for run in (ours["losses"], losses)]
    result = {
        "method": method,
        "loss": loss,
        "first": ours["losses"][0],
        "last": ours["losses"][-1],
        "difference of the first 20": max(differences[:20]),
        "of the last": differences[-1],
        "of the last ten": abs(last[0] - last[1]) / last[1],
        "seconds a step": ours["seconds"] / given.steps,
        "torch": time / given.steps,
        "vectors as Python loads them": (read - vectors).abs().max().item(),
        "as torch trained them": (trained - vectors).abs().max().item(),
    }
    print(json.dumps({key: float(f"{value:.3g}") if isinstance(value, float) else value for key, value in result.items()}), flush=True)
    right = result["difference of the first 20"] < 1e-4 and result["of the last ten"] < 0.01
    return right and result["vectors as Python loads them"] < 1e-5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / ".models/all-MiniLM-L6-v2")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--method", nargs="+", default=["lora", "full"])
    parser.add_argument("--loss", nargs="+", default=["MultipleNegativesRankingLoss", "SupConLoss"])
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = [compare(method, loss, given) for method in given.method for loss in given.loss]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
