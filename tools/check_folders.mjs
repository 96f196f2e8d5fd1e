// Compares tokenizers of random folders with Python's. `node tools/check_folders.mjs FILE`, where tools/check_folders.py wrote FILE.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { differences } from '../tests/web/folder_answers.mjs';
import { AutoTokenizer } from '../dist/tokenizer_entry_node.js';

const counts = { equal: 0, differs: 0, 'refused here': 0, 'refused by Python': 0, 'refused by both': 0 };
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const { seed, files: given, texts, answer } = JSON.parse(line);
  const files = Object.fromEntries(
    Object.entries(given).map(([name, data]) => [name, new Uint8Array(Buffer.from(data, 'base64'))]),
  );
  let tokenizer;
  try {
    tokenizer = await AutoTokenizer.from_pretrained(files);
  } catch (error) {
    if (!/^(Unsupported|ModelFormat)Error$/.test(error.name)) throw error;
    ++counts[answer.error ? 'refused by both' : 'refused here'];
    if (!answer.error && process.argv.includes('--refused')) console.log(`seed ${seed}: ${error.message}`);
    continue;
  }
  if (answer.error) {
    ++counts['refused by Python'];
  } else {
    const texts_of = Object.fromEntries(Object.entries(files).map(([name, data]) => [name, new TextDecoder().decode(data)]));
    const found = differences(tokenizer, { texts, answer, files: texts_of });
    ++counts[found.length === 0 ? 'equal' : 'differs'];
    if (found.length > 0) console.log(`seed ${seed}: ${found.length} differ, first ${JSON.stringify(found[0]).slice(0, 600)}`);
  }
  tokenizer.dispose();
}
console.log(counts);
if (counts.differs > 0) process.exitCode = 1;
