// The program of the panel Search, to run as it is: with the first texts of the index, or with one's own.
import type { EmbedOptions, ModelSpecifier } from 'wattn';
import { modelArgument, optionsArgument, quoted } from '../ui/model_code.js';
import type { IndexFacts } from './types.js';

const kTexts = 8; // of the index that are written out

/** The embedder as an option of Index: with options, where the model's files do not say how to pool. */
const embedder = (options: EmbedOptions) => {
  const given = optionsArgument(options);
  return given === '' ? 'embed' : `embed: (texts, kind) => embed[\`encode_\${kind}\`](texts${given})`;
};

export const searchCode = (
  source: ModelSpecifier | null,
  facts: IndexFacts,
  query: string,
  options: EmbedOptions,
): string => `import { Index, pipeline } from 'wattn';

const embed = await pipeline('feature-extraction', ${modelArgument(source)});
const index = await Index.open('notes', { ${embedder(options)}, store: 'memory' });
await index.add([
${facts.pieces
  .slice(0, kTexts)
  .map(({ text }, i) => `  { id: 'text ${i + 1}', text: ${quoted(text)} },`)
  .join('\n')}
]);
for (const { id, score, text, why } of await index.search(${quoted(query)}, { top_k: 5 })) console.log(score.toFixed(2), id, why, text);
`;
