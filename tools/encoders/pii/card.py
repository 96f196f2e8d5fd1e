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
    return "\n".join(["| recall of | in the texts | " + " | ".join(NAMES[key] for key in who) + " |", "|---|---|" + "---|" * len(who), *rows])


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
        ["| step | loss | texts from templates | Broad Twitter Corpus, dev | WNUT-17, dev |", "|---|---|---|---|---|"]
        + [f"| {step:,} | {loss:.3f} | {cell(dev, 'made')} | {cell(dev, 'btc')} | {cell(dev, 'wnut')} |" for step, loss, dev in rows]
    )


def card(report, scores, notes):
    both = scores["rules and wattn-pii"]
    layers = report["layers"]
    return f"""# wattn-pii

Find and redact personal data in English texts, on the device. This model for [wattn](https://www.npmjs.com/package/wattn) has {report['bytes'] / 1e6:.2f} MB and finds names, addresses, user names, birth dates and ids, and also organisations and places.
Use it together with wattn's redaction rules.

```sh
npm install wattn wattn-pii
```

```js
import {{ pipeline, redact }} from 'wattn';
import model from 'wattn-pii'; // the URL of the file, which bundlers include

const find = await pipeline('token-classification', model);
const {{ text, map }} = await redact(find, 'This is Katarina Novotna, my member number is 4471-0923.', {{ labels: ['PER', 'ADDRESS', 'USERNAME', 'BIRTH_DATE', 'ID'] }});
```

In Node, pass the name: `pipeline('token-classification', 'wattn-pii')`. Only wattn can read the file.

BERT with {len(layers)} of wattn-base's layers (numbers {', '.join(map(str, layers))}, from 0), width 384, 12 heads, a feed-forward width of 1,536, at most 256 tokens at once: {report['parameters']:,} parameters.
Licence: Apache-2.0. SHA-256: `{report['sha256']}`.

## Labels

| label | what it marks |
|---|---|
| `PER` | names of people, including first names alone, without titles |
| `ADDRESS` | streets with house numbers, and the rest of the address |
| `USERNAME` | account names and handles |
| `BIRTH_DATE` | dates of birth, but no other dates |
| `ID` | numbers of people and their accounts (customer, member, patient, passport, bank account, number plate), but not of orders and tickets |
| `EMAIL`, `PHONE` | email addresses and phone numbers; the rules find these better |
| `ORG`, `LOC` | organisations, and places without a street |

## Scores

The test set has 500 everyday texts (mails, chats, notes, logs, forms, tickets; `tests/fixtures/pii` in wattn's repository). They were written one by one before the templates and before training, and used once, when the
model was finished. The same author wrote texts and templates, which may make the figures too good.

- **Recall**: the share of personal data that is completely covered, whatever the label.
- **Precision**: the share of findings that overlap personal data.

With `redact(find, text, {{ labels }})` and all labels except `ORG` and `LOC`:

{everyday_rows(scores)}

`redact(find, text)` uses all labels, so it also covers names that the model mistakes for an organisation: recall is {both['everyday_all_labels']['recall']:.3f}, and {both['everyday_all_labels']['precision']:.3f} of all findings overlap a marked span.
The targets were a recall of 0.92, which was reached, and a precision of 0.85, which was missed.

{label_rows(scores)}

spaCy's model (3.8.0, 12 MB) has a label for people, but none for the other kinds. Compare it only in the row `PER`.

WNUT-17's test set has rare names in tweets and comments. A span counts if it is exact and has the right label. No decision was based on this set. The target was 0.50 for persons and places.

{wnut_rows(scores)}

{notes}

## How it was made

It was made with the scripts in wattn's `tools/encoders/pii`; their README has the details. wattn-base reads lower case only, so the tokenizer puts a marker before each capitalised word. Training took {report['steps']:,} steps of 2,048 tokens,
about 17 minutes on one CPU core, over 50,000 texts drawn at random from the sources below. After three fifths of the steps, the matrices were rounded to q4_0 with GPTQ (Frantar et al. 2022) and trained further with rounding applied in every step.
Positions were rounded to q8_0. At the end, {report['o_bias']:g} was added to the bias of "no entity". That value was selected on the dev sets, because a missed name costs more than a wrong finding.

F1 of exact spans during training, with all labels of each set:

{curve(report)}

Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

| source | licence | amount |
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
