// The programs of the panel Attention, to run as they are.
import type { ModelSpecifier } from 'wattn';
import { modelArgument, quoted } from '../ui/model_code.js';
import type { Head } from './use_inside.js';

export const attentionCode = (
  source: ModelSpecifier | null,
  text: string,
  pair: string,
  [layer, head]: Head,
): string => `import { AutoModel, AutoTokenizer } from 'wattn';

const tokenizer = await AutoTokenizer.from_pretrained(${modelArgument(source)});
const model = await AutoModel.from_pretrained(${modelArgument(source)});
const inputs = tokenizer(${quoted(text)}${pair.trim() === '' ? '' : `, { text_pair: ${quoted(pair)} }`});
const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
const { attentions } = await model(inputs, { output_attentions: true });
const weights = attentions[${layer}].tolist()[0][${head}]; // layer ${layer + 1}, head ${head + 1}
tokens.forEach((token, i) => {
  const most = weights[i].indexOf(Math.max(...weights[i]));
  console.log(\`\${token} looks at \${tokens[most]} with \${weights[i][most].toFixed(2)}\`);
});
`;

/** Activation patching: one vector at a time is taken over from the other text. */
export const patchingCode = (
  source: ModelSpecifier | null,
  text: string,
  other: string,
): string => `import { AutoModel, AutoTokenizer, Tensor } from 'wattn';

const tokenizer = await AutoTokenizer.from_pretrained(${modelArgument(source)});
const model = await AutoModel.from_pretrained(${modelArgument(source)});
const inputs = tokenizer(${quoted(text)});
const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
const own = await model(inputs, { output_hidden_states: true });
const donor = await model(tokenizer(${quoted(other)}), { output_hidden_states: true });
const mean = ({ last_hidden_state }) => last_hidden_state.mean(1).data;
const [from, to] = [mean(own), mean(donor)];
const way = from.map((value, k) => to[k] - value);
const length = way.reduce((sum, step) => sum + step * step, 0);
for (let layer = 1; layer < own.hidden_states.length; ++layer) {
  for (const [i, token] of tokens.entries()) {
    const { data, dims } = own.hidden_states[layer];
    const size = dims.at(-1);
    const mixed = data.slice();
    mixed.set(donor.hidden_states[layer].data.subarray(i * size, (i + 1) * size), i * size);
    const patch = { [\`layer.\${layer - 1}.output\`]: new Tensor('float32', mixed, dims) };
    const moved = mean(await model(inputs, { patch }));
    const share = way.reduce((sum, step, k) => sum + step * (moved[k] - from[k]), 0) / length;
    console.log(\`layer \${layer}, \${token}: \${Math.round(100 * share)} %\`);
  }
}
`;

/** What each layer would say. */
export const lensCode = (
  source: ModelSpecifier | null,
  text: string,
): string => `import { AutoModelForMaskedLM, AutoTokenizer } from 'wattn';

const tokenizer = await AutoTokenizer.from_pretrained(${modelArgument(source)});
const model = await AutoModelForMaskedLM.from_pretrained(${modelArgument(source)});
const { logit_lens } = await model(tokenizer(${quoted(text)}), { logit_lens: 1 });
const [layers, , tokens] = logit_lens.ids.dims;
const ids = [...logit_lens.ids.data];
for (let layer = 0; layer < layers; ++layer) {
  const best = ids.slice(layer * tokens, (layer + 1) * tokens);
  console.log(\`after layer \${layer}:\`, ...tokenizer.convert_ids_to_tokens(best));
}
`;
