// The program of the panel Words, to run as it is.
import { quoted } from '../ui/model_code.js';
import { kWord2Vec } from './options.js';

const kMostLines = 300; // of a longer text, these are in the program

export function wordsCode(text: string, [a, b, c]: readonly string[], minCount: number): string {
  const lines = text.split('\n').slice(0, kMostLines);
  const options = { ...kWord2Vec, min_count: minCount };
  const written = Object.entries(options).map(([name, value]) => `${name}: ${value}`);
  return `import { Word2Vec } from 'wattn';

const text = ${quoted(lines.join('\n'))};${lines.length === kMostLines ? ' // the beginning: put all of your text here' : ''}
const vectors = await Word2Vec.train(text, { ${written.join(', ')} });
const words = [${[a, b, c].map((word) => quoted(word ?? '')).join(', ')}];
if (words.every((word) => vectors.has(word))) console.log(vectors.analogy(...words, { topn: 3 }));
console.log(vectors.words[3], vectors.most_similar(vectors.words[3]).slice(0, 5));
`;
}
