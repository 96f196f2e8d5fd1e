"""What an edition says of the sentiment of texts, so that the next one keeps it: feelings.txt and feelings.npy for train.py, held_out.json for export.py.

The target is the edition's probabilities. Half of it is the label where people gave one (sentence polarity, pros and cons, GoEmotions), and NEUTRAL where the source states facts
(captions, encyclopedia, glosses, requests, package descriptions, textbooks).
"""

import argparse
import json
import random
import re
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import BertModel

from corpus import Overlap, Reader, clean, evaluation_texts
from gguf_bert import pieces_in, read_gguf
from made_texts import made
from pieces import EMOJI, cut_tokenizer
from sentiment import BLAME, EMOTIONS, NEGATIVE, NEUTRAL, POSITIVE, PRAISE
from student import make_student, shape_rounded
from train import RECIPES, sentiment_logits

SPOKEN = {"Tatoeba": 12000, "Movie reviews": 12000, "Sentence polarity": 14000, "Product reviews": 15000, "MASC": 4000, "SMS spam": 9000}
PLAIN = {"SNLI": 7000, "Wikipedia": 4000, "WordNet": 5000, "SNIPS": 5000, "Debian": 4000, "OpenStax": 4000}
COMMENTS = {POSITIVE: 7000, NEGATIVE: 7000, NEUTRAL: 7000}  # of GoEmotions
WITH_EMOJI, MADE = 8000, 20000
LONGEST = 240  # characters
HELD_OUT = 20  # one in so many texts with a label is not trained on


def drawn(folder, wanted):
    """{text: the beginning of its source's name} of corpus.txt."""
    names = [source["name"] for source in json.loads((folder / "corpus.json").read_text())]
    left, out = dict(wanted), {}
    sources = (folder / "corpus_sources.txt").read_text().split()
    for text, source in zip((folder / "corpus.txt").read_text("utf-8").splitlines(), sources):
        kind = next((k for k in left if names[int(source)].startswith(k)), None)
        if kind and len(text) < LONGEST and left[kind] > 0:
            left[kind] -= 1
            out[text] = kind
    return out


def labels(reader):
    """{text: label} of people."""
    out = {}
    for path, text in reader.zipped("sentence_polarity"):
        out |= {clean(line): POSITIVE if path.endswith(".pos") else NEGATIVE for line in text.splitlines()}
    for path, text in reader.zipped("pros_cons", ".txt"):
        out |= {clean(t): POSITIVE if "Pros" in path else NEGATIVE for t in re.findall(r"<(?:Pros|Cons)>(.*?)</", text)}
    return out


def comments(reader, overlap):
    """{text: label} of GoEmotions' comments with one kind of feeling, not those of its test set."""
    left, out = dict(COMMENTS), {}
    lines = [line.split("\t") for path, text in reader.zipped("goemotions") if "test" not in path for line in text.splitlines()]
    random.Random(4).shuffle(lines)
    for comment, numbers, _ in lines:
        felt, text = {EMOTIONS[int(n)] for n in numbers.split(",")}, clean(comment)
        label = POSITIVE if felt <= PRAISE else NEGATIVE if felt <= BLAME else NEUTRAL if felt == {"neutral"} else None
        if label is not None and left[label] > 0 and len(text) > 2 and not overlap(text):
            left[label] -= 1
            out[text] = label
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--nltk", required=True)
    p.add_argument("--teacher", required=True, help="the folder of all-MiniLM-L6-v2: the shape of the edition, and its tokenizer")
    p.add_argument("--edition", required=True, help="the .gguf of the edition to keep")
    p.add_argument("--texts", required=True, help="the folder of corpus.txt, to write into")
    a = p.parse_args()
    out, rng = Path(a.texts), random.Random(9)
    spoken, plain = drawn(out, SPOKEN), drawn(out, PLAIN)
    reader, overlap = Reader(a.data, a.nltk), Overlap(evaluation_texts(a.data))
    said = comments(reader, overlap)
    known = labels(reader) | said
    polar = [t for t in spoken if t in known]
    held_out = polar[: len(polar) // HELD_OUT]
    for text in held_out:
        del spoken[text]
    (out / "held_out.json").write_text(json.dumps({"sentences": [(text, known[text]) for text in held_out]}))  # export.py sets the head's threshold by these
    polar = polar[len(held_out) :]
    short = [t for t in [*spoken, *plain] if len(t) < 60]
    emoji = [f"{'' if rng.random() < 0.1 else rng.choice(short)} {rng.choice(EMOJI) * rng.choice((1, 1, 1, 2, 3))}".strip() for _ in range(WITH_EMOJI)]
    texts = list(dict.fromkeys([*spoken, *plain, *said, *emoji, *made(polar, MADE, [*spoken], rng, overlap)]))
    rng.shuffle(texts)
    whole = Path(a.teacher) / "tokenizer.json"
    kept = [Tokenizer.from_file(str(whole)).token_to_id(piece) for piece in pieces_in(a.edition, EMOJI)]
    cut_tokenizer(whole, out / "edition.json", kept, EMOJI)
    tokenizer = Tokenizer.from_file(str(out / "edition.json"))
    student = make_student(BertModel.from_pretrained(a.teacher, add_pooling_layer=False), tokenizer.get_vocab_size(), RECIPES["search"])
    shape_rounded(student)
    read_gguf(a.edition, student)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # less padding
    says = np.empty((len(texts), 3), np.float32)
    says[order] = torch.softmax(sentiment_logits(student, tokenizer, [texts[i] for i in order]), 1).numpy()
    for row, text in zip(says, texts):
        label = NEUTRAL if text in plain else known.get(text)
        if label is not None:
            row[:] = 0.5 * row + 0.5 * np.eye(3, dtype=np.float32)[label]
    (out / "feelings.txt").write_text("".join(f"{t}\n" for t in texts), "utf-8")
    np.save(out / "feelings.npy", says)
    print(f"{len(texts)} texts, {len(polar) + len(said)} with a label; shares {np.bincount(says.argmax(1)) / len(texts)}")


if __name__ == "__main__":
    main()
