"""A sentiment teacher, and what it says of many texts: the teacher's encoder fine-tuned on the texts that have a label, its logits on
those and on the unlabelled texts of the same kind (as in Tang et al. 2019, arXiv 1903.12136; words left out and runs of words alone make
more of them). train.py learns from feelings.txt and feelings.npy. Seeded; resumable.
"""

import argparse
import random
import re
import time
import zipfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import BertModel

import evaluate
from corpus import Overlap, Reader, clean

MIX = {"sentences": 0.5, "phrases": 0.15, "words": 0.1, "reviews": 0.25}
BATCH, MOST_TOKENS = 32, 64
VARIANTS = 60000  # texts made of others


def labelled(nltk, overlap):
    """{kind: [(text, label)]} from sets whose licence (CC BY 4.0) allows a shipped model; evaluation text taken out."""
    out = {"sentences": [], "phrases": [], "words": [], "reviews": []}

    def archive(name):
        with zipfile.ZipFile(Path(nltk) / f"{name}.zip") as z:
            for path in sorted(z.namelist()):
                if not path.endswith("/") and "README" not in path:
                    yield path, z.read(path).decode("utf-8", "replace")

    for path, text in archive("sentence_polarity"):
        out["sentences"] += [(line, int(path.endswith(".pos"))) for line in text.splitlines()]
    for name in ("product_reviews_1", "product_reviews_2"):
        for _, text in archive(name):
            for line in text.splitlines():
                marks, _, sentence = line.partition("##")
                total = sum(int(n) for n in re.findall(r"\[([+-]\d)\]", marks))
                if total:
                    out["sentences"].append((sentence, int(total > 0)))
    for path, text in archive("pros_cons"):
        out["phrases"] += [(t, int("Pros" in path)) for t in re.findall(r"<(?:Pros|Cons)>(.*?)</", text)]
    for path, text in archive("opinion_lexicon"):
        out["words"] += [(w, int("positive" in path)) for w in text.splitlines() if w and not w.startswith(";")]
    for path, text in archive("movie_reviews"):
        if path.endswith(".txt"):
            out["reviews"] += [(line, int("/pos/" in path)) for line in text.splitlines()[-6:]]  # a review ends with its verdict
    kept = {}
    for kind, rows in out.items():
        rows = [(clean(text), label) for text, label in rows]
        kept[kind] = [(t, y) for t, y in dict(rows).items() if len(t) > 2 and not overlap(t)]
        print(f"{len(kept[kind]):8d} texts with a sentiment: {kind}", flush=True)
    return kept


def unlabelled(data, nltk, overlap, known):
    """Texts of the same kind without a label, and variants of all."""
    reader, rng = Reader(data, nltk), random.Random(3)
    lines = [line for _, text in reader.zipped("movie_reviews", ".txt") for line in text.splitlines()]
    texts = list(dict.fromkeys(clean(t) for t in [*lines, *reader.polarity(), *reader.products()]))
    texts = [t for t in texts if len(t) > 11 and t not in known and not overlap(t)]
    print(f"{len(texts):8d} texts without", flush=True)
    variants = set()
    whole = [*texts, *(t for t in known if " " in t)]
    while len(variants) < VARIANTS:
        words = rng.choice(whole).split()
        if rng.random() < 0.5:
            words = [w for w in words if rng.random() > 0.15]
        else:
            n = rng.randint(2, 8)
            at = rng.randrange(max(1, len(words) - n))
            words = words[at : at + n]
        if len(words) > 1:
            variants.add(" ".join(words))
    return texts + sorted(variants)


class Judge(torch.nn.Module):
    """The teacher's encoder, mean pooling, two logits."""

    def __init__(self, folder):
        super().__init__()
        self.bert = BertModel.from_pretrained(folder)
        self.head = torch.nn.Linear(self.bert.config.hidden_size, 2)
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    def forward(self, texts):
        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        longest = max(map(len, ids))
        batch = torch.tensor([i + [0] * (longest - len(i)) for i in ids])
        mask = (torch.arange(longest)[None] < torch.tensor([len(i) for i in ids])[:, None]).long()
        with torch.autocast("cpu", torch.bfloat16):
            hidden = self.bert(batch, attention_mask=mask).last_hidden_state
        mean = (hidden.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return self.head(F.dropout(mean, 0.1, self.training))

    @torch.inference_mode()
    def logits(self, texts, size=64):
        self.eval()
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        out = np.empty((len(texts), 2), np.float32)
        for at in range(0, len(order), size):
            part = order[at : at + size]
            out[part] = self([texts[i] for i in part]).numpy()
        return out


def accuracy(judge, rows):
    return float((judge.logits([t for t, _ in rows]).argmax(1) == np.array([y for _, y in rows])).mean())


def tune(judge, known, steps, saved, held_out):
    body = list(judge.bert.parameters())
    optimizer = torch.optim.AdamW([{"params": body, "peak": 5e-5}, {"params": judge.head.parameters(), "peak": 1e-3}], weight_decay=0.01)
    begin = 0
    if saved.exists():
        state = torch.load(saved)
        judge.load_state_dict(state["judge"])
        optimizer.load_state_dict(state["optimizer"])
        begin = state["step"]
    since = time.time()
    for step in range(begin, steps + 1):
        if step % 250 == 0 or step == steps:
            torch.save({"judge": judge.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, saved)
            score = accuracy(judge, held_out)
            saved.with_suffix(".txt").write_text(f"{score:.4f}")
            print(f"step {step}: SST test {score:.4f}; {time.time() - since:.0f} s", flush=True)
        if step == steps:
            return
        judge.train()
        rng = random.Random(step)
        torch.manual_seed(step)
        (kind,) = rng.choices(list(MIX), list(MIX.values()))  # of one kind: of like length
        rows = rng.sample(known[kind], BATCH)
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * min(1, (step + 1) / 100) * (1 - step / steps)
        loss = F.cross_entropy(judge([t for t, _ in rows]), torch.tensor([y for _, y in rows]), label_smoothing=0.05)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimizer.step()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--nltk", required=True)
    p.add_argument("--teacher", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, default=1200)
    a = p.parse_args()
    out = Path(a.out)
    if (out / "feelings.npy").exists():
        return
    overlap = Overlap(a.data)
    known = labelled(a.nltk, overlap)
    judge = Judge(a.teacher)
    tune(judge, known, a.steps, out / "judge.pt", evaluate.sst2(a.data, "sst2-sentences/test"))
    labels = {t: y for rows in known.values() for t, y in rows}
    texts = [*labels, *unlabelled(a.data, a.nltk, overlap, labels)]
    logits = judge.logits(texts)
    soft = torch.softmax(torch.from_numpy(logits), 1)[:, 1].numpy()
    for i, label in enumerate(labels.values()):
        soft[i] = 0.5 * soft[i] + 0.5 * label  # what a person said, and what the judge makes of it
    (out / "feelings.txt").write_text("\n".join(texts) + "\n", "utf-8")
    np.save(out / "feelings.npy", soft.astype(np.float32))
    print(f"{len(texts)} texts with a probability of POSITIVE, {len(labels)} of them labelled")


if __name__ == "__main__":
    main()
