// The programs of the panel Classify, to run as they are.
import type { EmbedOptions, ModelSpecifier } from 'wattn';
import { modelArgument, optionsArgument, quoted } from '../ui/model_code.js';
import { kSteps } from './deciding.js';

export const classifyCode = (source: ModelSpecifier | null, text: string): string => `import { pipeline } from 'wattn';

const classify = await pipeline('text-classification', ${modelArgument(source)});
for (const { label, score } of await classify(${quoted(text)}, { top_k: null })) console.log(label, score.toFixed(3));
`;

/** Which words the winning label hangs on. */
export const decidingCode = (
  source: ModelSpecifier | null,
  text: string,
): string => `import { attribute, AutoModelForSequenceClassification, AutoTokenizer } from 'wattn';

const tokenizer = await AutoTokenizer.from_pretrained(${modelArgument(source)});
const model = await AutoModelForSequenceClassification.from_pretrained(${modelArgument(source)});
const inputs = tokenizer(${quoted(text)});
const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
const { data: logits } = (await model(inputs)).logits;
const metric = { logit: logits.indexOf(Math.max(...logits)) };
for (const method of ['leave_one_out', 'gradient_x_input', 'integrated_gradients']) {
  const { scores } = await attribute(model, inputs, { method, metric, ...(method === 'integrated_gradients' && { n_steps: ${kSteps} }) });
  console.log(method, tokens.map((token, i) => \`\${token} \${scores.data[i].toFixed(2)}\`).join(' '));
}
`;

const list = (labels: readonly string[]) => `[${labels.map(quoted).join(', ')}]`;

export const zeroShotCode = (
  source: ModelSpecifier | null,
  text: string,
  labels: readonly string[],
): string => `import { pipeline } from 'wattn';

const classify = await pipeline('zero-shot-classification', ${modelArgument(source)});
const { labels, scores } = await classify(${quoted(text)}, ${list(labels)});
labels.forEach((label, i) => console.log(label, scores[i].toFixed(3)));
`;

/** For a model that knows no inference: labels by the nearness of their vectors. */
export const nearLabelsCode = (
  source: ModelSpecifier | null,
  text: string,
  labels: readonly string[],
  options: EmbedOptions,
): string => `import { cos_sim, pipeline } from 'wattn';

const labels = ${list(labels)};
const embed = await pipeline('feature-extraction', ${modelArgument(source)});
const [text, ...vectors] = (await embed([${quoted(text)}, ...labels]${optionsArgument(options)})).tolist();
labels.forEach((label, i) => console.log(label, cos_sim(text, vectors[i]).toFixed(2)));
`;

export const entitiesCode = (source: ModelSpecifier | null, text: string): string => `import { pipeline } from 'wattn';

const ner = await pipeline('token-classification', ${modelArgument(source)});
const entities = await ner(${quoted(text)}, { aggregation_strategy: 'simple' });
for (const { entity_group, word, start, end, score } of entities) console.log(entity_group, word, start, end, score.toFixed(3));
`;
