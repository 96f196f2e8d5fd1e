// The programs of the panel Compare, to run as they are.
import type { EmbedOptions, ModelSpecifier } from 'wattn';
import { modelArgument, optionsArgument, quoted } from '../ui/model_code.js';

const begin = (
  source: ModelSpecifier | null,
  texts: readonly string[],
  names: string,
) => `import { ${names}, pipeline } from 'wattn';

const texts = [
${texts.map((text) => `  ${quoted(text)},`).join('\n')}
];
const embed = await pipeline('feature-extraction', ${modelArgument(source)});
`;

export const similarityCode = (source: ModelSpecifier | null, texts: readonly string[], options: EmbedOptions): string =>
  `${begin(source, texts, 'cos_sim')}const vectors = (await embed(texts${optionsArgument(options)})).tolist();
for (const a of vectors) console.log(vectors.map((b) => cos_sim(a, b).toFixed(2).padStart(5)).join(' '));
`;

/** options: of the query, which may have a prompt of its own. */
export const nearestCode = (
  source: ModelSpecifier | null,
  texts: readonly string[],
  options: EmbedOptions,
  query: string,
  queryOptions: EmbedOptions,
): string =>
  `${begin(source, texts, 'semantic_search')}const vectors = await embed(texts${optionsArgument(options)});
const query = await embed(${quoted(query)}${optionsArgument(queryOptions)});
const [hits] = semantic_search(query, vectors, { top_k: texts.length });
for (const { corpus_id, score } of hits) console.log(score.toFixed(2), texts[corpus_id]);
`;
