// What `wattn help` and `--help` write.
import { kAboutModels } from './help_models.js';
import { kComputeHelp, kModelHelp, kTextsHelp } from './help_shared.js';

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
  completion: 'wattn completion bash > ~/.local/share/bash-completion/completions/wattn',
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
  completion write a completion script for bash, zsh or fish

  wattn help COMMAND    show the options of a command (also: wattn COMMAND --help)
  wattn help TASK       show what a task such as feature-extraction needs, an example, and its options
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

Makes one file of the texts in folders (.txt, .md, .html), for wattn search and for index.import_file in programs and pages. Each file is a document,
and its path is its id. If FILE is there, only what changed is embedded, and documents whose files are gone are removed.
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

Says how a model was loaded and from which files, which tokens it reads of a text, and which of them are unknown or cut off. Then what it answers, whether the
numbers are finite, and whether a text has the same vector alone and in a list. Last, the same in Python, and what may surprise.

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
  completion: `Usage: wattn completion SHELL

Writes a script that completes commands, options and their values in SHELL: bash, zsh or fish.

  bash: wattn completion bash > ~/.local/share/bash-completion/completions/wattn
  zsh:  wattn completion zsh > ~/.zfunc/_wattn, where ~/.zshrc has fpath+=~/.zfunc before compinit
  fish: wattn completion fish > ~/.config/fish/completions/wattn.fish
`,
  ...kAboutModels,
};

/** What `--help` writes: for a command its usage with an example, what it does, its own options, and those that it shares with others. */
export const kHelp: Record<string, string> = Object.fromEntries(
  Object.entries(kAbout).map(([name, about]) => {
    const example = kExamples[name];
    return [name, example === undefined ? about : about.replace('\n\n', () => `\nExample: ${example}\n\n`)];
  }),
);
