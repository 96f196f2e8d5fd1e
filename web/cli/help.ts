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
  redact     replace names and other entities with placeholders, or restore them
  generate   write {"text": .., "generated_text": ..} per text, or stream plain text
  chat       chat with a model
  tokenize   write {"text": .., "ids": [..], "tokens": [..], "offsets": [[start, end], ..]} per text, or train a tokenizer
  index      index the texts of a folder into one searchable file
  search     search that file: write {"id": .., "score": .., "text": ..} per hit
  inspect    show layers, shapes, parameters, MACs, bytes and memory
  doctor     show how a model was loaded, what it does with a text, and common surprises
  models     list models by task, language and size, with their cost and quality
  pack       write the model as one .gguf file
  evaluate   score the model on a data set
  distill    make static embeddings from an encoder
  download   download a model from the Hub to load it offline later
  cache      list or delete downloaded models
  train      fine-tune a model on your own examples
  serve      serve a model over HTTP, with the routes of OpenAI and text-embeddings-inference
  mcp        serve tools to language models (Model Context Protocol): search folders, embed, redact
  completion write a completion script for bash, zsh or fish

  wattn help COMMAND    show the options of a command (also: wattn COMMAND --help)
  wattn help TASK       show what a task such as feature-extraction needs, an example, and its options
  wattn --version       show the version

Texts come from the command line, from --file, or from standard input, one per line; a blank line is an empty text. Results go to standard
output, one JSON object per line, as soon as they are ready.
Environment variables: HF_TOKEN gives access to private and gated repositories; HF_ENDPOINT sets the address of another Hub.
Exit status: 0 on success; 2, with one line on standard error, if an option, model or input is wrong.
`,
  embed: `Usage: wattn embed [--model MODEL] [options] [TEXT...]

Writes {"text": .., "embedding": [..]} per text; with --pooling none the embedding has one array per token. A truncated text
also has "truncated": true and "tokens". A text with unknown words also has "unknown": their share of its tokens.

  --pooling MODE        none, mean, cls, max, mean_sqrt_len_tokens, weightedmean, lasttoken, or several
                        of them, separated by commas (default: the model's own, else none)
  --normalize, --no-normalize
                        scale embeddings to unit length, or do not (default: the model's own)
  --prompt TEXT         prefix for every text
  --prompt-name NAME    use one of the model's own prompts
  --model-task NAME     use one of the model's own tasks, with its instruction (jina-embeddings-v3)
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}
The model:
${kModelHelp}${kComputeHelp}`,
  classify: `Usage: wattn classify [--model MODEL] [options] [TEXT...]

Writes {"text": .., "labels": [{"label": .., "score": ..}, ..]} per text, best label first. An input JSON object may have a second text:
"text_pair".

  --top-k N             labels per text (default: all)
  --function NAME       softmax, sigmoid or none (default: as in Python's pipeline)
  --labels A,B,C        your own labels; needs a model for natural language inference, GLiClass or GLiNER2
  --multi-label         score each of your labels independently
  --hypothesis TEXT     hypothesis template, with {} in place of the label (default "This example is {}.")
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}
The model:
${kModelHelp}${kComputeHelp}`,
  rank: `Usage: wattn rank --model MODEL --query TEXT [options] [DOCUMENT...]

Writes {"text": .., "corpus_id": .., "score": ..} per document, the best answer to the query first.

  --query TEXT          the query to rank documents by
  --late-interaction    the model is a ColBERT (default: a cross-encoder)
  --top-k N             number of documents (default: all)
  --stream              write each document with its score as soon as it is ready, in input order
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}
The model:
${kModelHelp}${kComputeHelp}`,
  run: `Usage: wattn run --task TASK --model MODEL [options] [TEXT...]

Writes {"text": .., "result": ..} per text, with the result of pipeline(TASK).

  --task TASK           token-classification (ner), zero-shot-ner, question-answering, fill-mask, text-classification,
                        zero-shot-classification, information-extraction, sparse-encoding (words and their weights)
  --options JSON        options of the pipeline call: {"aggregation_strategy": "simple", "stride": 32}
  --question TEXT       question-answering: the question for every text (default: the JSON object's "question")
  --labels A,B,C        zero-shot-classification, zero-shot-ner: the labels
  --schema FILE         information-extraction: JSON with what to extract: {"structures": {"product": ["name::str", "price"]}}
  --on-overflow MODE    truncate (default) or error
${kTextsHelp}
The model:
${kModelHelp}${kComputeHelp}`,
  redact: `Usage: wattn redact [--model MODEL] [options] [TEXT...]
       wattn redact --restore --map FILE [TEXT...]

Writes {"text": .., "entities": [{"label": .., "placeholder": .., "score": ..}, ..]} per text, with placeholders such as [PERSON_1] in place of
entities found by a model, a rule or a pattern. Equal entities get equal placeholders. --restore puts the original texts back.

  --labels A,B,C        what to replace: any labels for zero-shot-ner, the model's tags for token-classification
  --task TASK           zero-shot-ner (default: a GLiNER model) or token-classification
  --threshold T         minimum score, from 0 to 1 (default 0.5; 0 for token-classification)
  --rules A,B           entities to find by rules: email, phone, iban, card, national_id, ip, mac, url_secret, key, crypto, birth_date, address; all or none
                        (default: all; none with --patterns and without --model)
  --countries A,B       ISO codes: also find phone numbers of these countries without a plus sign
  --allow A,B           texts to never replace
  --patterns A,B        also replace matches of the patterns email, phone and card
  --format FORMAT       text, html, json or csv: read each --file, or standard input, as one document and write it redacted, instead of lines of JSON
  --audit FILE          with --format: write what was replaced, where, why and with what score, without the values, as lines of JSON
  --map FILE            JSON of placeholders and their original texts: read if it exists, and written at the end
  --restore             replace placeholders with the original texts
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
                        sampling parameters (default: those of generation_config.json)
  --sample              sample tokens instead of taking the most likely one
  --num-beams N         use beam search with N beams
  --stop TEXT           end an answer at this text (may be repeated)
  --full-text           include the prompt in generated_text
  --schema FILE         decoders: write JSON that satisfies the JSON Schema in FILE; each line also has the parsed value as parsed
  --chat                treat each text as a user message and apply the model's chat template
  --stream              write the text as it is generated, without JSON
  --options JSON        more options of the pipeline call: {"repetition_penalty": 1.2}
  --file FILE, --input auto
                        as in the other commands

The model:
${kModelHelp}${kComputeHelp}`,
  chat: `Usage: wattn chat --model MODEL [options] [MESSAGE]

Chats with a model that has a chat template. In a terminal, type messages until Ctrl+D; /help lists the commands. If MESSAGE is given, it is answered
first. Without a terminal, each line of standard input is a message of one conversation, and the answers go to standard output.
Earlier messages are not computed again.

  --system TEXT         the system message
  --file FILE           put a file's text before the first message (may be repeated)
  --history FILE        continue the conversation in FILE, and save it there after each answer (JSON messages)
  --schema FILE         answers are JSON that satisfies the JSON Schema in FILE
  --no-thinking         turn off thinking in models that support it (enable_thinking: false)
  --context-length N    maximum tokens of the conversation (default: the model's own, at most 4096)
  --kv-cache-dtype q8   hold keys and values in 8 bits: 0.28 of their memory, the numbers change a little
  --max-new-tokens N    maximum tokens of an answer (default: the model's own, else 256)
  --temperature T, --top-k N, --top-p P, --seed N, --sample
                        sampling parameters (default: those of generation_config.json)
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
--train trains a tokenizer on the lines of each FILE, or of standard input, and writes a tokenizer.json. Python's tokenizers and transformers can load it.

  --train MODEL         wordpiece, bpe, unigram, word or char
  --out FILE            the tokenizer.json to write
  --vocab-size N        vocabulary size, special tokens included (default 30000; unigram 8000)
  --min-frequency N     minimum number of occurrences of a token
  --special-token TOKEN a special token, instead of the default ones (may be repeated)
  --options JSON        more options of AutoTokenizer.train: {"normalizer": {"type": "NFC"}, "limit_alphabet": 1000, ..}

The model:
${kModelHelp}`,
  index: `Usage: wattn index FOLDER.. --out FILE [options]
       wattn index SITE --static DIR [options]

Indexes the .txt, .md and .html files of folders into one file, for wattn search and for index.import_file in programs and pages. Each file is a document;
its path is its id. If FILE exists, it is updated: only changed documents are embedded, and documents whose files no longer exist are removed.
At the end, it writes {"out": .., "bytes": .., "documents": .., "chunks": .., "added": .., "updated": .., "unchanged": .., "removed": .., "empty": ..}.

  --out FILE            the file to write
  --max-tokens N        maximum tokens per chunk (default 256, at most the model's own)
  --overlap N           tokens that neighbouring chunks share (default 0)
  --vectors int8        int8 (default): one byte per number; binary: find by bits, rank by bytes; float32: full precision
  --language en         compare words by their stems: en, de, .. (docs/search.md), auto, or none; stored in the file
  --words               keyword search only, without vectors
  --static DIR          instead of --out: write a search index for the static site in the folder, as files that its pages load in parts
  --base URL            with --static: the URL of the site's pages (default: relative to DIR if it is in the site, else /)

The model:
${kModelHelp}${kComputeHelp}`,
  search: `Usage: wattn search FILE [options] QUERY...

Writes {"id": .., "title": .., "score": .., "start": .., "end": .., "text": .., "why": {"words": .., "meaning": .., "rank": null}} per hit, best first; with
several queries also "query". Use the same model that made the file.

  --top-k N             hits per query (default 10)
  --mode hybrid         hybrid (default): keyword and semantic search; words: keyword search; meaning: semantic search
  --syntax auto         read "a phrase", -word and title:word in queries: auto (default): in short queries of one line; always; never
  --prefix              the last word also matches words that begin with it
  --fuzzy               unknown words also match words with a similar spelling
  --words               keyword search only, without a model; needed if the file has no vectors

The model:
${kModelHelp}${kComputeHelp}`,
  inspect: `Usage: wattn inspect [--model MODEL] [options]

  --seq N               sequence length for shapes and MACs (default: the model's maximum)
  --plan                write the steps of the forward pass instead of a table
  --json                write one JSON object instead of a table

The model:
${kModelHelp}${kComputeHelp}`,
  doctor: `Usage: wattn doctor [--model MODEL] [options] [TEXT]

Shows how a model was loaded and from which files, how it tokenizes a text, and which tokens are unknown or cut off. Then shows its answer, checks that the
numbers are finite, and checks that a text has the same vector alone and in a list. Last come the same call in Python and common surprises.

  --task TASK           feature-extraction, text-classification, token-classification, fill-mask, text-generation, text2text-generation, zero-shot-ner or
                        zero-shot-classification, which look for a person, a place and a time (default: from the model's files)
  --json                write one JSON object instead of a table

The model:
${kModelHelp}${kComputeHelp}`,
  models: `Usage: wattn models [options]

Lists models known to work: what each is good for, its task, languages, download size, memory, time, licence and quality.

  --task TASK           only models for this task: feature-extraction, text-classification, ..
  --language CODE       only models for this language: en, de, ..
  --max-bytes N         only models with at most this download size: 50000000, or 50MB
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
