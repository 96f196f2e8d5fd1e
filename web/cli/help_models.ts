// Help for the commands that make, measure and serve models.
import { kComputeHelp, kModelHelp, kRunHelp } from './help_shared.js';

export const kAboutModels: Record<string, string> = {
  pack: `Usage: wattn pack --model MODEL --out FILE.gguf [options]
       wattn pack --model MODEL --hub DIR [options]

Packs a model into one file that loads like the original, and writes {"file": .., "bytes": .., "original_bytes": .., "sha256": ..} to standard output.

  wattn pack --model ./all-MiniLM-L6-v2 --dtype q4 --vocab 16000 --corpus texts.txt --check sts-test.csv --out small.gguf
  wattn pack --model sentence-transformers/all-MiniLM-L6-v2 --dtype native --hub ./minilm

  --out FILE            the file to write
  --hub DIR             instead of --out: a new folder to publish as a repository. It contains the file, the original's licence files, config.json,
                        the tokenizer's files and a model card (README.md) with the original's licence, language and name
  --dtype f32|f16|q8|q4|mixed|native
                        data type of the matrices. q8 (default): 8.5 bits per weight. q4: 4.5, less accurate. mixed: q4 where it
                        costs least, else q8. native: 8.5, in the layout of wattn's q8 kernels, which loads fastest
  --vocab N             keep N vocabulary entries: special tokens, single characters, and the most frequent ones in --corpus
  --corpus FILE         typical texts for the model, one per line (may be repeated)
  --calibrate FILE      with --dtype q4 or mixed: a few hundred typical texts for the model, one per line (may be repeated).
                        The weights are rounded so that the model's output changes least on these texts
  --layers 0,2,4        keep only these layers
  --dim N               keep the first N dimensions of the embedding (for Matryoshka models)
  --check FILE          measure the loss in quality: FILE has two sentences and a score per line, separated by tabs. Adds {"check": {"pairs": ..,
                        "cosine": {"mean": .., "worst": ..}, "spearman": {"original": .., "packed": ..}}}

The model:
${kModelHelp}`,
  download: `Usage: wattn download MODEL.. [options]

Downloads models from the Hub (org/name) into the cache and writes {"model": .., "files": .., "bytes": ..} per model. From then on they load without a network
(--local-files-only enforces this).

  --task TASK           needed only if a task uses other files: zero-shot-ner for GLiNER (and the repository of its tokenizer)
  --revision NAME       branch, tag or commit (default main)
  --cache-dir DIR       where downloads are stored (default: wattn in the user's cache folder)
  --progress            show progress on standard error even if it is not a terminal
`,
  cache: `Usage: wattn cache [list] [MODEL]
       wattn cache delete MODEL
       wattn cache clear

Writes {"model": .., "files": .., "bytes": .., "complete": ..} per downloaded model. delete removes one model, clear removes all; both write the number of
deleted files: {"deleted": ..}.

  --revision NAME       branch, tag or commit of the model (default main)
  --cache-dir DIR       where downloads are stored (default: wattn in the user's cache folder)
`,
  evaluate: `Usage: wattn evaluate --task TASK --data FILE [--model MODEL] [options]

Scores the model on a data set and writes the metrics as one JSON object. Columns of FILE (.jsonl; .csv and .tsv by their header):
  sts             sentence1, sentence2, score
                  Pearson's and Spearman's correlation of the model's similarities with the scores
  retrieval       a folder in BEIR's layout: corpus.jsonl, queries.jsonl, qrels.tsv or qrels/test.tsv
                  accuracy, precision, recall, MRR and nDCG at up to 10 documents, MAP at 100
  classification  text (or sentence), label, optionally text_pair
                  accuracy and macro F1: of the model's head, or, with --train, of a classifier on sentence vectors
  clustering      text (or sentence), label
                  V-measure of k-means, with as many clusters as there are labels

  --task TASK           sts, retrieval, classification or clustering
  --data FILE           the rows, or the folder of a test collection
  --train FILE          classification: rows to train a classifier on sentence embeddings
  --columns A,B,C       column names for tab-separated files without a header; further columns are ignored
  --labels A,B,C        classification: label names for labels that are numbers in the data, from 0
  --similarity NAME     cosine (default), dot; for sts also euclidean, manhattan
  --seed N              clustering: the seed of k-means (default 0)

The model:
${kModelHelp}${kComputeHelp}`,
  distill: `Usage: wattn distill --model MODEL --out DIR [options]

Makes static embeddings from an encoder (model2vec's recipe): one vector per token of its vocabulary. The folder loads in wattn, model2vec
and sentence-transformers. At the end, it writes {"out": .., "files": [..]}.

  --out DIR             the folder to write
  --pca-dims N          principal components to keep (default 256); below 1: a share of the variance; auto; none
  --sif-coefficient X   how strongly frequent tokens are weighted down (default 0.0001); none
  --pooling WHICH       how to pool each token's vector: mean (default), first, last or pooler
  --quantize-to TYPE    float16 (default), float32 or int8

The model:
${kModelHelp}${kComputeHelp}`,
  train: `Usage: wattn train --task TASK --model MODEL --data FILE --out DIR [options]

Fine-tunes a model. Use a trained classifier with wattn classify: with --model MODEL --adapter DIR after --method lora, else with --model DIR.
On a terminal, one line shows the loss and the time left; otherwise each update writes {"step": .., "loss": ..,
"seconds_left": ..} and more to standard output. The last line, {"out": .., "files": [..]}, is always written.

Columns of FILE (.jsonl; .csv and .tsv by their header): text, label, optionally text_pair; anchor, positive, optionally negative; sentence1, sentence2,
score; in .jsonl also text, labels; tokens, ner_tags; messages. With text2text-generation: text (or source, input, document, article) and target (or
summary, output, highlights). Whole numbers as labels are class names, except with --loss MSELoss (regression).

Ctrl+C stops after the current update and saves the run's state in --out. --resume continues from there; the result is bit-identical to that of an
uninterrupted run. A run that was killed resumes from the last saved state.

  --task TASK           text-classification, token-classification, text-generation, text2text-generation (encoder-decoders) or
                        feature-extraction (sentence vectors)
  --data FILE           the training data
  --validation FILE     validation data in the same format; the best state is kept
  --out DIR             folder for the adapter (PEFT's files) with --method lora, else for the whole model; and for the classifier's files
  --resume              continue from the state in --out, with the same data and options
  --method METHOD       lora (default), full, last_layers or head
  --r N                 lora: the rank (default 8)
  --target-modules A,B  lora: names of matrices, or all-linear (default: queries and values)
  --last-layers N       last_layers: number of layers to train (default 2)
  --loss LOSS           a loss of sentence-transformers, SupConLoss, or a head's loss (default: depends on the rows and the model)
  --epochs N            passes over the rows (default 1; 3 for a head; more for few labelled texts)
  --max-steps N         number of updates, instead of --epochs
  --batch-size N        rows per update (default 24; 64 with more than 24 labels; 16 for a head, 8 for language models)
  --learning-rate R     default 2e-3 for lora, else 1e-4; with a head 1e-3 and 5e-5
  --max-length N        maximum tokens of a text, special tokens included (default: the model's own)
  --eval-steps N        updates between evaluations
  --early-stopping-patience N
                        stop after N evaluations without improvement
  --save-steps N        updates between saved states in --out (default: one is saved every minute)
  --seed N              seed for the order of rows and LoRA's initial values (default 0)
  --options JSON        more options of Trainer: {"warmup_steps": 10, "weight_decay": 0, "checkpointing": true}

The model:
${kModelHelp}${kRunHelp}`,
  serve: `Usage: wattn serve [--model MODEL] [options]

Serves a model over HTTP until Ctrl+C (SIGINT) or SIGTERM, then finishes the requests in progress and exits. Once it listens, it writes
{"url": .., "model": .., "task": ..}. OpenAI routes: /v1/embeddings, /v1/chat/completions, /v1/models. Routes of text-embeddings-inference: /embed,
/embed_sparse, /predict, /rerank, /info. Also /health and /metrics (Prometheus).

  --task TASK           feature-extraction, sparse-encoding, text-classification (also cross-encoders) or text-generation (default: from
                        the model's files)
  --pooling MODE        pooling of token vectors, for models that do not define it: mean, cls, lasttoken, ..
  --prefix-cache-bytes N
                        maximum bytes of cached keys and values of chats, so that the next turn computes only new tokens. 0: no cache.
                        Default: enough for one chat of maximum length, at most 512 MB
  --kv-cache-dtype q8   store keys and values of chats in 8 bits: 0.28 of the memory, the numbers change a little
  --served-model-name NAME
                        the model's name in requests (default: the Hub id, or the last part of a path)
  --host ADDRESS        address to listen on (default 127.0.0.1: this machine only)
  --port N              port to listen on (default 8080; 0: any free port)
  --allow-host NAME     host name to accept in requests, besides localhost and IP addresses (may be repeated)
  --cors ORIGIN         allow requests from pages of this origin, such as https://example.org; *: all pages (may be repeated)
  --api-key KEY         require "Authorization: Bearer KEY"; safer as the environment variable WATTN_API_KEY, which other users cannot see
  --workers N           number of worker threads, each with a copy of the model (default 1)
  --auto-truncate       truncate texts that are too long (default: refuse them)
  --max-batch-tokens N  maximum tokens per call of the model, in which texts of several requests are batched (default 2048)
  --max-concurrent-requests N
                        maximum concurrent requests; more are refused with status 429 (default 512)
  --max-client-batch-size N
                        maximum texts per request (default 2048)
  --payload-limit N     maximum bytes of a request body (default 2000000)

The model:
${kModelHelp}${kComputeHelp}`,
  mcp: `Usage: wattn mcp [FOLDER..] [options]

Serves the Model Context Protocol over standard input and output, for editors and agents that start it. Tools: search (in the current .txt, .md and .html
files of the folders), embed, redact. It ends when its input ends or, with --http, at Ctrl+C (SIGINT) or SIGTERM.

  --max-tokens N        maximum tokens per chunk (default 256, at most the model's own)
  --words               keyword search only: no model, and no embed tool
  --ner MODEL           redact also replaces names found by this GLiNER model (default: only email addresses, phone and card numbers)
  --labels A,B,C        with --ner: the kinds of names to replace (default person,organization,location)
  --http                serve over HTTP instead, on http://127.0.0.1:8080/mcp; writes {"url": .., "path": ..} once it listens (see wattn serve --help
                        for --host, --port, --allow-host, --cors and --api-key)

The model:
${kModelHelp}${kComputeHelp}`,
};
