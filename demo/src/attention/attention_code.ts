// The program of the panel Attention, to run as it is.
import type { ModelSpecifier } from 'wattn';
import { modelArgument, quoted } from '../ui/model_code.js';
import type { Head } from './attention.js';

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
