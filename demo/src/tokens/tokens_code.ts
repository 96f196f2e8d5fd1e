// The program of the panel Tokens, to run as it is.
import type { ModelSpecifier } from 'wattn';
import { modelArgument, quoted } from '../ui/model_code.js';

export const tokensCode = (source: ModelSpecifier | null, text: string): string => `import { AutoTokenizer } from 'wattn';

const text = ${quoted(text)};
const tokenizer = await AutoTokenizer.from_pretrained(${modelArgument(source)});
const { input_ids, offset_mapping } = tokenizer(text, { return_offsets_mapping: true, return_tensor: false });
tokenizer.convert_ids_to_tokens(input_ids).forEach((token, i) => console.log(token, input_ids[i], text.slice(...offset_mapping[i])));
`;
