"""Writes README.md of the package wattn-story from the report that export.py left and the figures of score.mjs."""

import argparse
import json
import math
from pathlib import Path

import corpus

OTHERS = {"Darwin": "Darwin, *On the Origin of Species*", "Shakespeare": "Shakespeare, *Coriolanus*", "Inaugural addresses": "Inaugural addresses of presidents of the USA"}


def bits(score, report, name):
    return score["nats"] / math.log(2) / report["sizes"][name]["bytes"]


def perplexity(score):
    return math.exp(score["nats"] / score["pieces"])


def figures(report, found):
    """Rows of the table: the test book in each data type, and by what counts alone know."""
    size, base = report["sizes"]["test"]["bytes"], report["baselines"]
    pieces = found["f32"]["test"]["pieces"]
    by_counts = lambda name: f"{math.exp(base[name] * math.log(2) * size / pieces):.1f}"
    rows = [(f"wattn-story, `{dtype}`", f"{perplexity(score['test']):.2f}", f"{bits(score['test'], report, 'test'):.3f}") for dtype, score in found.items()]
    rows += [("counts of pairs of pieces", by_counts("pairs"), f"{base['pairs']:.3f}"), ("counts of pieces", by_counts("pieces"), f"{base['pieces']:.3f}"), ("counts of bytes", "", f"{base['bytes']:.3f}")]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def other_texts(report, found):
    score = found[report["dtype"]]
    rows = [("dev", f"{corpus.DEV.author}, *{corpus.DEV.title}*"), *OTHERS.items()]
    return "\n".join(f"| {title} | {perplexity(score[name]):.1f} | {bits(score[name], report, name):.2f} |" for name, title in rows)


def curve(report):
    at = [row for i, row in enumerate(report["curve"]) if i % max(1, len(report["curve"]) // 8) == 0 or row is report["curve"][-1]]
    return "\n".join(f"| {step:,} | {seconds:,} | {math.exp(trained):.1f} | {math.exp(dev):.1f} |" for step, seconds, trained, dev in at)


def sources(report):
    by_title = {book.title: book for book in corpus.BOOKS}
    rows = []
    for title, source in report["sources"].items():
        book = by_title.get(title)
        where = f"GITenberg/{book.repository}@{book.commit}" if book else "ml5js/ml5-data-and-models@0612a3e7: datasets/text/charlotte_bronte"
        rows.append(f"| *{title}*, {book.author} | {where} | {source['characters']:,} |" if book else f"| {title} | {where} | {source['characters']:,} |")
    return "\n".join(rows)


def samples(found):
    quote = lambda text: "\n".join(f"> {line}  " for line in text.strip().split("\n"))
    return "\n\n".join(f"Seed {each['seed']}:\n\n{quote(each['text'])}" for each in found["samples"])


def card(report, found):
    c, scores = report["config"], found["scores"]
    sampling = report["sampling"]
    return f"""# wattn-story

A language model of {report['bytes'] / 1e6:.2f} MB, for [wattn](https://www.npmjs.com/package/wattn): it continues English stories, one piece of a word after the other. It is for looking into how such
a model works, and for examples and tests that need no network. It knows no facts, follows no instruction and is right about nothing: it has read a few old books.

```sh
npm install wattn wattn-story
```

```js
import {{ pipeline }} from 'wattn';
import model from 'wattn-story'; // the URL of the file, which bundlers include

const generate = await pipeline('text-generation', model);
const [{{ generated_text }}] = await generate('Once upon a time', {{ max_new_tokens: 40, do_sample: true, temperature: 0.7, seed: 1 }});
console.log(generated_text);
```

In Node the name is enough: `pipeline('text-generation', 'wattn-story')`. The file is a GGUF of Llama's architecture, which other programs read, too.

Llama with {c['num_hidden_layers']} layers of width {c['hidden_size']}, {c['num_attention_heads']} heads that share {c['num_key_value_heads']} pairs of keys and values, a feed-forward width of {c['intermediate_size']}, and the word embeddings as the output: {report['parameters']:,} parameters, in
{report['dtype']}. Byte-level BPE of {c['vocab_size']:,} pieces. It reads and writes at most {c['max_position_embeddings']} pieces together, some 190 words. Licence: Apache-2.0. SHA-256: `{report['sha256']}`.

## How well it predicts

*{corpus.TEST.title}* by {corpus.TEST.author}, {report['sizes']['test']['bytes']:,} bytes, was not read in training, and no choice was made with it. Perplexity is per piece; bits per byte can be compared with
any other model. Texts of at most {c['max_position_embeddings'] - 1} pieces each, all of them counted, measured with wattn (`tools/decoders/score.mjs`). The counts are those of the training texts.

| | perplexity | bits per byte |
|---|---|---|
{figures(report, scores)}

Other texts that it never read, with the file as it is. *{corpus.DEV.title}* is the one that choices were made with; *{corpus.BOOKS[4].title}*, by the same author, was read.

| | perplexity | bits per byte |
|---|---|---|
{other_texts(report, scores)}

## What it writes

Three beginnings and the seeds 1 and 2, all fixed before the model was trained (temperature {sampling['temperature']}, `top_p` {sampling['top_p']}, {sampling['max_new_tokens']} pieces). Nothing was chosen.

{samples(found)}

## What it cannot do

- **Make sense.** Sentences are mostly English; what they say is not true, and soon forgets how it began.
- **Know.** Ask it for a capital city and it writes an anecdote.
- **Answer, chat, follow instructions.** It only continues.
- **Modern words, other languages, code.** Any text can be encoded, as single bytes where no piece fits, but nothing of the kind was read.
- **Long texts.** {c['max_position_embeddings']} pieces are all that it can hold.

It has the views of its books, most of them a century old and more: of women, of servants, of other countries. Paragraphs with a few words for peoples, slurs or used as such, were left out of training; nothing else was.

## How it was made

By the scripts in wattn's `tools/decoders` (README there): {report['steps']:,} steps of {report['rows']} windows of {c['max_position_embeddings']} pieces, from random weights, in {report['seconds'] / 60:.0f} minutes of one CPU core. Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

| step | seconds | perplexity, training | perplexity, a quarter of *{corpus.DEV.title}* |
|---|---|---|---|
{curve(report)}

All texts are in the public domain in the USA, and their authors died more than 70 years ago. Headers, notes and tables of contents were taken out.

| text | origin (GitHub) | characters |
|---|---|---|
{sources(report)}
"""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, help="the .gguf that export.py wrote")
    p.add_argument("--scores", required=True, help="what score.mjs wrote")
    a = p.parse_args()
    report = json.loads(Path(a.model).with_suffix(".json").read_text("utf-8"))
    (Path(a.model).parent / "README.md").write_text(card(report, json.loads(Path(a.scores).read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
