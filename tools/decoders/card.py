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
    """Rows of the table: the test book in each data type, and predicted from counts alone."""
    size, base = report["sizes"]["test"]["bytes"], report["baselines"]
    pieces = found["f32"]["test"]["pieces"]
    by_counts = lambda name: f"{math.exp(base[name] * math.log(2) * size / pieces):.1f}"
    rows = [(f"wattn-story, `{dtype}`", f"{perplexity(score['test']):.2f}", f"{bits(score['test'], report, 'test'):.3f}") for dtype, score in found.items()]
    rows += [("counts of token pairs", by_counts("pairs"), f"{base['pairs']:.3f}"), ("counts of tokens", by_counts("pieces"), f"{base['pieces']:.3f}"), ("counts of bytes", "", f"{base['bytes']:.3f}")]
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

A language model of {report['bytes'] / 1e6:.2f} MB for [wattn](https://www.npmjs.com/package/wattn) that continues English stories. Use it to explore how a language model
works, and for examples and tests that need no network. It knows no facts and follows no instructions: it was trained on a few old books.

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

In Node, pass the name: `pipeline('text-generation', 'wattn-story')`. The file is a GGUF with Llama's architecture, which other programs read, too.

Llama with {c['num_hidden_layers']} layers of width {c['hidden_size']}, {c['num_attention_heads']} heads that share {c['num_key_value_heads']} key-value heads, a feed-forward width of {c['intermediate_size']}, and output weights tied to the word embeddings. It has {report['parameters']:,} parameters, in
{report['dtype']}. The tokenizer is byte-level BPE with {c['vocab_size']:,} tokens. The context, prompt and output together, has {c['max_position_embeddings']} tokens, about 190 words. Licence: Apache-2.0. SHA-256: `{report['sha256']}`.

## Perplexity

*{corpus.TEST.title}* by {corpus.TEST.author}, {report['sizes']['test']['bytes']:,} bytes, was not used for training or for any decision. Perplexity is per token; bits per byte can be compared with
any other model. The book was cut into texts of at most {c['max_position_embeddings'] - 1} tokens, and every token counts. Measured with wattn (`tools/decoders/score.mjs`). The last three rows predict from counts in the training texts alone.

| | perplexity | bits per byte |
|---|---|---|
{figures(report, scores)}

Other texts outside the training set, with the shipped file. *{corpus.DEV.title}* was used for decisions; *{corpus.BOOKS[4].title}*, by the same author, is in the training set.

| | perplexity | bits per byte |
|---|---|---|
{other_texts(report, scores)}

## Samples

Three prompts with seeds 1 and 2, all fixed before training (temperature {sampling['temperature']}, `top_p` {sampling['top_p']}, {sampling['max_new_tokens']} tokens). These are the first outputs, not a selection.

{samples(found)}

## Limitations

- **Coherence.** Its sentences are mostly correct English, but they are not true, and they soon lose the thread.
- **Knowledge.** Ask it for a capital city, and it writes an anecdote.
- **Answers, chats, instructions.** It can only continue a text.
- **Modern words, other languages, code.** It can encode any text, as single bytes if necessary, but it was not trained on any of these.
- **Long texts.** Its context has {c['max_position_embeddings']} tokens.

It reflects the views of its books, most of them at least a century old: about women, servants and other countries. Paragraphs with a few ethnic slurs, or words used as slurs, were removed from the training texts; nothing else was.

## How it was made

It was made with the scripts in wattn's `tools/decoders`; their README has the details. Training started from random weights and took {report['steps']:,} steps of {report['rows']} windows of {c['max_position_embeddings']} tokens, {report['seconds'] / 60:.0f} minutes on one CPU core. Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

| step | seconds | perplexity on training texts | perplexity on a quarter of *{corpus.DEV.title}* |
|---|---|---|---|
{curve(report)}

All texts are in the public domain in the USA, and their authors died more than 70 years ago. Headers, notes and tables of contents were removed.

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
