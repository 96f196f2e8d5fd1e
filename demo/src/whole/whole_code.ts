// The program of the picture's numbers, to run as it is.
import type { ModelSpecifier } from 'wattn';
import { modelArgument, quoted } from '../ui/model_code.js';
import type { WholeKind } from './whole_model.js';

const kClasses = { decoder: 'AutoModelForCausalLM', masked: 'AutoModelForMaskedLM', encoder: 'AutoModel' } as const;

export function wholeCode(source: ModelSpecifier | null, kind: WholeKind, text: string): string {
  const model = modelArgument(source);
  const name = kClasses[kind];
  return `import { ${name}, AutoTokenizer } from 'wattn';

const tokenizer = await AutoTokenizer.from_pretrained(${model});
const model = await ${name}.from_pretrained(${model}, { dtype: 'f32' });
const inputs = tokenizer(${quoted(text)});
const out = await model(inputs, { output_attentions: true, output_qkv: true, output_hidden_states: true });
const { hidden_states, queries, keys, values, attentions } = out; // one of each for every layer
console.log(tokenizer.convert_ids_to_tokens(inputs.input_ids).join(' '));
console.log('vectors', hidden_states.map(({ dims }) => dims.join(' x ')).join(', '));
console.log('layer 1: queries', queries[0].dims, 'keys', keys[0].dims, 'values', values[0].dims, 'attention', attentions[0].dims);
`;
}
