// The program of the panel Map, to run as it is.
import type { EmbedOptions, ModelSpecifier } from 'wattn';
import { modelArgument, optionsArgument, quoted } from '../ui/model_code.js';
import type { Row } from './rows.js';

const kMostTexts = 12;

export function mapCode(source: ModelSpecifier | null, rows: readonly Row[], options: EmbedOptions): string {
  const texts = rows.slice(0, kMostTexts).map(({ text }) => `  ${quoted(text)},`);
  return `import { UMAP } from 'umap-js'; // npm install umap-js
import { pipeline } from 'wattn';

const texts = [
${texts.join('\n')}
];
const embed = await pipeline('feature-extraction', ${modelArgument(source)});
const { data, dims } = await embed(texts${optionsArgument(options)});
const rows = texts.map((_, i) => Array.from(data.slice(i * dims[1], (i + 1) * dims[1])));
const umap = new UMAP({ nNeighbors: Math.min(15, texts.length - 1), minDist: 0.1 });
umap.fit(rows).forEach(([x, y], i) => console.log(x.toFixed(2), y.toFixed(2), texts[i]));
`;
}
