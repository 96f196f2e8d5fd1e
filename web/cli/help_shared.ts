// Options that commands share, as help describes them.
export const kModelHelp = `  --model MODEL         the model: a path (./dir, /dir), a URL, or a hub id (org/name, or a file of GGUF's:
                        org/name-GGUF:Q4_K_M). Default: the small one in the package, which embeds and classifies by sentiment
  --revision NAME       branch, tag or commit of a hub id (default main)
  --local-files-only    never use the network: a hub id comes from the cache
  --cache-dir DIR       where downloads from hubs are stored (default: wattn in the user's cache folder)
  --progress            show progress on standard error even if it is not a terminal
`;
export const kRunHelp = `  --precision exact     exact: the same bits on every machine; fast: may use fused multiply-add
  --threads N           number of threads (default: chosen for this machine; results do not depend on it)
`;
export const kComputeHelp = `  --adapter DIR         an adapter of PEFT for the model: a path, a URL, or a hub id
  --dtype f32|f16|q16|q8|q4
                        data type of the weights in memory (default f32; q8 for the bundled model)
  --prefer packed       load a .gguf file of the model's own repository, if it has one, in place of its weights
${kRunHelp}`;
export const kTextsHelp = `  --file FILE           read texts from FILE, one per line (- is standard input; may be repeated)
  --input auto          auto (default): a line that begins with { is a JSON object with a "text", whose other members are
                        copied to the output. A JSON string is its text, and any other line is a text.
                        text: every line is a text. json: every line is JSON
  --max-length N        maximum tokens, special tokens included
  --split-special-tokens
                        treat strings like [SEP] in a text as ordinary text
`;
