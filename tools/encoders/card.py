"""Writes README.md of the package wattn-base, its model card, from the report that export.py left and the scores of tools/score_models.mjs."""

import argparse
import json
from pathlib import Path

from tables import kept_retrieval, score_table, source_table


def card(report, scores):
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

{score_table(scores, ["wattn-default", "wattn-base", "all-MiniLM-L6-v2", "BM25"], {"all-MiniLM-L6-v2": "teacher", "wattn-default": "model in wattn"})}

On the retrieval sets it keeps {100 * kept_retrieval(base, teacher):.1f} % of its teacher's nDCG@10, on average. The aim for STS-B test was 0.812.

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
vocabularies was made on STS-B dev. Positions and token types are q8_0. It took about an hour and a half on one CPU core. Versions: {', '.join(f'{k} {v}' for k, v in report['versions'].items())}.

Texts that share 40 consecutive letters with an evaluation text, or equal one, were removed: STS-B dev and test, STS 2012-16, SST-2, XQuAD, CISI, MED, and the test texts of
TREC, HWU64 and SNIPS. No choice was made by a test set, though an earlier state's scores on STS were seen before the second vocabulary
was tried.

{source_table(report)}
"""


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, help="the .gguf that export.py wrote")
    p.add_argument("--scores", required=True, help="what tools/score_models.mjs wrote")
    a = p.parse_args()
    model = Path(a.model)
    report = json.loads(model.with_suffix(".json").read_text("utf-8"))
    (model.parent / "README.md").write_text(card(report, json.loads(Path(a.scores).read_text("utf-8"))), "utf-8")
