"""Writes a model card from the report that export.py left and the scores of tools/score_models.mjs: README.md of the package wattn-base, CARD.md of the default model."""

import argparse
import json
from pathlib import Path

from tables import is_of_uses, kept_retrieval, score_table, shares, source_table

LARGE_AIMS = (
    "STS-B test, Spearman", "MED, nDCG@10", "CISI, nDCG@10", "XQuAD English, nDCG@10",
    "TREC, 8 a label, accuracy", "HWU64, 8 a label, accuracy", "SNIPS, 8 a label, accuracy",
)  # fmt: skip


def uses(scores, who, titles):
    return f"""## Labels by name, and reranking

No head for zero-shot classification or reranking is in the file: cosines do both. By name: a text gets the label whose name is nearest, of 64, 18, 7, 6 and 2 labels (by chance 0.016,
0.056, 0.143, 0.167 and 0.5). Eight texts of each label, in the table above, are better in most sets. Reranking: the best 50 of BM25 in the order of their cosines, or both scores joined, as
wattn's `Index` does by itself.

{score_table(scores, who, titles, is_of_uses)}

A trained head did not earn its size. Logistic regression over u * v and |u - v| of wattn-base's vectors, learned on 9,842 pairs of SNLI dev (9 kB, the best of three strengths of regularization), gets 59 % of
2,000 of SNLI's test pairs right, and chooses labels by entailment worse than the cosine does: 0.33, 0.39, 0.70, 0.29 and 0.60 in the order of the table (at most 700 texts of each set). A cross-encoder reads each pair with all layers: another file of this size,
and judged pairs to learn from, such as MS MARCO's, which were not at hand; none was trained."""


def base_card(report, scores):
    base, teacher = scores["wattn-base"], scores["all-MiniLM-L6-v2"]
    return f"""# wattn-base

A sentence encoder for English in {report['bytes'] / 1e6:.2f} MB, for [wattn](https://www.npmjs.com/package/wattn): all-MiniLM-L6-v2 with weights of four bits and
{report['pieces']:,} of its 30,522 word pieces, trained on so that the vectors stay. It is for search, similarity, clustering and classification where the small model
in wattn is too weak and 90 MB are too many.

```sh
npm install wattn wattn-base
```

```js
import {{ pipeline }} from 'wattn';
import model from 'wattn-base'; // the URL of the file, which bundlers include

const embed = await pipeline('feature-extraction', model);
const vectors = await embed(['The bakery opens at six.', 'When can I buy fresh bread?']); // [2, 384], unit length
```

In Node the name is enough: `pipeline('feature-extraction', 'wattn-base')`. The file is a plain GGUF of BERT, so llama.cpp reads it, too.

BERT with 6 layers of width 384, 12 heads, a feed-forward width of 1,536, at most 256 tokens: {report['parameters']:,} parameters. Vectors have 384 dimensions and unit
length; they are close to the teacher's, but the two must not be mixed in one index. Licence: Apache-2.0. SHA-256: `{report['sha256']}`.

## Scores

Measured with wattn (`tools/score_models.mjs`), in its default `q8`; "teacher" is all-MiniLM-L6-v2 in f32 with the same program. BM25 is that of wattn's `Index`, without
stemming. Higher is better, except in the last rows: there 1 means that the sentence around a word changes nothing.

{score_table(scores, ["wattn-base", "wattn-default", "all-MiniLM-L6-v2", "BM25"], {"all-MiniLM-L6-v2": "teacher", "wattn-default": "model in wattn"})}

On the retrieval sets it keeps {100 * kept_retrieval(base, teacher):.1f} % of its teacher's nDCG@10, on average. The aim for STS-B test was 0.812.

{uses(scores, ["wattn-base", "wattn-default", "all-MiniLM-L6-v2"], {"all-MiniLM-L6-v2": "teacher", "wattn-default": "model in wattn"})}

## What it is worse at

- **Exact words.** Names, codes and rare terms: BM25 is better on texts full of them. wattn's `Index` uses both.
- **Rare words.** With half the vocabulary, unusual words fall into more pieces, and their vectors suffer most.
- **Negation and order.** "The food was good" and "the food was not good" are near each other, as in its teacher (the table's rows on six triples each, written for this card).
- **Languages.** English only; words of other alphabets become unknown tokens, which is reported (`unknown`).
- **Long texts.** It reads 256 tokens; the rest is cut off, which is reported (`truncated`). Cut long texts into chunks.

It inherits the biases of its teacher and its texts.

## How it was made

By the scripts in wattn's `tools/encoders` (README there). The pieces that stay are special ones, single characters, and those that are most frequent over the sources
below, each source counting alike. Matrices were rounded to GGUF's q4_0 by GPTQ (Frantar et al. 2022), then trained with the rounding in the loop: the gradient passes
straight through, the scales of the blocks stay. The loss is 1 - cosine to the teacher's vector plus the squared difference of all cosines within a step. There were
450 steps of at most 4,096 tokens with 15,360 pieces chosen by their plain counts (STS-B dev 0.853), then {report['steps']:,} with the {report['pieces']:,} of now (0.857): the choice between the two
vocabularies was made on STS-B dev. Positions were rounded to q8_0, and token types too, which the file has as float32. It took about an hour and a half on one CPU core. Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

Texts that share 40 consecutive letters with an evaluation text, or equal one, were removed: STS-B dev and test, STS 2012-16, SST-2, XQuAD, CISI, MED, and the test texts of
TREC, HWU64 and SNIPS. No choice was made by a test set, though an earlier state's scores on STS were seen before the second vocabulary
was tried.

{source_table(report)}
"""


def default_card(report, scores):
    own, teacher = scores["wattn-default"], scores["all-MiniLM-L6-v2"]
    others = ["wattn-base", "all-MiniLM-L6-v2", "BM25"]
    felt = report["sentiment"]
    return f"""# wattn-default

The model that ships in the package: a sentence encoder with a sentiment head, for English. It is all-MiniLM-L6-v2 made smaller: BERT with {len(report['layers'])} of its six layers
(numbers {', '.join(str(at) for at in report['layers'][:-1])} and {report['layers'][-1]}, from 0), width 384, 12 heads, {report['inner']} of the 1,536 inner units, at most 256 tokens, and {report['pieces'] - 2 * report['emoji']:,} of the 30,522 word pieces with {report['emoji']} emoji beside them.
{report['parameters']:,} parameters in {report['bytes'] / 1e6:.2f} MB (GGUF, q4_0; positions q8_0). Vectors have 384 dimensions and unit length. Licence: Apache-2.0. SHA-256: `{report['sha256']}`.

## What it is good for

Searching, clustering and comparing short English texts, and telling praise, blame and neither apart, at once and without a download. Where quality matters more than
size, take `wattn-base` (10 MB), all-MiniLM-L6-v2 or a larger model: it takes one argument.

## Scores

Measured with wattn in its default `q8` (`tools/score_models.mjs`), the teacher, all-MiniLM-L6-v2 (22.7 M parameters, 90 MB), in f32. BM25 is that of wattn's `Index`,
without stemming. Higher is better, except in the last rows: the cosine of a word's vectors in two sentences where it means different things; 1 means that the sentence
changes nothing.

{score_table(scores, ["wattn-default", *others], {"wattn-default": "this model", "all-MiniLM-L6-v2": "teacher"})}

On the retrieval sets it keeps {100 * kept_retrieval(own, teacher):.0f} % of its teacher's nDCG@10, on average.

{uses(scores, ["wattn-default", "wattn-base", "all-MiniLM-L6-v2"], {"wattn-default": "this model", "all-MiniLM-L6-v2": "teacher"})}

## Sentiment

The sentiment head has three labels. In the rows of the first table a sentence of SST-2 that it calls NEUTRAL counts as wrong. Of GoEmotions' test set it gets {100 * felt["GoEmotions test, comments with a sentiment"]:.0f} % of
the comments with a sentiment right, and calls {100 * felt["GoEmotions test, neutral comments"]:.0f} % of the neutral ones NEUTRAL.

## What it is worse at

- **Exact words.** Names, codes and rare terms: BM25 is better on texts full of them. wattn's `Index` uses both.
- **Rare words.** With a fifth of the vocabulary, unusual words fall into more pieces, and their vectors suffer most.
- **Negation and order.** "The food was good" and "the food was not good" are near each other, as in its teacher (the table's rows on six triples each, written for these cards).
- **Sentiment outside of reviews.** The head learned from films, products and comments. Expect less from other texts and from irony. NEUTRAL is given with care: a mild
  sentence rather gets a side than none.
- **Languages.** English only; words of other alphabets become unknown tokens, which is reported (`unknown`).
- **Long texts.** It reads 256 tokens; the rest is cut off, which is reported (`truncated`). Cut long texts into chunks.

It inherits the biases of its teacher, its judge and its texts.

## How it was made

By the scripts in wattn's `tools/encoders` (README there, with what was tried). The inner units that stay are those that contribute most to their layer's output; what
leaves them was fitted again by least squares. The pieces that stay are special ones, single characters, and those that are most frequent over the sources below, each
source counting alike. Matrices were rounded to q4_0 by GPTQ (Frantar et al. 2022), then trained with the rounding in the loop. The loss is 1 - cosine to the teacher's
vector, the squared difference of all cosines within a step, and the distance of each word's state to the teacher's in all layers. It took 1,800 steps, in which
all-MiniLM-L6-v2 was the judge of sentiment (0.861 on SST's test set), 1,500 and 1,800 more with the judge named below, and {report['steps']:,} that began with the mean of the last two runs
(Wortsman et al. 2022), some three hours of one CPU core. What was chosen on the way was chosen on STS-B dev and SST-2 dev.

The sentiment head learned from {report['sentiment_texts']:,} texts: texts labelled by people (sentence polarity, product reviews, pros and cons, opinion lexicon, last lines of
movie reviews, UCI's sentiment labelled sentences, GoEmotions' comments; plots, package descriptions and other plain statements are neutral), unlabelled texts from the same
sources, texts made from both (words dropped, runs of words, words replaced by others seen between the same neighbours, chains of words), and short texts that end with
emoji. The target is a judge's prediction, averaged with the label where there is one. The judge is all-mpnet-base-v2 (Apache-2.0), fine-tuned on the labelled texts
(accuracy {report['judge']:.3f} on SST's test set, of two labels). GoEmotions is Apache-2.0, the others CC BY 4.0. The bias of NEUTRAL was set so that {100 * report['polar_seen_as_neutral']:g} % of held-out
sentences with a sentiment get it.

Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

Texts that share 40 consecutive letters with an evaluation text, or equal one, were removed: STS-B dev and test, STS 2012-16, SST-2, XQuAD, CISI, MED, and the test texts of
TREC, HWU64 and SNIPS. No choice between models was made by a test set; that this one replaces the one before it was decided with the scores above known. The aims were
STS-B test 0.775, SST-2 dev 0.85, "bank" 0.95 and 80 % of the teacher's retrieval.

{source_table(report)}
"""


def large_card(report, scores):
    own, teacher = scores["wattn-large"], scores["bge-small-en-v1.5"]
    aims = [name for name in LARGE_AIMS if name in own and name in teacher]
    kept = shares(own, teacher, aims)
    others = ["wattn-base", "bge-small-en-v1.5", "BM25"]
    dropped = sorted(set(range(12)) - set(report["layers"]))
    worst = min(kept, key=kept.get)
    return f"""# wattn-large

A sentence encoder for English in {report['bytes'] / 1e6:.2f} MB, for [wattn](https://www.npmjs.com/package/wattn): bge-small-en-v1.5 (MIT) with 4-bit weights, {len(report['layers'])} of its
12 layers and {report['pieces']:,} of its 30,522 word pieces. It reads 512 tokens, twice as many as `wattn-base`, and suits search in longer English texts, similarity,
clustering and classification.

```sh
npm install wattn wattn-large
```

```js
import {{ pipeline }} from 'wattn';
import model from 'wattn-large'; // the URL of the file, which bundlers include

const embed = await pipeline('feature-extraction', model);
const documents = await embed(['The bakery opens at six.', 'Trains leave every hour.']); // [2, 384], unit length
const query = await embed.encode_query(['When can I buy fresh bread?']); // with the prompt for questions
```

In Node, pass the name: `pipeline('feature-extraction', 'wattn-large')`. The file is a BERT GGUF with llama.cpp's names. It was not tested in llama.cpp, where you have to add the prompt yourself.

BERT with {len(report['layers'])} layers of width 384 (all but number {', '.join(map(str, dropped))}, from 0), 12 heads, a feed-forward width of {report['inner']:,}, at most 512 tokens: {report['parameters']:,} parameters. The embedding is the state of
`[CLS]`, scaled to unit length. Embeddings are close to the teacher's, but do not mix the two in one index. `encode_query`, `Index` and `Retriever` prepend
"{report['prompt'].strip()}" to a query, as the teacher requires. Licence: Apache-2.0; the teacher's licence, MIT, is in NOTICE. SHA-256: `{report['sha256']}`.

## Scores

Measured with wattn (`tools/score_models.mjs`) in its default `q8`. "Teacher" is bge-small-en-v1.5 in the same program, also in `q8`; its scores on STS-B test, CISI, MED and XQuAD were measured earlier, to three digits. BM25 is the keyword search of wattn's `Index`, without stemming.
Higher is better. Empty cells were not measured.

{score_table(scores, ["wattn-large", *others], {"bge-small-en-v1.5": "teacher"})}

It keeps {100 * sum(kept.values()) / len(kept):.1f} % of its teacher's scores on average over {len(kept)} sets ({', '.join(f"{name.split(',')[0]} {100 * share:.1f} %" for name, share in kept.items())}). The target was 96 % on average
and 94 % on each set; the lowest is {worst.split(',')[0]} with {100 * kept[worst]:.1f} %.

## Limitations

- **Exact words.** Names, codes and rare terms: keyword search (BM25) is better for texts full of them. wattn's `Index` combines both.
- **Rare words.** Words whose pieces were removed split into more pieces, and their embeddings lose the most quality.
- **Speed.** It has {len(report['layers'])} layers; `wattn-base` has six and takes about half the time.
- **Narrow range of cosines.** As with its teacher, cosines are close together. Compare them with each other, not with a fixed threshold from another model.
- **Languages.** English only. Words in other alphabets become unknown tokens; wattn reports this (`unknown`).

It inherits the biases of its teacher and its training texts.

## How it was made

It was made with the scripts in wattn's `tools/encoders`; their README has the details. Layers were removed so that the cosines of sample sentences correlate best with the teacher's. The kept word pieces are special tokens, single
characters, and the most frequent pieces in the sources below, with equal weight for each source. {how_large(report)} Positions were rounded to q8_0. Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

Texts that equal an evaluation text or share 40 consecutive letters with one were removed: STS-B dev and test, STS 2012-16, SST-2, XQuAD, CISI, MED, and the test texts of
TREC, HWU64 and SNIPS. No decision was based on a test set.

{source_table(report)}
"""


def how_large(report):
    fitted = f"""Layer by layer, each matrix was fitted by least squares to reproduce the teacher's output from the output of
the rounded layers before it. It was then rounded to GGUF's q4_0 with GPTQ (Frantar et al. 2022, Li et al. 2025). This used {report['fitted']:,} texts and no gradients."""
    if not report["steps"]:
        return fitted
    return f"""{fitted} Then it was trained with
rounding applied in every step: {report['steps']:,} steps of at most 2,048 tokens, with the loss of `wattn-base` (see its README)."""


CARDS = {"large": (large_card, "README.md"), "base": (base_card, "README.md"), "default": (default_card, "CARD.md")}

if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("recipe", choices=CARDS)
    p.add_argument("--model", required=True, help="the .gguf that export.py wrote")
    p.add_argument("--scores", required=True, help="what tools/score_models.mjs wrote")
    a = p.parse_args()
    model, (card, name) = Path(a.model), CARDS[a.recipe]
    report = json.loads(model.with_suffix(".json").read_text("utf-8"))
    (model.parent / name).write_text(card(report, json.loads(Path(a.scores).read_text("utf-8"))), "utf-8")
