"""Gathers the text that wattn-base learns from: the sources of the default model (tools/default_model/corpus.py) and OpenStax's textbooks.

What its evaluation sets share with them is taken out: those of the default model, and the retrieval sets and the test texts of TREC, HWU64 and SNIPS.
"""

import argparse
import csv
import html
import json
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "default_model"))
import corpus as shared  # noqa: E402


BOOKS = {
    "american-government": "5c90dd79",
    "anatomy-physiology": "b0058a74",
    "astronomy": "63157f37",
    "chemistry-bundle": "32c71962",
    "college-physics-bundle": "f98d7a79",
    "introduction-anthropology": "418eedd9",
    "introduction-philosophy": "d7bd4f0f",
    "introduction-sociology": "d35d5f3b",
    "microbiology": "ecf34dad",
    "psychology": "e061043b",
    "us-history": "046331cf",
}


def textbooks(folder):
    """OpenStax's paragraphs, whole and in windows of sentences. folder: NAME/modules/*/index.cnxml of each of BOOKS, at that commit."""
    rng = random.Random(1)
    for book in BOOKS:
        paths = sorted((Path(folder) / f"osbooks-{book}").rglob("*.cnxml"))
        if not paths:
            raise FileNotFoundError(f"{folder}/osbooks-{book}: expected .cnxml files, found none")
        for path in paths:
            text = re.sub(r"(?s)<m:math.*?</m:math>|<metadata.*?</metadata>|<note.*?>|<link[^>]*/>", " ", path.read_text("utf-8"))
            for body in re.findall(r"(?s)<para[^>]*>(.*?)</para>", text):
                plain = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", body))).strip()
                yield plain
                yield from shared.windows([s for s in shared.sentences(plain) if s], rng)


def evaluation_texts(data):
    yield from shared.evaluation_texts(data)
    data = Path(data)
    for name in ("cisi", "med"):
        for part in ("corpus", "queries"):
            for line in (data / f"retrieval/{name}/{part}.jsonl").read_text("utf-8").splitlines():
                row = json.loads(line)
                yield f"{row.get('title', '')} {row['text']}"
    for path in sorted((data / "classification/trec").rglob("*")):
        if path.is_file():
            yield from (line.split(" ", 1)[-1] for line in path.read_text("latin-1").splitlines())
    rows = csv.reader((data / "classification/hwu64/kfold1.test.tsv").read_text("utf-8").splitlines(), delimiter="\t")
    yield from (row[0] for row in rows if row)
    for path in sorted((data / "classification/snips").glob("validate_*.json")):
        for item in next(iter(json.loads(path.read_bytes().decode("utf-8", "replace")).values())):
            yield "".join(part["text"] for part in item["data"])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True, help="the folder of data sets (classification/, pairs/, retrieval/, text/, ...)")
    p.add_argument("--nltk", required=True, help="a folder with the .zip files of nltk_data's packages/corpora")
    p.add_argument("--openstax", required=True, help="a folder with the repositories openstax/osbooks-NAME at the commits in BOOKS (CC BY 4.0)")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    Path(a.out).mkdir(parents=True, exist_ok=True)
    shared.MOST = 1000  # characters: abstracts and paragraphs are longer than the default model's texts
    listed = shared.sources(a.data, a.nltk)
    listed.append(shared.Source("OpenStax textbooks", "CC BY 4.0", ", ".join(f"osbooks-{n}@{c}" for n, c in BOOKS.items()), 90000, lambda: textbooks(a.openstax)))
    shared.gather(listed, shared.Overlap(evaluation_texts(a.data)), Path(a.out))


if __name__ == "__main__":
    main()
