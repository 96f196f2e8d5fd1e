#!/usr/bin/env python3
"""Compares Word2Vec.train with gensim on the same text and settings: Spearman with human similarities (wordsim353, simlex999, which come with
gensim), and words per second of processor time. Build first (npm run build).

    .venv/bin/python tools/check_word2vec.py TEXT... [--modes sg cbow] [--seeds 3]
"""
import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"
from gensim.models import KeyedVectors, Word2Vec
from gensim.test.utils import datapath

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODES = {"sg": {"sg": 1}, "cbow": {"sg": 0}, "hs": {"sg": 1, "hs": 1, "negative": 0}, "cbow-hs": {"sg": 0, "hs": 1, "negative": 0}}
OURS = """
import { Word2Vec } from '%s';
import { readFileSync, writeFileSync } from 'node:fs';
const [text, out, options] = process.argv.slice(2);
const sentences = readFileSync(text, 'utf8').split('\\n').map((line) => line.split(' '));
const before = process.cpuUsage();
const model = await Word2Vec.train(sentences, JSON.parse(options));
const { user, system } = process.cpuUsage(before);
writeFileSync(out, model.save());
console.log((user + system) / 1e6);
"""


def quality(vectors):
    return [vectors.evaluate_word_pairs(datapath(name), case_insensitive=True)[1][0] for name in ("wordsim353.tsv", "simlex999.txt")]


def seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=pathlib.Path, help="plain text, paragraphs apart by empty lines")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["sg", "cbow"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    paragraphs = [re.findall(r"[a-z]+", part) for path in options.texts for part in re.split(r"\n\s*\n", path.read_text("utf8").lower())]
    sentences = [words for words in paragraphs if len(words) > 1]
    total = sum(map(len, sentences)) * options.epochs
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        text, script, out = (pathlib.Path(folder) / name for name in ("text.txt", "ours.mjs", "vectors.txt"))
        text.write_text("\n".join(" ".join(words) for words in sentences))
        script.write_text(OURS % (ROOT / "dist/node.js").as_uri())
        for mode in options.modes:
            rows = {"gensim": [], "wattn": []}
            for seed in range(1, options.seeds + 1):
                model = Word2Vec(vector_size=100, window=5, min_count=5, workers=1, seed=seed, epochs=options.epochs, **MODES[mode])
                model.build_vocab(sentences)
                begin = seconds()
                model.train(sentences, total_examples=model.corpus_count, epochs=options.epochs)
                rows["gensim"].append([*quality(model.wv), total / (seconds() - begin)])
                js = {key: (bool(value) if key in ("sg", "hs") else value) for key, value in MODES[mode].items()} | {"seed": seed, "epochs": options.epochs}
                used = subprocess.run(["node", script, text, out, json.dumps(js)], check=True, capture_output=True, text=True).stdout
                rows["wattn"].append([*quality(KeyedVectors.load_word2vec_format(out)), total / float(used)])
            means = {who: [statistics.fmean(column) for column in zip(*values)] for who, values in rows.items()}
            for who, (ws, sl, speed) in means.items():
                print(f"{mode:8} {who:7} wordsim353 {ws:.4f}  simlex999 {sl:.4f}  {speed / 1e3:.0f}k words/s of processor time")
            failed |= any(means["wattn"][i] < means["gensim"][i] - 0.02 for i in (0, 1))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
