// The programs of the panel Classify, to run as they are.
import type { EmbedOptions, ModelSpecifier } from 'wattn';
import { modelArgument, optionsArgument, quoted } from '../ui/model_code.js';

export const classifyCode = (source: ModelSpecifier | null, text: string): string => `import { pipeline } from 'wattn';

const classify = await pipeline('text-classification', ${modelArgument(source)});
for (const { label, score } of await classify(${quoted(text)}, { top_k: null })) console.log(label, score.toFixed(3));
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
