// A worker of tools/check_grammars.mjs: it receives { schema, walks, seed } and returns random outputs of transformers.js's constraint for the
// schema, or { refused } if there is none.
import { parentPort } from 'node:worker_threads';
import { randomOf, walk } from './constraint.mjs';
import { importRival } from './rivals.mjs';

const { StructuredOutputProcessor } = await importRival('@huggingface/transformers-structured-output');
const kEnd = 256; // the vocabulary: all bytes, and an end
const tokens = Array.from({ length: kEnd + 1 }, (_, byte) => (byte === kEnd ? [] : [byte]));

/** One text, byte by byte. */
function begin(json_schema) {
  const [ids, processor] = [[], new StructuredOutputProcessor({ tokens, eosTokenId: kEnd }, { type: 'json_schema', json_schema })];
  let mayFollow = [];
  return {
    allowed() {
      const logits = { data: new Float32Array(kEnd + 1), dims: [1, kEnd + 1] };
      processor._call([ids], logits);
      mayFollow = [...logits.data.keys()].filter((id) => logits.data[id] !== -Infinity);
      return mayFollow.filter((id) => id !== kEnd);
    },
    mayEnd: () => mayFollow.includes(kEnd),
    take: (byte) => ids.push(BigInt(byte)),
  };
}

parentPort.on('message', ({ schema, walks, seed }) => {
  try {
    begin(schema);
  } catch (error) {
    return parentPort.postMessage({ refused: error.message });
  }
  const random = randomOf(seed);
  const outputs = Array.from({ length: walks }, () => {
    try {
      return walk(random, begin(schema)) ?? '';
    } catch {
      return ''; // they found a dead end
    }
  });
  return parentPort.postMessage({ outputs: outputs.filter((text) => text !== '' && text !== 'a dead end') });
});
parentPort.postMessage('ready');
