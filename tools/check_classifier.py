#!/usr/bin/env python3
"""Compares Classifier.fit with scikit-learn's LogisticRegressionCV on the same vectors of TREC, HWU64 and SNIPS: accuracy, expected calibration
error (15 bins) on the test set, and processor time; then one fit at a given C. "floor" is the error that scores as sure as ours would have on
so few examples if they were perfectly calibrated. Build first (npm run build).

    .venv/bin/python tools/check_classifier.py DATA/classification [--model DIR] [--per 8 32 0] [--seeds 5]
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

warnings.filterwarnings("ignore", category=FutureWarning)  # of scikit-learn's defaults
ROOT = pathlib.Path(__file__).resolve().parents[1]
BINS = 15
# A line in, a line out: { embed: texts, to } writes their vectors; { fit: file, rows, labels, options, test } fits and judges.
OURS = """
import { Classifier, pipeline, Tensor } from '%s';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const embed = await pipeline('feature-extraction', %s, { dtype: 'q8' });
const read = ({ file, dim }) => {
  const bytes = readFileSync(file);
  return new Tensor('float32', new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4), [bytes.length / 4 / dim, dim]);
};
for await (const line of createInterface(process.stdin)) {
  const { texts, to, vectors, labels, options, test } = JSON.parse(line);
  if (texts) {
    const { data, dims } = await embed(texts);
    writeFileSync(to, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    console.log(JSON.stringify(dims[1]));
    continue;
  }
  const given = read(vectors);
  const before = process.cpuUsage();
  const classifier = await Classifier.fit(embed, given, labels, options);
  const { user, system } = process.cpuUsage(before);
  const answers = test ? await classifier(read(test)) : [];
  console.log(JSON.stringify({ seconds: (user + system) / 1e6, answers, C: classifier.C, temperature: classifier.temperature }));
}
"""


def sets(data):
    def lines(name, encoding="utf8"):
        return (data / name).read_text(encoding).rstrip("\n").split("\n")

    def trec(name):
        return [tuple(reversed(line.split(" ", 1))) for line in lines(f"trec/TREC.{name}.all", "latin1")]

    def hwu(name, separator):
        return [tuple(part.strip() for part in line.rsplit(separator, 1)) for line in lines(f"hwu64/{name}")]

    def snips(prefix, suffix):
        out = []
        for path in sorted((data / "snips").glob(f"{prefix}_*{suffix}.json")):
            for intent, examples in json.loads(path.read_bytes().decode("utf8", "replace")).items():
                out += [("".join(part["text"] for part in example["data"]), intent) for example in examples]
        return out

    return {
        "TREC": (trec("train"), trec("test")),
        "HWU64": (hwu("kfold1.train.csv", ","), hwu("kfold1.test.tsv", "\t")),
        "SNIPS": (snips("train", "_full"), snips("validate", "")),
    }


def draw(labels, per, seed):
    """Rows of up to per examples of each label (0: all), in a random order."""
    order = np.random.default_rng(seed).permutation(len(labels))
    seen = {}
    for row in order:
        seen.setdefault(labels[row], []).append(row)
    kept = {row for rows in seen.values() for row in (rows[:per] if per else rows)}
    return [int(row) for row in order if row in kept]


def calibration_error(confidence, right):
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return sum(abs(confidence[bins == b].sum() - right[bins == b].sum()) for b in range(BINS)) / len(right)


def seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def timed(run):
    begin = seconds()
    out = run()
    return out, seconds() - begin


class Ours:
    def __init__(self, folder, model):
        script = folder / "ours.mjs"
        script.write_text(OURS % ((ROOT / "dist/node.js").as_uri(), json.dumps(model)))
        self.folder = folder
        self.process = subprocess.Popen(["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def embed(self, texts):
        to = self.folder / "vectors.f32"
        dim = self.ask(texts=texts, to=str(to))
        return np.fromfile(to, np.float32).reshape(-1, dim)

    def fit(self, vectors, labels, test=None, options=None):
        def save(name, rows):
            path = self.folder / name
            rows.astype(np.float32).tofile(path)
            return {"file": str(path), "dim": rows.shape[1]}

        tested = {} if test is None else {"test": save("test.f32", test)}
        return self.ask(vectors=save("train.f32", vectors), labels=list(labels), options=options or {}, **tested)


def compare(ours, name, train, test, options):
    (texts, labels), (test_texts, test_labels) = zip(*train), zip(*test)
    vectors, test_vectors, test_labels = ours.embed(texts), ours.embed(test_texts), np.array(test_labels)
    generator = np.random.default_rng(0)
    failed = False
    for per in options.per:
        rows = []
        for seed in range(options.seeds if per else 1):
            chosen = draw(labels, per, seed)
            own_labels = [labels[row] for row in chosen]
            result = ours.fit(vectors[chosen], own_labels, test_vectors)
            found = np.array([answer["label"] for answer in result["answers"]])
            confidence = np.array([answer["score"] for answer in result["answers"]])
            drawn = generator.random((200, len(confidence))) < confidence
            x = vectors[chosen].astype(np.float64)
            model, used = timed(lambda: LogisticRegressionCV(cv=5, max_iter=1000).fit(x, own_labels))
            scores = model.predict_proba(test_vectors)
            right = model.classes_[scores.argmax(1)] == test_labels
            rows.append([
                (found == test_labels).mean() * 100, right.mean() * 100,
                calibration_error(confidence, found == test_labels), calibration_error(scores.max(1), right),
                np.mean([calibration_error(confidence, one) for one in drawn]), result["seconds"], used, np.log10(result["C"]),
            ])
        ours_right, theirs_right, error, their_error, floor, *_ = np.mean(rows, 0)
        ours_time, their_time = np.median(rows, 0)[5:7]
        print(f"| {name} | {per or 'all'} | {ours_right:.1f} | {theirs_right:.1f} | {error:.3f} | {their_error:.3f} | {floor:.3f} | "
              f"{ours_time:.2f} | {their_time:.2f} | {ours_time / their_time:.1f} | {np.mean(rows, 0)[7]:.1f} |", flush=True)
        failed |= ours_right < theirs_right - 0.5 or ours_time > 3 * their_time
    return failed


def one_fit(ours):
    generator = np.random.default_rng(0)
    labels = np.arange(616) % 77
    vectors = generator.standard_normal((77, 256))[labels] + 1.3 * generator.standard_normal((616, 256))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    names = [f"{label:02}" for label in labels]
    for c in (1, 100):
        times = []
        for _ in range(9):
            mine = ours.fit(vectors, names, options={"C": c, "calibrate": False})["seconds"]
            times.append([mine, *(timed(lambda: LogisticRegression(C=c, max_iter=1000).fit(vectors.astype(dtype), names))[1]
                                  for dtype in (np.float64, np.float32))])
        print("616 x 256, 77 labels, C = %d: %.3f s; scikit-learn f64 %.3f, f32 %.3f" % (c, *np.median(times, 0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--model", help="default: the model in the package")
    parser.add_argument("--sets", nargs="+", default=["TREC", "HWU64", "SNIPS"])
    parser.add_argument("--per", nargs="+", type=int, default=[8, 32, 0], help="examples of each label; 0: all")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(pathlib.Path(folder), options.model)
        one_fit(ours)
        print("| set | per label | accuracy | LogisticRegressionCV | error | LogisticRegressionCV | floor | s | LogisticRegressionCV | ratio | log C |")
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        data = sets(options.data)
        sys.exit(int(any([compare(ours, name, *data[name], options) for name in options.sets])))


if __name__ == "__main__":
    main()
