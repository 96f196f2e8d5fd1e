"""A judge of sentiment, and what it says of many texts: an encoder fine-tuned on the texts that have a label, its probabilities on those, on
unlabelled texts of the same kind, and on texts made of both (as in Tang et al. 2019, arXiv 1903.12136). train.py learns from feelings.txt
and feelings.npy. Seeded; resumable; may be stopped while it labels: what is done counts.
"""

import argparse
import random
import re
import time
import zipfile
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import AutoModel

sys.path.append(str(Path(__file__).parents[1] / "encoders"))
import evaluate  # noqa: E402
from corpus import Overlap, evaluation_texts, Reader, clean  # noqa: E402
from made_texts import made  # noqa: E402

MIX = {"sentences": 0.6, "phrases": 0.08, "words": 0.04, "reviews": 0.18, "comments": 0.1}
BATCH, MOST_TOKENS = 32, 64
CHUNK = 8192  # texts labelled and saved at once
MADE = 120000  # texts made of others
MADE_OF_SENTENCES = 64000  # more, of labelled sentences alone
MOST = {"phrases": 20000, "comments": 15000, "reviews, unlabelled": 45000}  # texts taken, drawn by seed
PRAISE = {"admiration", "approval", "excitement", "gratitude", "joy", "love", "optimism", "pride", "relief"}
BLAME = {"anger", "annoyance", "disappointment", "disapproval", "disgust", "grief", "remorse", "sadness"}
EMOTIONS = (
    "admiration amusement anger annoyance approval caring confusion curiosity desire disappointment disapproval disgust embarrassment excitement "
    "fear gratitude grief joy love nervousness optimism pride realization relief remorse sadness surprise neutral"
).split()  # GoEmotions' order


def labelled(nltk, overlap):
    """{kind: [(text, label)]} from sets whose licence (CC BY 4.0; GoEmotions Apache-2.0) allows a shipped model; evaluation text taken out."""
    out = {kind: [] for kind in MIX}

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
    for _, text in archive("sentiment+labelled+sentences"):
        out["sentences"] += [(line.rsplit("\t", 1)[0], int(line.rsplit("\t", 1)[1])) for line in text.splitlines() if "\t" in line]
    for _, text in archive("goemotions"):
        for comment, numbers, _ in (line.split("\t") for line in text.splitlines()):
            felt = {EMOTIONS[int(n)] for n in numbers.split(",")}
            if felt <= PRAISE or felt <= BLAME:
                out["comments"].append((comment, int(felt <= PRAISE)))
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
        rows = list(dict(rows).items())
        random.Random(2).shuffle(rows)
        kept[kind] = [(t, y) for t, y in rows if len(t) > 2 and not overlap(t)][: MOST.get(kind)]
        print(f"{len(kept[kind]):8d} texts with a sentiment: {kind}", flush=True)
    return kept


def unlabelled(data, nltk, overlap, known):
    """Texts of the same kind without a label, and texts made of all; then texts made of the sentences, the most telling kind."""
    reader, rng = Reader(data, nltk), random.Random(3)
    lines = [line for _, text in reader.zipped("movie_reviews", ".txt") for line in text.splitlines()]
    rng.shuffle(lines)
    texts = list(dict.fromkeys(clean(t) for t in [*lines[: MOST["reviews, unlabelled"]], *reader.polarity(), *reader.products()]))
    labels = {t for rows in known.values() for t, _ in rows}
    texts = [t for t in texts if len(t) > 11 and t not in labels and not overlap(t)]
    print(f"{len(texts):8d} texts without", flush=True)
    of_all = [*texts, *sorted(labels)]
    of_sentences = made([t for t, _ in known["sentences"]], MADE_OF_SENTENCES, of_all, random.Random(5), overlap)
    return texts + made(of_all, MADE, of_all, rng, overlap), of_sentences


class Judge(torch.nn.Module):
    """An encoder, mean pooling, two logits."""

    def __init__(self, folder):
        super().__init__()
        self.bert = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
        self.head = torch.nn.Linear(self.bert.config.hidden_size, 2)
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    def forward(self, texts):
        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        longest = max(map(len, ids))
        batch = torch.tensor([i + [0] * (longest - len(i)) for i in ids])  # masked there: any id does
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


def tune(judge, known, steps, rate, saved, held_out):
    body = list(judge.bert.parameters())
    optimizer = torch.optim.AdamW([{"params": body, "peak": rate}, {"params": judge.head.parameters(), "peak": 1e-3}], weight_decay=0.01, fused=True)
    begin = 0
    if saved.exists():
        state = torch.load(saved)
        judge.load_state_dict(state["judge"])
        optimizer.load_state_dict(state["optimizer"])
        begin = state["step"]
    since = time.time()
    for step in range(begin, steps + 1):
        if step % 350 == 0 or step == steps:
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
    p.add_argument("--judge", required=True, help="the encoder to tune: all-mpnet-base-v2")
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, default=700)
    p.add_argument("--rate", type=float, default=3e-5)
    a = p.parse_args()
    out = Path(a.out)
    overlap = Overlap(evaluation_texts(a.data))
    known = labelled(a.nltk, overlap)
    judge = Judge(a.judge)
    tune(judge, known, a.steps, a.rate, out / "judge.pt", evaluate.sst2(a.data, "sst2-sentences/test"))
    labels = {t: y for rows in known.values() for t, y in rows}
    texts, of_sentences = unlabelled(a.data, a.nltk, overlap, known)
    texts += sorted(labels)
    random.Random(4).shuffle(texts)
    begin = len(texts)  # of what is learned from three times as often
    texts += of_sentences
    judged = out / "judged.npy"
    soft = np.load(judged) if judged.exists() else np.zeros(0, np.float32)
    since = time.time()
    judge.bert.to(torch.bfloat16)
    for at in range(len(soft), len(texts), CHUNK):
        part = texts[at : at + CHUNK]
        says = torch.softmax(torch.from_numpy(judge.logits(part)), 1)[:, 1].numpy()
        for i, text in enumerate(part):
            if text in labels:
                says[i] = 0.5 * says[i] + 0.5 * labels[text]  # what a person said, and what the judge makes of it
        soft = np.concatenate([soft, says])
        np.save(judged, soft)
        rows = [*range(len(soft)), *2 * list(range(begin, len(soft)))]
        (out / "feelings.txt").write_text("".join(texts[r] + "\n" for r in rows), "utf-8")
        np.save(out / "feelings.npy", soft[rows])
        print(f"{len(soft)} of {len(texts)} texts with a probability of POSITIVE; {time.time() - since:.0f} s", flush=True)


if __name__ == "__main__":
    main()
