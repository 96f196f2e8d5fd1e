#!/usr/bin/env python3
"""Compares Trainer with torch: the same steps of AdamW on the same batches of TREC, in float32, without dropout. Prints the largest relative
difference of the losses over the first 20 steps (wanted: 1e-4) and that of the last ones (1 %), and processor time. Then Python's own libraries
load what was saved: PEFT the adapter, sentence-transformers the whole model; their vectors must be ours. Encoder-decoders learn to give a
question's label; PEFT and transformers load them, and must have our loss. Build first (npm run build).

    .venv/bin/python tools/check_training.py DATA/classification/trec [--model DIR] [--steps 100] [--method lora full] [--loss ..] [--seq2seq DIR ..]
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
const { model, options, rows, texts, folder, validation = [], in_any_order = false, classified = [] } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
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
let judged;
const before = process.cpuUsage();
const how = validation.length > 0 ? { validation, eval_steps: options.max_steps } : {};
for await (const { loss, evaluation } of trainer.fit(rows, how)) {
  losses.push(loss);
  judged = evaluation;
}
const { user, system } = process.cpuUsage(before);
await save('end');
const { data, dims } = texts.length > 0 ? await trainer.embed(texts) : { data: [], dims: [] };
const labels = classified.length > 0 ? (await trainer.classifier(classified)).map(({ label }) => label) : [];
const source = batches(toExamples('rows', rows, { task: options.task }), options.batch_size, options.seed, in_any_order);
const order = losses.map(() => source.next().value);
console.log(JSON.stringify({ losses, order, seconds: (user + system) / 1e6, vectors: [...data], dims, judged, labels }));
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


def train_torch(model, loss_of_rows, rows, order, options):
    named = [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]
    matrices = [weight for _, weight in named if weight.dim() > 1]
    others = [weight for _, weight in named if weight.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=options["learning_rate"])
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, len(order) // 10, len(order))
    losses = []
    before = seconds()
    for batch in order:
        loss = loss_of_rows(model, [rows[i] for i in batch])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weight for _, weight in named], 1)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses, seconds() - before


def run_ours(folder, request):
    entry, rows = (ROOT / "dist/train_entry_node.js").as_uri(), ROOT / "web/train/rows.ts"
    (folder / "ours.mjs").write_text(OURS % {"esbuild": (ROOT / "node_modules/esbuild/lib/main.js").as_uri(), "entry": entry, "rows": rows})
    (folder / "request.json").write_text(json.dumps({**request, "folder": str(folder)}))
    out = subprocess.run(["node", folder / "ours.mjs", folder / "request.json"], capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr)
    return json.loads(out.stdout)


def compared(ours, losses, steps, time):
    """The figures of both runs."""
    differences = [abs(a - b) / abs(b) for a, b in zip(ours["losses"], losses)]
    last = [sum(run[-10:]) for run in (ours["losses"], losses)]
    return {
        "first": ours["losses"][0],
        "last": ours["losses"][-1],
        "difference of the first 20": max(differences[:20]),
        "of the last": differences[-1],
        "of the last ten": abs(last[0] - last[1]) / last[1],
        "seconds a step": ours["seconds"] / steps,
        "torch": time / steps,
    }


def show(result):
    print(json.dumps({key: float(f"{value:.3g}") if isinstance(value, float) else value for key, value in result.items()}), flush=True)
    return result["difference of the first 20"] < 1e-4 and result["of the last ten"] < 0.01


def compare_seq2seq(method, model_folder, given):
    options = {"task": "text2text-generation", "method": method, "max_steps": given.steps, "batch_size": 8, "seed": 3, "threads": 1, "max_length": 40,
               "learning_rate": 5e-3 if method == "lora" else 5e-4}  # fmt: skip
    rows = [{"text": row["text"], "target": row["label"]} for row in read_rows(given.data, "SupConLoss", 16 * options["batch_size"])]
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(model_folder / "tokenizer.json"))
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(transformers.AutoConfig.from_pretrained(model_folder).pad_token_id)

    def loss_of_rows(model, chosen):
        how = dict(padding=True, truncation=True, max_length=options["max_length"], return_tensors="pt")
        batch = tokenizer([row["text"] for row in chosen], **how)
        labels = tokenizer([row["target"] for row in chosen], **how)
        ids = labels.input_ids.masked_fill(labels.attention_mask == 0, -100)
        return model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=ids).loss

    def load(folder):
        return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours = run_ours(folder, {"model": str(model_folder), "options": options, "rows": rows, "texts": [], "validation": rows, "in_any_order": True})
        model = load(model_folder)
        if method == "lora":
            model = peft.PeftModel.from_pretrained(model, folder / "begin", is_trainable=True)
        model.eval()  # no dropout
        losses, time = train_torch(model, loss_of_rows, rows, ours["order"], options)
        loaded = load(model_folder) if method == "lora" else load(folder / "end")
        if method == "lora":
            loaded = peft.PeftModel.from_pretrained(loaded, folder / "end")
        with torch.no_grad():
            read = loss_of_rows(loaded.eval(), rows).item()
    found = abs(read - ours["judged"]["loss"]) / read
    result = {"model": model_folder.name, "method": method, **compared(ours, losses, given.steps, time), "loss as Python loads it": found}
    return show(result) and found < 1e-5


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
    def loss_of_rows(model, chosen):
        columns = ["text"] if "text" in chosen[0] else ["anchor", "positive"]
        vectors = mean_vectors(model, tokenizer, [row[column] for column in columns for row in chosen])
        return loss_of(loss, vectors, chosen)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours = run_ours(folder, {"model": str(given.model), "options": options, "rows": rows, "texts": texts})
        vectors = torch.tensor(ours["vectors"]).reshape(ours["dims"])

        base = transformers.AutoModel.from_pretrained(given.model, add_pooling_layer=False)
        if method == "lora":
            model = peft.PeftModel.from_pretrained(base, folder / "begin", is_trainable=True)
        else:
            model = base
        model.eval()  # no dropout
        losses, time = train_torch(model, loss_of_rows, rows, ours["order"], options)

        with torch.no_grad():
            trained = mean_vectors(model, tokenizer, texts)
            if method == "lora":
                base = transformers.AutoModel.from_pretrained(given.model, add_pooling_layer=False)
                loaded = peft.PeftModel.from_pretrained(base, folder / "end").eval()
                read = mean_vectors(loaded, tokenizer, texts)
            else:
                loaded = sentence_transformers.SentenceTransformer(str(folder / "end"), device="cpu")
                read = loaded.encode(texts, convert_to_tensor=True)

    result = {
        "method": method,
        "loss": loss,
        **compared(ours, losses, given.steps, time),
        "vectors as Python loads them": (read - vectors).abs().max().item(),
        "as torch trained them": (trained - vectors).abs().max().item(),
    }
    return show(result) and result["vectors as Python loads them"] < 1e-5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / ".models/all-MiniLM-L6-v2")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--method", nargs="+", default=["lora", "full"])
    parser.add_argument("--loss", nargs="+", default=["MultipleNegativesRankingLoss", "SupConLoss"])
    parser.add_argument("--seq2seq", type=pathlib.Path, nargs="*", default=[ROOT / "tests/goldens/seq2seq" / name for name in ("t5", "bart")])
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = [compare(method, loss, given) for method in given.method for loss in given.loss]
    results += [compare_seq2seq(method, folder, given) for method in given.method for folder in given.seq2seq]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
