// What `wattn help` and `--help` write.
const kModelHelp = `  --model MODEL         the model: a path (./dir, /dir), a URL, or a hub id (org/name, or a file of GGUF's:
                        org/name-GGUF:Q4_K_M); default: the small one in the package, which embeds and classifies by sentiment
  --revision NAME       branch, tag or commit of a hub id (default main)
  --local-files-only    never use the network: a hub id comes from the cache
  --cache-dir DIR       where downloads from hubs are stored (default: wattn in the user's cache folder)
  --progress            show progress on standard error even if it is not a terminal
`;
const kRunHelp = `  --precision exact     exact: the same bits on every machine; fast: may use fused multiply-add
  --threads N           number of threads (default: chosen for this machine; results do not depend on it)
`;
const kComputeHelp = `  --adapter DIR         an adapter of PEFT for the model: a path, a URL, or a hub id
  --dtype f32|f16|q16|q8|q4
                        data type of the weights in memory (default f32; q8 for the bundled model)
  --prefer packed       load a .gguf file of the model's own repository, if it has one, in place of its weights
${kRunHelp}`;
const kTextsHelp = `  --file FILE           read texts from FILE, one per line (- is standard input; may be repeated)
  --input auto          auto (default): a line that begins with { is a JSON object with a "text", whose other members are
                        copied to the output; a JSON string is its text; any other line is a text.
                        text: every line is a text. json: every line is JSON
  --max-length N        maximum tokens, special tokens included
  --split-special-tokens
                        treat strings like [SEP] in a text as ordinary text
`;

/** A call of each command. */
const kExamples: Record<string, string> = {
  embed: 'wattn embed "The bakery opens at six."',
  classify: 'wattn classify "What a wonderful film!"',
  rank: 'wattn rank --model cross-encoder/ms-marco-MiniLM-L6-v2 --query "When can I buy rolls?" --file notes.txt',
  run: 'wattn run --task fill-mask --model google-bert/bert-base-uncased "The [MASK] opens at six."',
  redact: 'wattn redact --file letter.txt',
  chat: 'wattn chat --model HuggingFaceTB/SmolLM2-135M-Instruct --history talk.json',
  generate: 'wattn generate --model HuggingFaceTB/SmolLM2-135M-Instruct --chat --stream "Tell me a story."',
  tokenize: 'wattn tokenize --model google-bert/bert-base-uncased "The bakery opens at six."',
  index: 'wattn index notes --out notes.wattn',
  search: 'wattn search notes.wattn "when can I buy rolls"',
  inspect: 'wattn inspect --model google-bert/bert-base-uncased',
  doctor: 'wattn doctor --model sentence-transformers/all-MiniLM-L6-v2 "A text whose answer looks wrong"',
  models: 'wattn models --task feature-extraction --max-bytes 100MB',
  pack: 'wattn pack --model sentence-transformers/all-MiniLM-L6-v2 --dtype q8 --out minilm.gguf',
  download: 'wattn download --model sentence-transformers/all-MiniLM-L6-v2',
  cache: 'wattn cache list',
  evaluate: 'wattn evaluate --task sts --data pairs.tsv',
  distill: 'wattn distill --model sentence-transformers/all-MiniLM-L6-v2 --out static',
  train: 'wattn train --task text-classification --model distilbert/distilbert-base-uncased --data rows.jsonl --out trained',
  serve: 'wattn serve --port 8080',
  mcp: 'wattn mcp notes',
};

const kAbout: Record<string, string> = {
  '': `Usage: wattn COMMAND [--model MODEL] [options] [TEXT...]

  embed      write {"text": .., "embedding": [..]} per text
  classify   write {"text": .., "labels": [{"label": .., "score": ..}, ..]} per text
  rank       write {"text": .., "score": ..} per document, best first
  run        any other task: write {"text": .., "result": ..} per text
  redact     replace names and other entities by placeholders, or put them back
  generate   write {"text": .., "generated_text": ..} per text, or stream plain text
  chat       talk with a model
  tokenize   write {"text": .., "ids": [..], "tokens": [..], "offsets": [[start, end], ..]} per text, or train a tokenizer
  index      make one searchable file of a folder's texts
  search     write {"id": .., "score": .., "text": ..} per hit in such a file
  inspect    show layers, shapes, parameters, MACs, bytes and memory
  doctor     say what a model makes of a text, and what may surprise
  models     list models by task, language and size, with what they cost and are worth
  pack       write the model as one .gguf file
  evaluate   score the model on a data set
  distill    make static embeddings from an encoder
  download   download a model from a hub, to load it offline later
  cache      list or delete what was downloaded
  train      fine-tune a model on your own examples
  serve      answer over HTTP: OpenAI's routes and those of text-embeddings-inference
  mcp        tools for language models (Model Context Protocol): search folders, embed, redact

  wattn help COMMAND    show the options of a command (also: wattn COMMAND --help)
  wattn --version       show the version

Texts come from the command line, from --file, or from standard input, one per line; a blank line is an empty text. Results go to standard
output, one JSON object per line, as soon as they are ready.
The environment's HF_TOKEN opens private and gated repositories of the hub, HF_ENDPOINT names another hub.
Exit status: 0 on success; 2, with one line on standard error, for a wrong option, model or input.
`,
  embed: `Usage: wattn embed [--model MODEL] [options] [TEXT...]

Writes {"text": .., "embedding": [..]} per text; with --pooling none the embedding has one array per token. A text that was truncated
also has "truncated": true and "tokens", a text with words that the vocabulary does not know "unknown" (their share of its tokens).

  --pooling MODE        none, mean, cls, max, mean_sqrt_len_tokens, weightedmean, lasttoken, or several
                        of them, separated by commas (default: the model's own, else none)
  --normalize, --no-normalize
                        scale embeddings to unit length, or do not (default: the model's own)
  --prompt TEXT         prefix of every text
  --prompt-name NAME    use one of the model's own prompts
  --model-task NAME     use one of the model's own tasks, with its instruction (jina-embeddings-v3)
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}
The model:
${kModelHelp}${kComputeHelp}`,
  classify: `Usage: wattn classify [--model MODEL] [options] [TEXT...]

Writes {"text": .., "labels": [{"label": .., "score": ..}, ..]} per text, best label first. An input JSON object may have a second text,
"text_pair".

  --top-k N             labels per text (default: all)
  --function NAME       softmax, sigmoid or none (default: as in Python's pipeline)
  --labels A,B,C        your own labels; the model must be trained on natural language inference (zero-shot)
  --multi-label         score each of your labels independently
  --hypothesis TEXT     hypothesis for each of your labels, which replaces {} (default "This example is {}.")
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}
The model:
${kModelHelp}${kComputeHelp}`,
  rank: `Usage: wattn rank --model MODEL --query TEXT [options] [DOCUMENT...]

Writes {"text": .., "corpus_id": .., "score": ..} per document, the best answer to the query first.

  --query TEXT          the query that documents are ranked for
  --late-interaction    the model is a ColBERT (default: a cross-encoder)
  --top-k N             number of documents (default: all)
  --stream              write each document with its score at once, in input order
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}
The model:
${kModelHelp}${kComputeHelp}`,
  run: `Usage: wattn run --task TASK --model MODEL [options] [TEXT...]

Writes {"text": .., "result": ..} per text; the result is that of pipeline(TASK).

  --task TASK           token-classification (ner), zero-shot-ner, question-answering, fill-mask, text-classification,
                        zero-shot-classification, sparse-encoding (words and their weights)
  --options JSON        options of the pipeline call: {"aggregation_strategy": "simple", "stride": 32}
  --question TEXT       question-answering: the question for every text (default: "question" of the JSON object)
  --labels A,B,C        zero-shot-classification, zero-shot-ner: the labels
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}
The model:
${kModelHelp}${kComputeHelp}`,
  redact: `Usage: wattn redact [--model MODEL] [options] [TEXT...]
       wattn redact --restore --map FILE [TEXT...]

Writes {"text": .., "entities": [{"label": .., "placeholder": .., "score": ..}, ..]} per text, with placeholders such as [PERSON_1] in place of
what a model, a rule or a pattern finds. Equal texts get equal placeholders. --restore puts back what they stand for.

  --labels A,B,C        what to replace: any labels for zero-shot-ner, the model's tags for token-classification
  --task TASK           zero-shot-ner (default: a GLiNER model) or token-classification
  --threshold T         least score, from 0 to 1 (default 0.5, of token-classification 0)
  --rules A,B           kinds that rules find: email, phone, iban, card, national_id, ip, mac, url_secret, key, crypto, birth_date, address; all or none
                        (default: all; none with --patterns and without --model)
  --countries A,B       ISO codes: phone numbers of these countries are also found without a plus sign
  --allow A,B           texts that are never replaced
  --patterns A,B        also replace what the patterns email, phone and card match
  --format FORMAT       text, html, json or csv: reads each --file, or standard input, as a whole and writes it redacted, not as lines of JSON
  --audit FILE          with --format: write what was replaced, where, why and how surely, without the values, as lines of JSON
  --map FILE            JSON of placeholders and what they stand for: read if it is there, and written at the end
  --restore             replace placeholders by what they stand for
  --file FILE, --input auto
                        as in the other commands

The model:
${kModelHelp}${kComputeHelp}`,
  generate: `Usage: wattn generate --model MODEL [options] [TEXT...]

Writes {"text": .., "generated_text": .., "tokens": .., "finish_reason": "eos" | "stop" | "length" | "time"} per text. A decoder continues the
text; an encoder-decoder (T5, BART, Marian) transforms it.

  --context-length N    maximum tokens of prompt and answer together (default: the model's own, at most 4096)
  --kv-cache-dtype q8   hold keys and values in 8 bits: 0.28 of their memory, the numbers change a little
  --task TASK           translation or summarization: uses the prefix and parameters of config.json for that task
  --max-new-tokens N    maximum tokens of an answer (default: the model's own, else 256)
  --temperature T, --top-k N, --top-p P, --seed N
                        parameters of sampling (default: those of generation_config.json)
  --sample              sample tokens instead of taking the most likely one
  --num-beams N         use beam search with N beams
  --stop TEXT           end an answer at this text (may be repeated)
  --full-text           include the prompt in generated_text
  --schema FILE         a decoder writes JSON that satisfies the JSON Schema in FILE; a line has it as parsed, too
  --chat                treat each text as a user message and apply the model's chat template
  --stream              write the new text as it is generated, without JSON
  --options JSON        more options of the pipeline call: {"repetition_penalty": 1.2}
  --file FILE, --input auto
                        as in the other commands

The model:
${kModelHelp}${kComputeHelp}`,
  chat: `Usage: wattn chat --model MODEL [options] [MESSAGE]

Talks with a model that has a chat template. In a terminal it asks for messages until Ctrl+D; /help lists what can be asked of it. With MESSAGE
it answers that one first. Elsewhere each line of standard input is a message of one conversation, and the answers go to standard output.
What was said before is not computed again.

  --system TEXT         the system message
  --file FILE           put a file's text before the first message (may be repeated)
  --history FILE        go on with the conversation in FILE, and keep it there after each answer (JSON messages)
  --schema FILE         answers are JSON that satisfies the JSON Schema in FILE
  --no-thinking         ask models that think first not to (enable_thinking: false)
  --context-length N    maximum tokens of the conversation (default: the model's own, at most 4096)
  --kv-cache-dtype q8   hold keys and values in 8 bits: 0.28 of their memory, the numbers change a little
  --max-new-tokens N    maximum tokens of an answer (default: the model's own, else 256)
  --temperature T, --top-k N, --top-p P, --seed N, --sample
                        parameters of sampling (default: those of generation_config.json)
  --stop TEXT           end an answer at this text (may be repeated)
  --options JSON        more options of the pipeline call: {"repetition_penalty": 1.2}

The model:
${kModelHelp}${kComputeHelp}`,
  tokenize: `Usage: wattn tokenize [--model MODEL] [options] [TEXT...]
       wattn tokenize --train MODEL --out FILE [options] [FILE...]

Writes {"text": .., "ids": [..], "tokens": [..], "offsets": [[start, end], ..]} per text. Texts are truncated only with --max-length.

  --offsets utf16       unit of the offsets: utf16 (JavaScript, default) or codepoint (Python)
  --no-special          add no special tokens
${kTextsHelp}
--train makes a tokenizer.json from the lines of FILEs or of standard input. Python's tokenizers and transformers can load it.

  --train MODEL         wordpiece, bpe, unigram, word or char
  --out FILE            the tokenizer.json to write
  --vocab-size N        vocabulary size, special tokens included (default 30000; unigram 8000)
  --min-frequency N     minimum occurrences of a token
  --special-token TOKEN replaces the default special tokens (may be repeated)
  --options JSON        more options of AutoTokenizer.train: {"normalizer": {"type": "NFC"}, "limit_alphabet": 1000, ..}

The model:
${kModelHelp}`,
  index: `Usage: wattn index FOLDER.. --out FILE [options]
       wattn index SITE --static DIR [options]

Makes one file of the texts in folders (.txt, .md, .html; each file is a document, its path is its id), for wattn search and for index.import_file in
programs and pages. If FILE is there, only what changed is embedded, and documents whose files are gone are removed.
{"out": .., "bytes": .., "documents": .., "chunks": .., "added": .., "updated": .., "unchanged": .., "removed": .., "empty": ..} is written at the end.

  --out FILE            the file to write
  --max-tokens N        tokens of a part, in which texts are found (default 256, at most the model's own)
  --overlap N           tokens that neighbouring parts share (default 0)
  --vectors int8        int8 (default): a byte a number; binary: bits find, bytes rank; float32: all
  --language en         compare words by their stems: en, de, .. (docs/search.md), auto, or none; it is kept in the file
  --words               no vectors: words alone
  --static DIR          instead of --out: search for the static site in the folder, as files that its pages read in parts
  --base URL            with --static: where the site's pages are (default: relative to DIR if it is in the site, else /)

The model:
${kModelHelp}${kComputeHelp}`,
  search: `Usage: wattn search FILE [options] QUERY...

Writes {"id": .., "title": .., "score": .., "start": .., "end": .., "text": .., "why": {"words": .., "meaning": .., "rank": null}} per hit, best first; with
several queries also "query". The model must be the one that made the file.

  --top-k N             hits per query (default 10)
  --mode hybrid         hybrid (default): words and meaning; words; meaning
  --syntax auto         "a phrase", -word and title:word in queries: auto (default): in short ones of one line; always; never
  --prefix              the last word also finds words that begin with it
  --fuzzy               unknown words also find words that are spelt nearly like them
  --words               the file has no vectors, or no model is at hand: words alone

The model:
${kModelHelp}${kComputeHelp}`,
  inspect: `Usage: wattn inspect [--model MODEL] [options]

  --seq N               sequence length for shapes and MACs (default: the model's maximum)
  --plan                write the steps of the forward pass instead of a table
  --json                write one JSON object instead of a table

The model:
${kModelHelp}${kComputeHelp}`,
  doctor: `Usage: wattn doctor [--model MODEL] [options] [TEXT]

Says how a model was loaded and from which files, which tokens it reads of a text, which of them are unknown or cut off, what it answers, whether the numbers
are finite and a text has the same vector alone and in a list, what computes the same in Python, and what of all this may surprise.

  --task TASK           feature-extraction, text-classification, token-classification, fill-mask, text-generation or text2text-generation (default: what
                        the model's files say)
  --json                write one JSON object instead of a table

The model:
${kModelHelp}${kComputeHelp}`,
  models: `Usage: wattn models [options]

Lists models that are known to work: what each is good for, its task, languages, bytes to download, memory, time, licence and quality.

  --task TASK           only those for this task: feature-extraction, text-classification, ..
  --language CODE       only those that read this language: en, de, ..
  --max-bytes N         only those whose download is not larger: 50000000, or 50MB
  --json                write one JSON object per line
`,
  pack: `Usage: wattn pack --model MODEL --out FILE.gguf [options]
       wattn pack --model MODEL --hub DIR [options]

Writes a model as one file that loads like the original, and {"file": .., "bytes": .., "original_bytes": .., "sha256": ..} to standard output.

  wattn pack --model ./all-MiniLM-L6-v2 --dtype q4 --vocab 16000 --corpus texts.txt --check sts-test.csv --out small.gguf
  wattn pack --model sentence-transformers/all-MiniLM-L6-v2 --dtype native --hub ./minilm

  --out FILE            the file to write
  --hub DIR             instead: a new folder to publish as a repository: the file, a card (README.md) with the original's licence,
                        language and name, its licence files, config.json and the tokenizer's files
  --dtype f32|f16|q8|q4|mixed|native
                        data type of the matrices (default q8: 8.5 bits per weight; q4: 4.5, less accurate; mixed: q4 where it
                        costs least, else q8; native: 8.5 as wattn's q8 multiplies them, which load fastest)
  --vocab N             keep N pieces of the vocabulary: special tokens, single characters, and what --corpus uses most
  --corpus FILE         texts like those that the model will read, one per line (may be repeated)
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

Ctrl+C stops after the current update and keeps the run's state in --out; --resume goes on from there, and ends with the same bits as a run
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
  --seed N              of the order of rows and of LoRA's first values (default 0)
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
                        bytes of keys and values that are kept of chats, so that their next turn reads only what is new; 0: none (default: as
                        many as one chat of the longest length takes, at most 512 MB)
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

/** What `--help` writes: for a command its usage with an example, what it does, its own options, and those that it shares with others. */
export const kHelp: Record<string, string> = Object.fromEntries(
  Object.entries(kAbout).map(([name, about]) => {
    const example = kExamples[name];
    return [name, example === undefined ? about : about.replace('\n\n', () => `\nExample: ${example}\n\n`)];
  }),
);
