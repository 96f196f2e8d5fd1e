"""Queries and passages from the training corpora, with the teacher's embeddings of both: what a model learns search by.

No labels are needed: what the teacher makes of a query and of the passages near it is the lesson. Queries are titles, headings, questions, first sentences and words with
their synonyms. Passages are paragraphs of the textbooks and Wikipedia, and runs of sentences. What shares text with an evaluation set is left out, as in corpus.py.
"""

import argparse
import json
import random
import re
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import BertModel

from corpus import Overlap, Reader, clean, evaluation_texts, letters, sentences, wikitext
from padding import pad
from student import pooled

SHORTEST, LONGEST = 160, 1200  # characters of a passage
MOST_TOKENS = 256
QUERY = 150  # characters at most
NEAR, ASKED = 24, 4  # passages near a passage, queries near it
SEEDS, PASSAGES = 2, 12  # of a step: so many passages, near so many of them
TEMPERATURE = 0.05  # of the cosines in a query's distribution


def sections(reader):
    """(title, paragraphs) of the textbooks' sections and of Wikipedia's."""
    yield from reader.titled_modules()
    title, paragraphs = "", []
    for line in reader.lines("text/wikitext2/wiki.valid.raw", "text/wikitext2/wiki.test.raw"):
        heading = re.fullmatch(r"\s*=[ =]*(.*?)[ =]*=\s*", line)
        if heading:
            yield title, paragraphs
            title, paragraphs = wikitext(heading[1]), []
        elif line.strip():
            paragraphs.append(wikitext(line.strip()))
    yield title, paragraphs


def gather(reader, overlap, counts):
    """([query], [passage]), each drawn by seed."""
    queries, passages = {"titles": [], "questions": [], "first sentences": [], "words": []}, {"paragraphs": [], "runs": []}
    for title, paragraphs in sections(reader):
        queries["titles"].append(title)
        for paragraph in paragraphs:
            parts = [s for s in sentences(paragraph) if s]
            queries["questions"] += [s for s in parts if s.endswith("?")]
            queries["first sentences"] += parts[:1]
            passages["paragraphs"].append(paragraph)
    passages["runs"] = [text for text in reader.passages()]
    queries["questions"] += [t for t in reader.tatoeba() if t.endswith("?")][:20000:8]
    queries["words"] = [t for t in reader.wordnet() if ":" not in t and len(t) < 60]
    rng, seen = random.Random(1), set()

    def some(kinds, is_wanted, cut):
        for kind, texts in kinds.items():
            rng.shuffle(texts)
            kept = []
            for text in map(cut, texts):
                key = letters(text)
                if len(kept) < counts[kind] and is_wanted(text) and key not in seen and not overlap(text):
                    seen.add(key)
                    kept.append(text)
            print(f"{len(kept):7d} {kind}", flush=True)
            yield from kept

    return (
        list(some(queries, lambda t: 3 < len(t) <= QUERY and re.search("[a-z]", t), clean)),
        list(some(passages, lambda t: len(t) >= SHORTEST, lambda t: clean(t, LONGEST))),
    )


@torch.inference_mode()
def embeddings(teacher, tokenizer, texts, pooling="mean"):
    """[texts, width] as float32, of unit length."""
    ids = [e.ids for e in tokenizer.encode_batch(texts)]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    out = np.empty((len(ids), teacher.config.hidden_size), np.float32)
    for at in range(0, len(order), 16):
        part = order[at : at + 16]
        batch, mask = pad([ids[i] for i in part])
        out[part] = pooled(teacher(batch, attention_mask=mask).last_hidden_state, mask, pooling).numpy()
    return out


class Searches:
    """What a step of search sees: passages near one another, by the teacher, and the queries nearest to them. A function of the step and the seed alone."""

    def __init__(self, folder, cut, seed):
        texts, vectors = json.loads((folder / "pairs.json").read_text("utf-8")), np.load(folder / "pairs.npz")
        self.ids = {kind: cut(texts[kind]) for kind in ("queries", "passages")}
        self.vectors = {kind: torch.from_numpy(vectors[kind]) for kind in self.ids}
        self.seed = seed
        passages = self.vectors["passages"]
        self.near, self.asked = [], []
        for rows in passages.split(1024):
            self.near.append((rows @ passages.T).topk(NEAR).indices)  # itself among them
            self.asked.append((rows @ self.vectors["queries"].T).topk(ASKED).indices)
        self.near, self.asked = torch.cat(self.near).numpy(), torch.cat(self.asked).numpy()

    def __call__(self, step):
        """{kind: rows}."""
        rng = np.random.default_rng((self.seed, step, 2))
        seeds = rng.choice(len(self.near), SEEDS, replace=False)
        passages = np.unique(np.concatenate([rng.choice(self.near[i], PASSAGES // SEEDS, replace=False) for i in seeds]))
        queries = np.unique([rng.choice(self.asked[i]) for i in passages])
        return {"queries": queries, "passages": passages}

    def loss(self, vectors_of, step):
        """vectors_of(ids): the student's. The distance to the teacher's vectors, the squared difference of all cosines, and the divergence of each query's
        distribution over the passages."""
        rows = self(step)
        mine = {kind: vectors_of([self.ids[kind][i] for i in rows[kind]]) for kind in rows}
        goal = {kind: self.vectors[kind][torch.from_numpy(rows[kind])] for kind in rows}
        a, b = (torch.cat([vectors["queries"], vectors["passages"]]) for vectors in (mine, goal))
        relations = (a @ a.T - b @ b.T).square().mean()
        asked, known = (vectors["queries"] @ vectors["passages"].T / TEMPERATURE for vectors in (mine, goal))
        ranking = F.kl_div(asked.log_softmax(1), known.log_softmax(1), reduction="batchmean", log_target=True)
        return (1 - (a * b).sum(1)).mean(), relations, ranking


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--nltk", required=True)
    p.add_argument("--openstax", required=True)
    p.add_argument("--teacher", required=True, help="the folder of all-MiniLM-L6-v2")
    p.add_argument("--texts", required=True, help="the folder to write pairs.json and pairs.npz into")
    p.add_argument("--threads", type=int, default=torch.get_num_threads())
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    counts = {"titles": 4000, "questions": 8000, "first sentences": 6000, "words": 4000, "paragraphs": 6000, "runs": 3000}
    queries, passages = gather(Reader(a.data, a.nltk, a.openstax), Overlap(evaluation_texts(a.data)), counts)
    tokenizer = Tokenizer.from_file(str(Path(a.teacher) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)
    teacher = BertModel.from_pretrained(a.teacher, add_pooling_layer=False).eval()
    out = Path(a.texts)
    (out / "pairs.json").write_text(json.dumps({"queries": queries, "passages": passages}, ensure_ascii=False), "utf-8")
    np.savez(out / "pairs.npz", queries=embeddings(teacher, tokenizer, queries), passages=embeddings(teacher, tokenizer, passages))


if __name__ == "__main__":
    main()
