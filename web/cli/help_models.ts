// Help for the commands that make, measure and serve models.
import { kComputeHelp, kModelHelp, kRunHelp } from './help_shared.js';

export const kAboutModels: Record<string, string> = {
  pack: `Usage: wattn pack --model MODEL --out FILE.gguf [options]
       wattn pack --model MODEL --hub DIR [options]

Writes a model as one file that loads like the original, and {"file": .., "bytes": .., "original_bytes": .., "sha256": ..} to standard output.

  wattn pack --model ./all-MiniLM-L6-v2 --dtype q4 --vocab 16000 --corpus texts.txt --check sts-test.csv --out small.gguf
  wattn pack --model sentence-transformers/all-MiniLM-L6-v2 --dtype native --hub ./minilm

  --out FILE            the file to write
  --hub DIR             instead: a new folder to publish as a repository: the file, a card (README.md) with the original's licence,
                        language and name, its licence files, config.json and the tokenizer's files
  --dtype f32|f16|q8|q4|mixed|native
                        data type of the matrices. q8 (default): 8.5 bits per weight. q4: 4.5, less accurate. mixed: q4 where it
                        costs least, else q8. native: 8.5 as wattn's q8 multiplies them, which load fastest
  --vocab N             keep N pieces of the vocabulary: special tokens, single characters, and what --corpus uses most
  --corpus FILE         texts like those that the model will read, one per line (may be repeated)
  --calibrate FILE      with --dtype q4 or mixed: some hundred texts like those that the model will read, one per line (may be repeated).
                        The model reads them, and is rounded so that it changes least for such texts
  --layers 0,2,4        keep these layers
  --dim N               keep the first N components of the sentence vector (for models trained so: Matryoshka)
  --check FILE          measure the cost: FILE has two sentences and a score per line, separated by tabs. Adds {"check": {"pairs": ..,
                        "cosine": {"mean": .., "worst": ..}, "spearman": {"original": .., "packed": ..}}}

The model:
${kModelHelp}`,
  download: `Usage: wattn download MODEL.. [options]

Downloads models of a hub (org/name) into the cache and writes {"model": .., "files": .., "bytes": ..} per model. They load without a network from then on
(--local-files-only asks for that).

  --task TASK           what the models are for, where it takes other files: zero-shot-ner for GLiNER (and the repository of its tokenizer)
  --revision NAME       branch, tag or commit (default main)
  --cache-dir DIR       where downloads are stored (default: wattn in the user's cache folder)
  --progress            show progress on standard error even if it is not a terminal
`,
  cache: `Usage: wattn cache [list] [MODEL]
       wattn cache delete MODEL
       wattn cache clear

Writes {"model": .., "files": .., "bytes": .., "complete": ..} per model that was downloaded. delete and clear remove one model or all, and write how many
files went: {"deleted": ..}.

  --revision NAME       branch, tag or commit of the model (default main)
  --cache-dir DIR       where downloads are stored (default: wattn in the user's cache folder)
`,
  evaluate: `Usage: wattn evaluate --task TASK --data FILE [--model MODEL] [options]

Scores the model on a data set and writes the measures as one JSON object. Rows of FILE (.jsonl; .csv and .tsv by their header):
  sts             sentence1, sentence2, score
                  Pearson's and Spearman's correlation of the model's similarities with the scores
  retrieval       a folder in BEIR's layout: corpus.jsonl, queries.jsonl, qrels.tsv or qrels/test.tsv
                  accuracy, precision, recall, MRR and nDCG at up to 10 documents, MAP at 100
  classification  text (or sentence), label, maybe text_pair
                  accuracy and macro F1: of the model's head, or, with --train, of a classifier on sentence vectors
  clustering      text (or sentence), label
                  V-measure of k-means, with as many clusters as there are labels

  --task TASK           sts, retrieval, classification or clustering
  --data FILE           the rows, or the folder of a test collection
  --train FILE          classification: rows that a classifier on sentence vectors learns from
  --columns A,B,C       names of the columns of files without a header, separated by tabs; further columns are ignored
  --labels A,B,C        classification: the names of labels that are numbers in the data, from 0
  --similarity NAME     cosine (default), dot; for sts also euclidean, manhattan
  --seed N              clustering: of k-means (default 0)

The model:
${kModelHelp}${kComputeHelp}`,
  distill: `Usage: wattn distill --model MODEL --out DIR [options]

Makes static embeddings from an encoder (model2vec's recipe): a row for each token of its vocabulary. The folder loads in wattn, model2vec
and sentence-transformers. {"out": .., "files": [..]} is written at the end.

  --out DIR             the folder to write
  --pca-dims N          principal components to keep (default 256); below 1: a share of the variance; auto; none
  --sif-coefficient X   how much less frequent tokens weigh (default 0.0001); none
  --pooling WHICH       the vector of a token: mean (default), first, last or pooler
  --quantize-to TYPE    float16 (default), float32 or int8

The model:
${kModelHelp}${kComputeHelp}`,
  train: `Usage: wattn train --task TASK --model MODEL --data FILE --out DIR [options]

Fine-tunes a model. What it learns of labels, wattn classify applies: with --model MODEL --adapter DIR, or --model DIR after another --method than
lora. On a terminal one line shows the loss and the time left; otherwise each update writes {"step": .., "loss": ..,
"seconds_left": ..} and more to standard output. The last line, {"out": .., "files": [..]}, is always written.

Rows of FILE (.jsonl; .csv and .tsv by their header): text, label, maybe text_pair; anchor, positive, maybe negative; sentence1, sentence2, score;
in .jsonl also text, labels; tokens, ner_tags; messages. With text2text-generation text (or source, input, document, article) and target (or
summary, output, highlights). Whole numbers as labels are names of classes, except with --loss MSELoss (regression).

Ctrl+C stops after the current update and keeps the run's state in --out. --resume goes on from there, and ends with the same bits as a run
that was not stopped. A run that was killed goes on from the last state that it kept.

  --task TASK           text-classification, token-classification, text-generation, text2text-generation (encoder-decoders) or
                        feature-extraction (sentence vectors)
  --data FILE           the rows to learn from
  --validation FILE     rows to judge by, of the same kind; the best state is kept
  --out DIR             receives the adapter (PEFT's files) with --method lora, else the whole model; and the classifier's files
  --resume              go on from the state in --out, with the same data and options
  --method METHOD       lora (default), full, last_layers or head
  --r N                 lora: the rank (default 8)
  --target-modules A,B  lora: names of matrices, or all-linear (default: queries and values)
  --last-layers N       last_layers: how many (default 2)
  --loss LOSS           a loss of sentence-transformers, SupConLoss, or a head's loss (default: by the rows and the model)
  --epochs N            passes over the rows (default 1, of a head 3; few labelled texts are passed more often)
  --max-steps N         updates, instead of --epochs
  --batch-size N        rows of an update (default 24; 64 with more than 24 labels; of a head 16, of language models 8)
  --learning-rate R     default 2e-3 for lora, else 1e-4; with a head 1e-3 and 5e-5
  --max-length N        maximum tokens of a text, special tokens included (default: the model's own)
  --eval-steps N        updates between two evaluations
  --early-stopping-patience N
                        stop after N evaluations in a row without a better one
  --save-steps N        updates between two states in --out (default: one is kept every minute)
  --seed N              decides the order of rows and LoRA's first values (default 0)
  --options JSON        more options of Trainer: {"warmup_steps": 10, "weight_decay": 0, "checkpointing": true}

The model:
${kModelHelp}${kRunHelp}`,
  serve: `Usage: wattn serve [--model MODEL] [options]

Answers over HTTP until Ctrl+C (SIGINT) or SIGTERM; then it finishes what it has begun, and ends. {"url": .., "model": .., "task": ..} is written once it
listens. OpenAI's routes: /v1/embeddings, /v1/chat/completions, /v1/models. Those of text-embeddings-inference: /embed, /embed_sparse, /predict, /rerank,
/info. Also /health and /metrics (Prometheus).

  --task TASK           feature-extraction, sparse-encoding, text-classification (cross-encoders too) or text-generation (default: what
                        the model's files say)
  --pooling MODE        of token vectors, for models that do not say it: mean, cls, lasttoken, ..
  --prefix-cache-bytes N
                        bytes of keys and values that are kept of chats, so that their next turn reads only what is new. 0: none. Default: as
                        many as one chat of the longest length takes, at most 512 MB
  --kv-cache-dtype q8   of chats, hold keys and values in 8 bits: 0.28 of their memory, the numbers change a little
  --served-model-name NAME
                        the model's name in requests (default: the hub id, or the last part of a path)
  --host ADDRESS        where to listen (default 127.0.0.1: this machine alone)
  --port N              default 8080; 0: any that is free
  --allow-host NAME     a name in URLs that lead here, beside localhost and addresses (may be repeated)
  --cors ORIGIN         pages of this origin may ask, such as https://example.org; *: all pages (may be repeated)
  --api-key KEY         ask for "Authorization: Bearer KEY"; better given as WATTN_API_KEY in the environment, which other users cannot see
  --workers N           worker threads with a copy of the model each (default 1)
  --auto-truncate       cut texts that are too long (default: refuse them)
  --max-batch-tokens N  tokens of a call of the model, in which texts of several requests share its work (default 2048)
  --max-concurrent-requests N
                        more requests at a time are refused with status 429 (default 512)
  --max-client-batch-size N
                        texts of a request, at most (default 2048)
  --payload-limit N     bytes of a request's body, at most (default 2000000)

The model:
${kModelHelp}${kComputeHelp}`,
  mcp: `Usage: wattn mcp [FOLDER..] [options]

Speaks the Model Context Protocol over standard input and output, for editors and agents that start it. Tools: search (in the .txt, .md and .html files of the
folders, as they are at each search), embed, redact. It ends with its input, or, with --http, at Ctrl+C (SIGINT) or SIGTERM.

  --max-tokens N        tokens of a part, in which texts are found (default 256, at most the model's own)
  --words               search by words alone: no model, and no tool embed
  --ner MODEL           redact also replaces names, which this GLiNER model finds (default: email addresses, phone and card numbers)
  --labels A,B,C        with --ner: the names to replace (default person,organization,location)
  --http                listen instead, on http://127.0.0.1:8080/mcp; {"url": .., "path": ..} is written once it does (see wattn serve --help for
                        --host, --port, --allow-host, --cors and --api-key)

The model:
${kModelHelp}${kComputeHelp}`,
};
