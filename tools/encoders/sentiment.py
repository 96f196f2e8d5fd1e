"""A judge model for sentiment, and its labels for many texts: an encoder fine-tuned on texts with a label (negative, neutral, positive), its
probabilities on those, on unlabelled texts of the same kind, and on texts made of both (as in Tang et al. 2019, arXiv 1903.12136). train.py
trains on feelings.txt and feelings.npy. Seeded; labelling can be interrupted and resumes.
"""

import argparse
import json
import random
import re
import time
import zipfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import AutoModel

import evaluate
from corpus import Overlap, Reader, clean, evaluation_texts
from made_texts import made
from pieces import EMOJI, PLEASANT, UNPLEASANT, spoken

NEGATIVE, NEUTRAL, POSITIVE = range(3)
MIX = {
    "sentences": 0.42, "phrases": 0.06, "words": 0.04, "reviews": 0.1, "comments": 0.12,
    "neutral comments": 0.09, "neutral sentences": 0.06, "plots": 0.04, "facts": 0.07,
}  # fmt: skip
MOST_TOKENS = 48
CHUNK = 4096  # texts labelled and saved at once
UNLABELLED = 45000  # texts without a label that the judge labels: some from their sources, some made of others
MADE = 120000  # texts made of others, to draw those from
MADE_OF_SENTENCES = 64000  # texts made of labelled sentences alone, the most telling kind
OF_SENTENCES = 40000  # of those, labelled
WITH_EMOJI = 12000  # short texts that end with emoji
MOST = {"phrases": 20000, "comments": 22000, "neutral comments": 12000, "facts": 12000, "reviews, unlabelled": 45000}  # texts taken, drawn by seed
PRAISE = {"admiration", "approval", "excitement", "gratitude", "joy", "love", "optimism", "pride", "relief"}
BLAME = {"anger", "annoyance", "disappointment", "disapproval", "disgust", "grief", "remorse", "sadness"}
EMOTIONS = (
    "admiration amusement anger annoyance approval caring confusion curiosity desire disappointment disapproval disgust embarrassment excitement "
    "fear gratitude grief joy love nervousness optimism pride realization relief remorse sadness surprise neutral"
).split()  # GoEmotions' order


def labelled(data, nltk, overlap):
    """{kind: [(text, label)]} from sets whose licence (CC BY 4.0; GoEmotions Apache-2.0) allows a shipped model; evaluation text taken out."""
    out = {kind: [] for kind in MIX}

    def archive(name):
        with zipfile.ZipFile(Path(nltk) / f"{name}.zip") as z:
            for path in sorted(z.namelist()):
                if not path.endswith("/") and "README" not in path:
                    yield path, z.read(path).decode("utf-8", "replace")

    polar = lambda is_positive: POSITIVE if is_positive else NEGATIVE
    for path, text in archive("sentence_polarity"):
        out["sentences"] += [(line, polar(path.endswith(".pos"))) for line in text.splitlines()]
    for name in ("product_reviews_1", "product_reviews_2"):
        for _, text in archive(name):
            for line in text.splitlines():
                marks, separator, sentence = line.partition("##")
                total = sum(int(n) for n in re.findall(r"\[([+-]\d)\]", marks))
                if total:
                    out["sentences"].append((sentence, polar(total > 0)))
                elif separator and not re.search(r"\[[+-]", marks):
                    out["neutral sentences"].append((sentence, NEUTRAL))
    for _, text in archive("sentiment+labelled+sentences"):
        out["sentences"] += [(line.rsplit("\t", 1)[0], polar(line.rsplit("\t", 1)[1].strip() == "1")) for line in text.splitlines() if "\t" in line]
    for path, text in archive("goemotions"):
        if "test" in path:
            continue  # for evaluation
        for comment, numbers, _ in (line.split("\t") for line in text.splitlines()):
            felt = {EMOTIONS[int(n)] for n in numbers.split(",")}
            if felt <= PRAISE or felt <= BLAME:
                out["comments"].append((comment, polar(felt <= PRAISE)))
            elif felt == {"neutral"}:
                out["neutral comments"].append((comment, NEUTRAL))
    for path, text in archive("pros_cons"):
        out["phrases"] += [(t, polar("Pros" in path)) for t in re.findall(r"<(?:Pros|Cons)>(.*?)</", text)]
    for path, text in archive("opinion_lexicon"):
        out["words"] += [(w, polar("positive" in path)) for w in text.splitlines() if w and not w.startswith(";")]
    for path, text in archive("movie_reviews"):
        if path.endswith(".txt"):
            out["reviews"] += [(line, polar("/pos/" in path)) for line in text.splitlines()[-6:]]  # a review ends with its verdict
    for path, text in archive("subjectivity"):
        if "plot" in path:
            out["plots"] += [(line, NEUTRAL) for line in text.splitlines()]
    reader = Reader(data, nltk)
    out["facts"] = [(t, NEUTRAL) for t in (*reader.packages(), *reader.requests(), *(t for t in reader.wikipedia() if len(t) < 240), *reader.wordnet())]
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


def with_emoji(known, judge, count, rng):
    """count short texts with one to three emoji at the end, every tenth emoji alone, and probabilities [count, 3]: half what the judge says of the words, half
    what the emoji says of itself."""
    short = [t for kind in ("comments", "neutral comments", "facts", "phrases") for t, _ in known[kind] if len(t) < 60]
    feelings = {one: POSITIVE if one in PLEASANT else NEGATIVE if one in UNPLEASANT else NEUTRAL for one in EMOJI}
    rows = [("" if rng.random() < 0.1 else rng.choice(short), rng.choice(EMOJI), rng.choice((1, 1, 1, 2, 3))) for _ in range(count)]
    words = torch.softmax(torch.from_numpy(judge.logits([text for text, _, _ in rows])), 1).numpy()
    for (text, emoji, _), says in zip(rows, words):
        said = 0.05 / 3 + 0.95 * np.eye(3, dtype=np.float32)[feelings[emoji]]
        if not text:
            says[:] = said
        elif feelings[emoji] != NEUTRAL:
            says[:] = (says + said) / 2
    return [f"{text} {emoji * times}".strip() for text, emoji, times in rows], words


class Judge(torch.nn.Module):
    """An encoder, mean pooling, three logits. It reads emoji by name."""

    def __init__(self, folder):
        super().__init__()
        self.bert = AutoModel.from_pretrained(
            folder, attn_implementation="eager", dtype=torch.float32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
        self.head = torch.nn.Linear(self.bert.config.hidden_size, 3)
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)
        layers = self.bert.encoder.layer
        for part in (self.bert.embeddings, *layers[: len(layers) // 2]):  # only the upper half learns: half the work
            part.requires_grad_(False)

    def forward(self, texts):
        ids = [e.ids for e in self.tokenizer.encode_batch([spoken(t) for t in texts])]
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
        out = np.empty((len(texts), 3), np.float32)
        for at in range(0, len(order), size):
            part = order[at : at + size]
            out[part] = self([texts[i] for i in part]).float().numpy()
        return out


def tune(judge, known, steps, rate):
    body = [p for p in judge.bert.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW([{"params": body, "peak": rate}, {"params": judge.head.parameters(), "peak": 1e-3}], weight_decay=0.01, fused=True)
    for step in range(steps):
        judge.train()
        rng = random.Random(step)
        torch.manual_seed(step)
        rows = [row for count in (20, 12) for row in rng.sample(known[rng.choices(list(MIX), list(MIX.values()))[0]], count)]
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * min(1, (step + 1) / 50) * (1 - step / steps)
        loss = F.cross_entropy(judge([t for t, _ in rows]).float(), torch.tensor([y for _, y in rows]), label_smoothing=0.05)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1}: {loss.item():.3f}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--nltk", required=True)
    p.add_argument("--judge", required=True, help="the encoder to tune: all-mpnet-base-v2")
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--rate", type=float, default=5e-5)
    a = p.parse_args()
    out = Path(a.out)
    overlap = Overlap(evaluation_texts(a.data))
    known = labelled(a.data, a.nltk, overlap)
    ends = {kind: max(60, len(rows) // 50) for kind, rows in known.items()}
    (out / "held_out.json").write_text(json.dumps({kind: rows[: ends[kind]] for kind, rows in known.items()}))  # export.py sets the head's threshold by these
    known = {kind: rows[ends[kind] :] for kind, rows in known.items()}
    torch.manual_seed(1)
    judge = Judge(a.judge)
    if (out / "judge.pt").exists():
        judge.load_state_dict(torch.load(out / "judge.pt"))
    else:
        tune(judge, known, a.steps, a.rate)
        torch.save(judge.state_dict(), out / "judge.pt")
        rows = evaluate.sst2(a.data, "sst2-sentences/test")
        logits = judge.logits([t for t, _ in rows])
        right = (logits[:, POSITIVE] > logits[:, NEGATIVE]) == np.array([y for _, y in rows])
        (out / "judge.txt").write_text(f"{right.mean():.4f}")
        print(f"SST test {right.mean():.4f}", flush=True)
    label(judge, known, a, overlap, out)


def label(judge, known, a, overlap, out):
    """Labels texts: after those with emoji, people's sentences first, then the rest in one mixture, so that any part of it will do."""
    labels = {t: y for rows in known.values() for t, y in rows}
    apart = ("facts", "plots", "neutral comments")
    texts, of_sentences = unlabelled(a.data, a.nltk, overlap, {kind: rows for kind, rows in known.items() if kind not in apart})
    drawn = [*random.Random(6).sample(texts, UNLABELLED), *random.Random(7).sample(of_sentences, OF_SENTENCES)]
    first = [t for t, _ in known["sentences"]]
    known_first = set(first)
    rest = [t for t in dict.fromkeys([*labels, *drawn]) if t not in known_first]
    random.Random(4).shuffle(rest)
    judge.bert.to(torch.bfloat16)
    judged = out / "feelings.npy"
    emoji, soft = with_emoji(known, judge, WITH_EMOJI, random.Random(8))
    texts = [*emoji, *first, *rest]
    if judged.exists():
        soft = np.load(judged)
    since = time.time()
    for at in range(len(soft), len(texts), CHUNK):
        part = texts[at : at + CHUNK]
        says = torch.softmax(torch.from_numpy(judge.logits(part)), 1).numpy()
        for i, text in enumerate(part):
            if text in labels:
                says[i] = 0.5 * says[i] + 0.5 * np.eye(3, dtype=np.float32)[labels[text]]  # what a person said, and what the judge makes of it
        soft = np.concatenate([soft, says])
        (out / "feelings.txt").write_text("".join(t + "\n" for t in texts[: len(soft)]), "utf-8")
        np.save(judged, soft)
        print(f"{len(soft)} of {len(texts)} texts with probabilities; {time.time() - since:.0f} s", flush=True)


if __name__ == "__main__":
    main()
