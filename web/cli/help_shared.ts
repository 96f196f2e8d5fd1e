// Options that commands share, as help describes them.
export const kModelHelp = `  --model MODEL         the model: a path (./dir, /dir), a URL, or a Hub id (org/name; for one file of a GGUF repository:
                        org/name-GGUF:Q4_K_M). Default: the bundled model (embeddings and sentiment)
  --revision NAME       branch, tag or commit of a Hub id (default main)
  --local-files-only    never use the network: load Hub ids from the cache
  --cache-dir DIR       where downloads from the Hub are stored (default: wattn in the user's cache folder)
  --progress            show progress on standard error even if it is not a terminal
`;
export const kRunHelp = `  --precision exact     exact (default): bit-identical results on every machine; fast: may use fused multiply-add
  --threads N           number of threads (default: chosen for this machine; results do not depend on it)
`;
export const kComputeHelp = `  --adapter DIR         a PEFT adapter for the model: a path, a URL, or a Hub id
  --dtype f32|f16|q16|q8|q4
                        data type of the weights in memory (default f32; q8 for wattn models)
  --prefer packed       load a .gguf file from the model's repository, if it has one, instead of the original weights
${kRunHelp}`;
export const kTextsHelp = `  --file FILE           read texts from FILE, one per line (- is standard input; may be repeated)
  --input auto          auto (default): a line that begins with { is a JSON object with a "text"; its other members are
                        copied to the output. A JSON string is read as its text; any other line is a text.
                        text: every line is a text. json: every line is JSON
  --max-length N        maximum tokens, special tokens included
  --split-special-tokens
                        treat special tokens such as [SEP] in a text as ordinary text
`;
