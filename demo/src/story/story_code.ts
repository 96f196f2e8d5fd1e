// The program of the story's numbers, to run as it is.
import type { EmbedOptions, ModelSpecifier } from 'wattn';
import { modelArgument, optionsArgument, quoted } from '../ui/model_code.js';
import type { Link } from '../attention/evidence.js';
import { kOthers } from './scenes.js';

/** options: how this page makes vectors of the model. */
export function storyCode(source: ModelSpecifier | null, text: string, { layer, head, from }: Link, options: EmbedOptions): string {
  const model = modelArgument(source);
  return `import { AutoModel, AutoTokenizer, cos_sim, pipeline } from 'wattn';

const text = ${quoted(text)};
const tokenizer = await AutoTokenizer.from_pretrained(${model});
const model = await AutoModel.from_pretrained(${model});

const inputs = tokenizer(text);
const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
const { attentions } = await model(inputs, { output_attentions: true });
const [layer, head, from] = [${layer}, ${head}, ${from}];
const weights = attentions[layer].tolist()[0][head][from];
tokens.forEach((token, i) => console.log(token.padEnd(12), weights[i].toFixed(3)));

const embed = await pipeline('feature-extraction', ${model});
const others = [
${kOthers.map((other) => `  ${quoted(other)},`).join('\n')}
];
const [vector, ...rest] = (await embed([text, ...others]${optionsArgument(options)})).tolist();
rest.forEach((other, i) => console.log(cos_sim(vector, other).toFixed(2), others[i]));
`;
}
