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
    return f"""## Zero-shot classification and reranking

The file has no head for zero-shot classification or reranking; both use cosines.

- **Zero-shot**: a text gets the label whose name is nearest. The sets have 64, 18, 7, 6 and 2 labels, so chance is 0.016, 0.056, 0.143, 0.167 and 0.5. For most sets, eight example texts per label
  (the table above) are better than names alone.
- **Reranking**: the top 50 results of BM25 are sorted by cosine ("reranked"), or both scores are combined ("hybrid"), as wattn's `Index` does by default.

{score_table(scores, who, titles, is_of_uses)}

A trained head was not worth its size. Logistic regression over u * v and |u - v| of wattn-base's embeddings was trained on 9,842 pairs of SNLI dev (9 kB, the best of three regularization strengths). It classifies 59 % of
2,000 SNLI test pairs correctly. Choosing labels by its entailment score is worse than by cosine: 0.33, 0.39, 0.70, 0.29 and 0.60 in the order of the table (at most 700 texts per set). A cross-encoder reads each pair with all
layers. It would be another file of this size, and would need labelled pairs such as MS MARCO's, which were not available, so none was trained."""


def base_card(report, scores):
    base, teacher = scores["wattn-base"], scores["all-MiniLM-L6-v2"]
    return f"""# wattn-base

A sentence encoder for English in {report['bytes'] / 1e6:.2f} MB, for [wattn](https://www.npmjs.com/package/wattn): all-MiniLM-L6-v2 with 4-bit weights and
{report['pieces']:,} of its 30,522 word pieces. It was trained further, so that its embeddings stay close to the original's. Use it for search, similarity, clustering and classification
if the bundled model is not accurate enough and 90 MB is too much.

```sh
npm install wattn wattn-base
```

```js
import {{ pipeline }} from 'wattn';
import model from 'wattn-base'; // the URL of the file, which bundlers include

const embed = await pipeline('feature-extraction', model);
const vectors = await embed(['The bakery opens at six.', 'When can I buy fresh bread?']); // [2, 384], unit length
```

In Node, pass the name: `pipeline('feature-extraction', 'wattn-base')`. The file is a standard BERT GGUF, so llama.cpp reads it, too.

BERT with 6 layers of width 384, 12 heads, a feed-forward width of 1,536, at most 256 tokens: {report['parameters']:,} parameters. Embeddings have 384 dimensions and unit
length. They are close to the teacher's, but do not mix the two in one index. Licence: Apache-2.0. SHA-256: `{report['sha256']}`.

## Scores

Measured with wattn (`tools/score_models.mjs`) in its default `q8`. "Teacher" is all-MiniLM-L6-v2 in f32 with the same program. BM25 is the keyword search of wattn's `Index`, without
stemming. Higher is better, except in the last four rows: 1 there means that the surrounding sentence does not change a word's embedding.

{score_table(scores, ["wattn-base", "wattn-default", "all-MiniLM-L6-v2", "BM25"], {"all-MiniLM-L6-v2": "teacher", "wattn-default": "bundled model"})}

On the retrieval sets it keeps {100 * kept_retrieval(base, teacher):.1f} % of its teacher's nDCG@10 on average. The target for STS-B test was 0.812.

{uses(scores, ["wattn-base", "wattn-default", "all-MiniLM-L6-v2"], {"all-MiniLM-L6-v2": "teacher", "wattn-default": "bundled model"})}

## Limitations

- **Exact words.** Names, codes and rare terms: keyword search (BM25) is better for texts full of them. wattn's `Index` combines both.
- **Rare words.** With half the vocabulary, unusual words split into more pieces, and their embeddings lose the most quality.
- **Negation and word order.** As in its teacher, "The food was good" and "the food was not good" have similar embeddings (see the table; six triples each, written for this card).
- **Languages.** English only. Words in other alphabets become unknown tokens; wattn reports this (`unknown`).
- **Long texts.** It reads 256 tokens and truncates the rest; wattn reports this (`truncated`). Cut long texts into chunks.

It inherits the biases of its teacher and its training texts.

## How it was made

It was made with the scripts in wattn's `tools/encoders`; their README has the details. The kept word pieces are special tokens, single characters, and the most frequent pieces in the sources
below, with equal weight for each source. Matrices were rounded to GGUF's q4_0 with GPTQ (Frantar et al. 2022), then trained with rounding applied in every step. The gradient passes
straight through, and the scales of the blocks are fixed. The loss is 1 - cosine to the teacher's embedding, plus the squared difference of all cosines within a step.

Training had two parts. The first was 450 steps of at most 4,096 tokens with 15,360 pieces, chosen by their plain counts (STS-B dev 0.853). The second was {report['steps']:,} steps with the current {report['pieces']:,} pieces (0.857). The
vocabulary was selected on STS-B dev. Positions were rounded to q8_0, and so were token types, which the file stores as float32. Training took about an hour and a half on one CPU core. Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

Texts that equal an evaluation text or share 40 consecutive letters with one were removed. Evaluation texts are STS-B dev and test, STS 2012-16, SST-2, XQuAD, CISI, MED, and the test texts of
TREC, HWU64 and SNIPS. No decision was based on a test set, but the STS scores of an earlier state were known before the second vocabulary was tried.

{source_table(report)}
"""


def default_card(report, scores):
    own, teacher = scores["wattn-default"], scores["all-MiniLM-L6-v2"]
    others = ["wattn-base", "all-MiniLM-L6-v2", "BM25"]
    felt = report["sentiment"]
    return f"""# wattn-default

wattn's bundled model: a sentence encoder with a sentiment head, for English. It is a smaller all-MiniLM-L6-v2: BERT with {len(report['layers'])} of its six layers
(numbers {', '.join(str(at) for at in report['layers'][:-1])} and {report['layers'][-1]}, from 0), width 384, 12 heads, {report['inner']} of the 1,536 inner units, and at most 256 tokens. Its vocabulary has {report['pieces'] - 2 * report['emoji']:,} of the 30,522 word pieces, and {report['emoji']} emoji in addition.
It has {report['parameters']:,} parameters in {report['bytes'] / 1e6:.2f} MB (GGUF, q4_0; positions q8_0). Embeddings have 384 dimensions and unit length. Licence: Apache-2.0. SHA-256: `{report['sha256']}`.

## When to use it

Use it to search, cluster and compare short English texts, and to classify them as positive, negative or neutral, immediately and without a download. If quality matters more than
size, use `wattn-base` (10 MB), all-MiniLM-L6-v2 or a larger model: pass its name to `pipeline`.

## Scores

Measured with wattn in its default `q8` (`tools/score_models.mjs`). "Teacher" is all-MiniLM-L6-v2 (22.7 M parameters, 90 MB) in f32. BM25 is the keyword search of wattn's `Index`,
without stemming. Higher is better, except in the rows "in two senses". These compare a word's embeddings in two sentences with different meanings; 1 means that the surrounding sentence
does not change the embedding.

{score_table(scores, ["wattn-default", *others], {"wattn-default": "this model", "all-MiniLM-L6-v2": "teacher"})}

On the retrieval sets it keeps {100 * kept_retrieval(own, teacher):.0f} % of its teacher's nDCG@10 on average.

{uses(scores, ["wattn-default", "wattn-base", "all-MiniLM-L6-v2"], {"wattn-default": "this model", "all-MiniLM-L6-v2": "teacher"})}

## Sentiment

The sentiment head has three labels. In the SST-2 rows of the first table, an answer of NEUTRAL counts as wrong. On GoEmotions' test set, it classifies {100 * felt["GoEmotions test, comments with a sentiment"]:.0f} % of
the comments with a sentiment correctly, and {100 * felt["GoEmotions test, neutral comments"]:.0f} % of the neutral ones as NEUTRAL.

## Limitations

- **Exact words.** Names, codes and rare terms: keyword search (BM25) is better for texts full of them. wattn's `Index` combines both.
- **Rare words.** With a fifth of the vocabulary, unusual words split into more pieces, and their embeddings lose the most quality.
- **Negation and word order.** As in its teacher, "The food was good" and "the food was not good" have similar embeddings (see the table; six triples each, written for these cards).
- **Sentiment outside of reviews.** The head was trained on films, products and comments. Expect lower accuracy for other texts and for irony. It rarely answers NEUTRAL: a mild
  sentence is more likely to be called positive or negative.
- **Languages.** English only. Words in other alphabets become unknown tokens; wattn reports this (`unknown`).
- **Long texts.** It reads 256 tokens and truncates the rest; wattn reports this (`truncated`). Cut long texts into chunks.

It inherits the biases of its teacher, the model that labelled its sentiment texts, and its training texts.

## How it was made

It was made with the scripts in wattn's `tools/encoders`; their README has the details and the alternatives that were tried. The kept inner units contribute most to their layer's output, and
the weights that read them were fitted again by least squares. The kept word pieces are special tokens, single characters, and the most frequent pieces in the sources below, with equal weight for each
source. Matrices were rounded to q4_0 with GPTQ (Frantar et al. 2022), then trained with rounding applied in every step. The loss adds 1 - cosine to the teacher's
embedding and the squared difference of all cosines within a step. It also has the distance of each word's state to the teacher's, in all layers.

Training took about three hours on one CPU core. It had 1,800 steps with all-MiniLM-L6-v2 as the judge of sentiment (0.861 on SST's test set), then 1,500 and 1,800 steps with the judge named below. The last {report['steps']:,}
steps began with the mean of the last two runs (Wortsman et al. 2022). Decisions during training were based on STS-B dev and SST-2 dev.

The sentiment head was trained on {report['sentiment_texts']:,} texts:

- texts labelled by people (sentence polarity, product reviews, pros and cons, opinion lexicon, last lines of movie reviews, UCI's sentiment labelled sentences, GoEmotions' comments)
- plots, package descriptions and other plain statements, labelled as neutral
- unlabelled texts from the same sources
- texts made from all of these (dropped words, runs of words, words replaced by others seen between the same neighbours, chains of words)
- short texts that end with emoji

The target is the prediction of a judge model, averaged with the label if there is one. The judge is all-mpnet-base-v2 (Apache-2.0), fine-tuned on the labelled texts
(accuracy {report['judge']:.3f} on SST's test set with two labels). GoEmotions is Apache-2.0, the others CC BY 4.0. The bias of NEUTRAL was set so that {100 * report['polar_seen_as_neutral']:g} % of held-out
sentences with a sentiment get that label.

Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

Texts that equal an evaluation text or share 40 consecutive letters with one were removed. Evaluation texts are STS-B dev and test, STS 2012-16, SST-2, XQuAD, CISI, MED, and the test texts of
TREC, HWU64 and SNIPS. No model was selected by a test set, but the scores above were known when this model replaced the previous one. The targets were
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
and 94 % on each set. {worst.split(',')[0]} {'misses' if kept[worst] < 0.94 else 'is the lowest of'} the second with {100 * kept[worst]:.1f} %.

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

Texts that equal an evaluation text or share 40 consecutive letters with one were removed. Evaluation texts are STS-B dev and test, STS 2012-16, SST-2, XQuAD, CISI, MED, and the test texts of
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
