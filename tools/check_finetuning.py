#!/usr/bin/env python3
"""Compares the quality of fine-tuned models with Python: wattn and torch begin with the same weights, train on the same batches, and are evaluated
on the same test set. NER (WNUT-17): a head of tags on all layers, against transformers' AutoModelForTokenClassification; F1 of entities. STS-B:
sentence-transformers' own CoSENTLoss over its own vectors; Spearman's correlation. SST-2's sentences: a head of two labels on all layers,
against AutoModelForSequenceClassification; accuracy. TREC with 16 examples a label and HWU64 with 8: SupConLoss on all layers, then a
classifier, which is scikit-learn's LogisticRegressionCV in Python; accuracy. All in float32 on one thread, without dropout, with AdamW. Wanted:
within 0.5 points, of the last two within 1. Python also loads what wattn has saved, and must judge it alike. Build first (npm run build).

    .venv/bin/python tools/check_finetuning.py DATA [--model DIR] [--only ner sts sst trec hwu] [--rows N] [--epochs N] [--seed N]
"""
import argparse
import csv
import json
import pathlib
import sys
import tempfile
import warnings

import sentence_transformers
import torch
import transformers
from check_training import ROOT, loss_of, mean_vectors, run_ours, train_torch
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegressionCV
from sentence_transformers.sentence_transformer.losses import CoSENTLoss

warnings.filterwarnings("ignore", category=FutureWarning)  # of scikit-learn's defaults
NER_LENGTH = 128  # tokens
JUDGED_LENGTH = 512  # whole rows are judged, by both


def read_conll(path):
    """Words and their tags, a sentence each."""
    rows, words, tags = [], [], []
    for line in [*path.read_text("utf8").split("\n"), ""]:
        cells = line.split("\t")
        if len(cells) > 1 and cells[0].strip():
            words.append(cells[0].strip())
            tags.append(cells[1].strip())
        elif words:
            rows.append({"tokens": words, "ner_tags": tags})
            words, tags = [], []
    return rows


def read_sts(path):
    with path.open(encoding="utf8") as file:
        cells = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [{"sentence1": row[5], "sentence2": row[6], "score": float(row[4]) / 5} for row in cells]


def entities(tags):
    """Label, first and last word of each entity of a row's BIO tags."""
    found, begin = set(), None
    for i, tag in enumerate([*tags, "O"]):
        if begin is not None and tag != "I-" + tags[begin][2:]:
            found.add((tags[begin][2:], begin, i - 1))
            begin = None
        if begin is None and tag != "O":
            begin = i
    return found


def f1(found, expected):
    right = sum(len(a & b) for a, b in zip(found, expected))
    return 2 * right / (sum(map(len, found)) + sum(map(len, expected)))


class Ner:
    """Tags of words: of each word the first token counts."""

    columns = "ner"

    def __init__(self, data, given):
        folder = data / "ner/wnut17"
        self.rows = read_conll(folder / "wnut17train.conll")
        self.test = read_conll(folder / "emerging.test.annotated")
        self.options = {"task": "token-classification", "max_length": NER_LENGTH, "learning_rate": 2e-4}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)

    def load(self, folder):
        return transformers.AutoModelForTokenClassification.from_pretrained(folder, attn_implementation="eager").eval()

    def batch(self, rows, label_ids, length=NER_LENGTH):
        batch = self.tokenizer([row["tokens"] for row in rows], is_split_into_words=True, padding=True, truncation=True, max_length=length, return_tensors="pt")  # fmt: skip
        labels = torch.full(batch.input_ids.shape, -100)
        for i, row in enumerate(rows):
            before = None
            for t, word in enumerate(batch.word_ids(i)):
                if word is not None and word != before:
                    labels[i, t] = label_ids[row["ner_tags"][word]]
                before = word
        return batch, labels

    def loss_of_rows(self, model, rows):
        batch, labels = self.batch(rows, model.config.label2id)
        return model(**batch, labels=labels).loss

    def judge(self, model):
        names, found = model.config.id2label, []
        for first in range(0, len(self.test), 32):
            rows = self.test[first : first + 32]
            batch, _ = self.batch(rows, {tag: 0 for row in rows for tag in row["ner_tags"]}, JUDGED_LENGTH)
            with torch.no_grad():
                best = model(**batch).logits.argmax(-1)
            for i, row in enumerate(rows):
                tags = ["O"] * len(row["tokens"])
                words = batch.word_ids(i)
                for t in range(len(words) - 1, -1, -1):
                    if words[t] is not None:
                        tags[words[t]] = names[best[i, t].item()]
                found.append(entities(tags))
        return f1(found, [entities(row["ner_tags"]) for row in self.test])

    def judgement_of(self, evaluation):
        return evaluation["f1"]


class Sts:
    """Scored pairs of sentences."""

    columns = "sts"

    def __init__(self, data, _):
        self.rows, self.test = (read_sts(data / f"pairs/stsb/sts-{part}.csv") for part in ("train", "test"))
        self.options = {"task": "feature-extraction", "loss": "CoSENTLoss", "learning_rate": 5e-5}

    def load(self, folder):
        model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
        self.loss = CoSENTLoss(model)
        return model.eval()

    def loss_of_rows(self, model, rows):
        columns = [model.preprocess([row[column] for row in rows]) for column in ("sentence1", "sentence2")]
        return self.loss(columns, torch.tensor([row["score"] for row in rows]))

    def judge(self, model):
        first, second = (model.encode([row[column] for row in self.test], convert_to_tensor=True) for column in ("sentence1", "sentence2"))
        cosines = torch.nn.functional.cosine_similarity(first, second).tolist()
        return float(spearmanr(cosines, [row["score"] for row in self.test]).statistic)

    def judgement_of(self, evaluation):
        return evaluation["spearman"]


class Sentiment:
    """Sentences with one of two labels."""

    columns = "sst"

    def __init__(self, data, given):
        self.rows, self.test = (self.read(data / f"classification/sst2-sentences/{part}.tsv") for part in ("train", "test"))
        self.options = {"task": "text-classification", "loss": "CrossEntropyLoss", "learning_rate": 5e-5}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)

    def read(self, path):
        lines = path.read_text("utf8").rstrip("\n").split("\n")
        return [{"text": text, "label": {"0": "negative", "1": "positive"}[label.strip()]} for text, label in (line.rsplit("\t", 1) for line in lines)]

    def load(self, folder):
        return transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager").eval()

    def batch(self, rows):
        return self.tokenizer([row["text"] for row in rows], padding=True, truncation=True, max_length=256, return_tensors="pt")

    def loss_of_rows(self, model, rows):
        return model(**self.batch(rows), labels=torch.tensor([model.config.label2id[row["label"]] for row in rows])).loss

    def judge(self, model):
        right = 0
        for first in range(0, len(self.test), 32):
            rows = self.test[first : first + 32]
            with torch.no_grad():
                best = model(**self.batch(rows)).logits.argmax(-1).tolist()
            right += sum(model.config.id2label[i] == row["label"] for i, row in zip(best, rows))
        return right / len(self.test)

    def judgement_of(self, evaluation):
        return evaluation["accuracy"]


class FewShot:
    """The first examples of each label, by SetFit's recipe: contrastive steps, then a classifier on the vectors."""

    size, steps, wanted = 24, 60, 0.01

    def __init__(self, data, given):
        seen = {}
        self.rows, (everything, self.test) = [], self.read(data / "classification")
        for row in everything:
            seen[row["label"]] = seen.get(row["label"], 0) + 1
            if seen[row["label"]] <= self.per_label:
                self.rows.append(row)
        self.options = {"task": "text-classification", "learning_rate": 1e-4}
        self.classified = [row["text"] for row in self.test]
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)

    def load(self, folder):
        return transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager").eval()

    def vectors(self, model, rows):
        return mean_vectors(model, self.tokenizer, [row["text"] for row in rows])

    def loss_of_rows(self, model, rows):
        return loss_of("SupConLoss", self.vectors(model, rows), rows)

    def judge(self, model):
        with torch.no_grad():
            train, test = (torch.cat([self.vectors(model, rows[i : i + 32]) for i in range(0, len(rows), 32)]).numpy() for rows in (self.rows, self.test))
        classifier = LogisticRegressionCV(cv=5, max_iter=1000).fit(train, [row["label"] for row in self.rows])
        return float((classifier.predict(test) == [row["label"] for row in self.test]).mean())


class Trec(FewShot):
    columns, per_label = "trec", 16

    def read(self, folder):
        for part in ("train", "test"):
            lines = (folder / f"trec/TREC.{part}.all").read_text("latin1").rstrip("\n").split("\n")
            yield [{"text": text, "label": label} for label, text in (line.split(" ", 1) for line in lines)]


class Hwu(FewShot):
    columns, per_label, size = "hwu", 8, 64

    def read(self, folder):
        for name, separator in (("kfold1.train.csv", ","), ("kfold1.test.tsv", "\t")):
            lines = (folder / "hwu64" / name).read_text("utf8").rstrip("\n").split("\n")
            yield [{"text": text, "label": label.strip()} for text, label in (line.rsplit(separator, 1) for line in lines)]


def compare(task, given):
    rows = task.rows[: given.rows] if given.rows else task.rows
    size = getattr(task, "size", 16)
    classified = getattr(task, "classified", [])
    steps = getattr(task, "steps", given.epochs * ((len(rows) + size - 1) // size))
    options = {**task.options, "method": "full", "batch_size": size, "max_steps": steps, "seed": given.seed, "threads": 1}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        request = {"model": str(given.model), "options": options, "rows": rows, "texts": [], "classified": classified}
        if not classified:
            request |= {"validation": task.test, "in_any_order": True}
        ours = run_ours(folder, request)
        if classified:
            judged = sum(found == row["label"] for found, row in zip(ours["labels"], task.test)) / len(task.test)
        else:
            judged = task.judgement_of(ours["judged"])
        model = task.load(folder / "begin")
        before = task.judge(model)
        losses, time = train_torch(model, task.loss_of_rows, rows, ours["order"], options)
        theirs = task.judge(model.eval())
        read = task.judge(task.load(folder / "end"))
    differences = [abs(a - b) / abs(b) for a, b in zip(ours["losses"], losses)]
    result = {
        "task": task.columns,
        "rows": len(rows),
        "updates": steps,
        "before": 100 * before,
        "wattn": 100 * judged,
        "python": 100 * theirs,
        "as Python loads wattn's": 100 * read,
        "losses of the first 20": max(differences[:20]),
        "of the last": differences[-1],
        "seconds": ours["seconds"],
        "python's": time,
    }
    print(json.dumps({key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in result.items()}), flush=True)
    wanted = getattr(task, "wanted", 0.005)
    # Two classifiers on the same vectors may differ as much as two runs.
    return abs(judged - theirs) <= wanted and abs(judged - read) <= (wanted if classified else 0.0005)


TASKS = {"ner": Ner, "sts": Sts, "sst": Sentiment, "trec": Trec, "hwu": Hwu}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / ".models/all-MiniLM-L6-v2")
    parser.add_argument("--only", nargs="+", choices=[*TASKS], default=[*TASKS])
    parser.add_argument("--rows", type=int, help="the first rows of the training set; all by default")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    results = [compare(TASKS[name](given.data, given), given) for name in given.only]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
