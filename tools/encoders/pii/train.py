"""Trains wattn-pii on the texts of texts.py: a token head on layers of wattn-base, with all weights.

After three fifths of the steps the matrices have the four bits of GGUF's q4_0, as in ../train.py. Seeded; checkpoint.pt holds everything that a stopped run needs to go
on to the same bits, and log.jsonl what was measured on the way.
"""

import argparse
import hashlib
import json
import sys
import time
from itertools import groupby, islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.append(str(Path(__file__).parent.parent))  # what both kinds of encoders share

from batches import Batches  # noqa: E402
from model import begin_tagger  # noqa: E402
from student import begin_rounded, forward, is_rounded, shape_rounded  # noqa: E402
from tagged import IGNORED, LABELS, spans_of, tags_of  # noqa: E402

MOST_TOKENS = 128  # of a training text
EVERY = 50  # steps between checkpoints
WATCHED = 150  # texts of each dev set that the log has scores of; export.py has those of all


def read(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def encoded(tokenizer, texts):
    """[(ids, tags)] of tagged texts, cut to MOST_TOKENS."""
    out = []
    for at in range(0, len(texts), 4096):
        part = texts[at : at + 4096]
        for one, encoding in zip(part, tokenizer.encode_batch([t["text"] for t in part])):
            ids, tags = encoding.ids, tags_of(encoding, one["spans"])
            if len(ids) > MOST_TOKENS:
                ids, tags = [*ids[: MOST_TOKENS - 1], ids[-1]], [*tags[: MOST_TOKENS - 1], tags[-1]]
            out.append((ids, tags))
    return out


def logits_of(model, ids, exact=False):
    """[texts, tokens, tags] of token ids. exact: with products of float32."""
    with torch.autocast("cpu", torch.bfloat16, enabled=not exact):
        _, out = forward(model, ids)
    return model.classifier(out.last_hidden_state.float())


def loss_of(model, rows):
    goal = torch.full((len(rows), max(len(ids) for ids, _ in rows)), IGNORED)
    for i, (_, tags) in enumerate(rows):
        goal[i, : len(tags)] = torch.tensor(tags)
    return F.cross_entropy(logits_of(model, [ids for ids, _ in rows]).flatten(0, 1), goal.flatten(), ignore_index=IGNORED)


@torch.inference_mode()
def read_texts(model, tokenizer, texts):
    """[(encoding, logits [tokens, tags])] of each text."""
    encodings = tokenizer.encode_batch(texts)
    order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
    out = [None] * len(texts)
    for at in range(0, len(order), 64):
        part = order[at : at + 64]
        for i, logits in zip(part, logits_of(model, [encodings[i].ids[:256] for i in part])):
            out[i] = (encodings[i], logits[: len(encodings[i].ids)])
    return out


def found_in(what_was_read, o_bias=0.0):
    """Spans in each text; o_bias is added to the logit of O."""
    out = []
    for encoding, logits in what_was_read:
        tags = (logits + o_bias * F.one_hot(torch.tensor(0), logits.shape[1])).argmax(1).tolist()
        out.append(spans_of(encoding, [0 if s else t for t, s in zip(tags, encoding.special_tokens_mask)]))
    return out


def f1(found, rows, labels):
    """(F1, precision, recall) of exact spans with these labels."""
    pairs = [({s for s in f if s[2] in labels}, {tuple(s) for s in row["spans"] if s[2] in labels}) for f, row in zip(found, rows)]
    right, said, there = (sum(map(len, x)) for x in zip(*((a & b, a, b) for a, b in pairs)))
    return round(2 * right / max(1, said + there), 4), round(right / max(1, said), 4), round(right / max(1, there), 4)


def scores_of(found, dev):
    """(F1, precision, recall) of all labels and F1 of each, by set of the dev texts."""
    out = {}
    for name in dict.fromkeys(row["set"] for row in dev):
        pairs = [(f, row) for f, row in zip(found, dev) if row["set"] == name]
        own, rows = zip(*pairs)
        wanted = [label for label in LABELS if any(s[2] == label for row in rows for s in row["spans"])]
        out[name] = {"all": f1(own, rows, wanted), **{label: f1(own, rows, [label])[0] for label in wanted}}
    return out


def hash_of(model):
    return hashlib.sha256(b"".join(v.detach().numpy().tobytes() for v in model.state_dict().values())).hexdigest()[:16]


def optimizer_of(model, rate):
    named = list(model.named_parameters())
    groups = [
        {"params": [q for n, q in named if q.ndim >= 2 and "embeddings" not in n], "weight_decay": 0.01},
        {"params": [q for n, q in named if q.ndim < 2 or "embeddings" in n], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True, help="wattn-base.gguf")
    p.add_argument("--texts", required=True, type=Path, help="the folder that texts.py wrote")
    p.add_argument("--out", required=True, type=Path)
    p.add_argument("--layers", type=int, nargs="+", default=[0, 1, 2, 3], help="of the base")
    p.add_argument("--steps", type=int, default=1200)
    p.add_argument("--rows", type=int, nargs=2, default=[0, None], metavar=("FIRST", "END"), help="texts to learn from")
    p.add_argument("--tokens", type=int, default=2048, help="of a step, padding included")
    p.add_argument("--rate", type=float, default=5e-4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--stop", type=int, help="stop after this step, to go on later")
    a = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    a.out.mkdir(parents=True, exist_ok=True)
    model, tokenizer = begin_tagger(a.base, a.layers)
    rows = encoded(tokenizer, read(a.texts / "train.jsonl")[slice(*a.rows)])
    dev = [row for _, part in groupby(read(a.texts / "dev.jsonl"), lambda row: row["set"]) for row in islice(part, WATCHED)]
    lengths = np.array([len(ids) for ids, _ in rows])
    some = sorted(np.random.default_rng(a.seed).choice(len(rows), 480, replace=False), key=lambda i: lengths[i])
    round_at = a.steps * 3 // 5  # from then on four bits, and a rate that falls: until then --steps may be changed, and changes no bit
    checkpoint = a.out / "checkpoint.pt"
    saved = torch.load(checkpoint) if checkpoint.exists() else None
    if saved and saved["rounded"]:
        shape_rounded(model)
    optimizer = optimizer_of(model, a.rate)
    if saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    batches = Batches(lengths, a.tokens, a.seed)
    losses, since, read_tokens = [], time.time(), 0
    for step in range(saved["step"] if saved else 0, a.steps + 1):
        if step == round_at and not is_rounded(model):
            begin_rounded(model, [rows[i][0] for i in some])
        if step and (step % EVERY == 0 or step in (a.steps, a.stop)) and losses:
            spent = time.time() - since
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "rounded": is_rounded(model), "layers": a.layers}
            torch.save(state, a.out / "checkpoint.new")
            (a.out / "checkpoint.new").replace(checkpoint)
            line = {"step": step, "loss": round(float(np.mean(losses)), 4), "tokens_a_second": round(read_tokens / spent), "seconds": round(spent), "hash": hash_of(model)}
            line["dev"] = scores_of(found_in(read_texts(model, tokenizer, [row["text"] for row in dev])), dev)
            with (a.out / "log.jsonl").open("a") as log:
                log.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)
            losses, since, read_tokens = [], time.time(), 0
        if step in (a.steps, a.stop):
            break
        for group in optimizer.param_groups:
            group["lr"] = a.rate * min(1.0, (step + 1) / 40, 0.02 + (a.steps - step) / (a.steps - round_at))
        batch = [rows[i] for i in batches(step)]
        loss = loss_of(model, batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        read_tokens += sum(len(ids) for ids, _ in batch)


if __name__ == "__main__":
    main()
