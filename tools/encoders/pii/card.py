"""Writes README.md of the package wattn-pii from the report that export.py left and the scores of judge.mjs."""

import argparse
import json
from pathlib import Path

NAMES = {"wattn-pii": "wattn-pii alone", "rules": "rules alone", "rules and wattn-pii": "rules and wattn-pii", "en_core_web_sm": "spaCy's en_core_web_sm"}
KINDS = ("PER", "ADDRESS", "USERNAME", "BIRTH_DATE", "ID", "EMAIL", "PHONE")


def everyday_rows(scores):
    rows = []
    for key, name in NAMES.items():
        if key in scores and "everyday" in scores[key]:
            s = scores[key]["everyday"]
            rows.append(f"| {name} | {s['recall']:.3f} | {s['precision']:.3f} | {s['strict']['recall']:.3f}, {s['strict']['precision']:.3f} |")
    return "\n".join(["| | recall | precision | exact spans: recall, precision |", "|---|---|---|---|", *rows])


def label_rows(scores):
    who = [key for key in NAMES if key in scores and "everyday" in scores[key]]
    rows = []
    for kind in KINDS:
        there = scores[who[0]]["everyday"]["labels"][kind][1]
        rows.append(f"| `{kind}` | {there} | " + " | ".join(f"{scores[key]['everyday']['labels'][kind][0]:.2f}" for key in who) + " |")
    return "\n".join(["| recall of | there | " + " | ".join(NAMES[key] for key in who) + " |", "|---|---|" + "---|" * len(who), *rows])


def wnut_rows(scores):
    rows = []
    for key in ("wattn-pii", "en_core_web_sm"):
        if key in scores:
            s = scores[key]["wnut17_test"]
            rows.append(f"| {NAMES[key]} | " + " | ".join(f"{s[part]['f1']:.3f} ({s[part]['precision']:.2f}, {s[part]['recall']:.2f})" for part in ("persons and places", "persons", "places")) + " |")
    return "\n".join(["| F1 (precision, recall) | persons and places | persons | places |", "|---|---|---|---|", *rows])


def curve(report):
    log = report["log"]
    wanted = sorted({*range(0, len(log), max(1, len(log) // 6)), len(log) - 1})
    rows = [(log[i]["step"], log[i]["loss"], log[i]["dev"]) for i in wanted]
    cell = lambda dev, name: f"{dev[name]['all'][0]:.3f}"
    return "\n".join(
        ["| step | loss | made texts | Broad Twitter Corpus, dev | WNUT-17, dev |", "|---|---|---|---|---|"]
        + [f"| {step:,} | {loss:.3f} | {cell(dev, 'made')} | {cell(dev, 'btc')} | {cell(dev, 'wnut')} |" for step, loss, dev in rows]
    )


def card(report, scores, notes):
    both = scores["rules and wattn-pii"]
    layers = report["layers"]
    return f"""# wattn-pii

Finds what identifies people in English texts, in {report['bytes'] / 1e6:.2f} MB, for [wattn](https://www.npmjs.com/package/wattn): names, addresses, user names, birth dates, ids, and also organisations and places.
It is for redaction on the device, beside wattn's rules.

```sh
npm install wattn wattn-pii
```

```js
import {{ pipeline, redact }} from 'wattn';
import model from 'wattn-pii'; // the URL of the file, which bundlers include

const find = await pipeline('token-classification', model);
const {{ text, map }} = await redact(find, 'This is Katarina Novotna, my member number is 4471-0923.', {{ labels: ['PER', 'ADDRESS', 'USERNAME', 'BIRTH_DATE', 'ID'] }});
```

In Node the name is enough: `pipeline('token-classification', 'wattn-pii')`. Only wattn reads the file.

BERT with {len(layers)} layers of wattn-base (numbers {', '.join(map(str, layers))}, from 0), width 384, 12 heads, a feed-forward width of 1,536, at most 256 tokens at once: {report['parameters']:,} parameters.
Licence: Apache-2.0. SHA-256: `{report['sha256']}`.

## Labels

| label | what |
|---|---|
| `PER` | names of people, first names alone too, without titles |
| `ADDRESS` | streets with numbers, and what follows |
| `USERNAME` | names of accounts and handles |
| `BIRTH_DATE` | dates of birth, but no others |
| `ID` | numbers of people and their accounts: customers, members, patients, passports, bank accounts, number plates; no numbers of orders and tickets |
| `EMAIL`, `PHONE` | the rules find these better |
| `ORG`, `LOC` | organisations, and places without a street |

## Scores

500 everyday texts (mails, chats, notes, logs, forms, tickets; `tests/fixtures/pii` in wattn's repository), written one by one before the templates and before training, and judged once, when the
model was done. The same author wrote texts and templates, which may flatter the figures. Recall: the share of what identifies a person that is wholly covered, whatever the label.
Precision: the share of findings that touch any of it. `redact(find, text, {{ labels }})` with all labels but `ORG` and `LOC`:

{everyday_rows(scores)}

With all labels, as `redact(find, text)` has them, names that the model takes for an organisation are covered, too: recall {both['everyday_all_labels']['recall']:.3f}; {both['everyday_all_labels']['precision']:.3f} of all findings touch something that is marked.
The aims were a recall of 0.92, which is reached, and a precision of 0.85, which is not.

{label_rows(scores)}

spaCy's model (3.8.0, 12 MB) has labels for people, but none for the other kinds: its first row is what to compare.

WNUT-17's test set, exact spans with the right label, which no choice was made by. It asks for rare names in tweets and comments. The aim was 0.50 for persons and places.

{wnut_rows(scores)}

{notes}

## How it was made

By the scripts in wattn's `tools/encoders/pii` (README there). The base reads lower case only, so the tokenizer puts a mark before each word with a capital letter. {report['steps']:,} steps of 2,048 tokens
over 50,000 of the texts below, drawn by chance, some 17 minutes of one CPU core; after three fifths of them the matrices were rounded to q4_0 by GPTQ (Frantar et al. 2022) and trained on with the rounding in the loop. Positions were rounded to q8_0. At the end {report['o_bias']:g} was added to the
bias of "no entity", chosen on the dev sets, as a name that is missed costs more than a word too many. F1 of exact spans on the way, all labels of each set:

{curve(report)}

Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

| source | licence | what |
|---|---|---|
| wattn's templates, Faker's locales | Apache-2.0; Faker is MIT | {report['parts']['templates']:,} texts |
| Broad Twitter Corpus, train | CC BY 4.0 | {report['parts']['btc'] // 3:,} texts, three times |
| WNUT-17, train | CC BY 4.0 | {report['parts']['wnut'] // 5:,} texts, five times |
| Tatoeba, English side, with other names for Tom, Mary and others | CC BY 2.0 FR | {report['parts']['named']:,} sentences |
| Tatoeba and SNLI dev and test, without names | CC BY 2.0 FR, CC BY-SA 4.0 | {report['parts']['plain']:,} sentences |
"""


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, type=Path, help="the .gguf that export.py wrote")
    p.add_argument("--scores", required=True, type=Path, help="what judge.mjs wrote")
    a = p.parse_args()
    report = json.loads(a.model.with_suffix(".json").read_text("utf-8"))
    notes = (Path(__file__).parent / "notes.md").read_text("utf-8").strip()
    (a.model.parent / "README.md").write_text(card(report, json.loads(a.scores.read_text("utf-8")), notes), "utf-8")
