// wattn/count: the same numbers as AutoTokenizer's count, from files, bytes and URLs.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadCounter } from 'wattn/count';
import { AutoTokenizer } from 'wattn/tokenizer';
import { expectError, root, tiny, tinyFiles } from './support.js';

const kTexts = ['', 'the river', ' The boats, at six.', 'Na\u00efve \ud83d\ude00 \u4e2d\u6587 [SEP] don\u2019t', 'x'.repeat(3000)];

describe('loadCounter', () => {
  it('counts as AutoTokenizer does', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    for (const from of [tiny, tinyFiles()]) {
      const countTokens = await loadCounter(from as any);
      for (const options of [undefined, { add_special_tokens: false }, { split_special_tokens: true }]) {
        expect(kTexts.map((text) => countTokens(text, options))).toEqual(tokenizer.count(kTexts, options));
        expect(countTokens(kTexts, options)).toEqual(tokenizer.count(kTexts, options));
      }
      await countTokens.dispose();
      await expectError(() => countTokens('a'), 'StateError', /this tokenizer was disposed/);
    }
    await tokenizer.dispose();
  });

  it('reads a .tiktoken file from an address', async () => {
    // The ranks of all bytes, and of one pair.
    const bytes = Array.from({ length: 256 }, (_, byte) => `${Buffer.of(byte).toString('base64')} ${byte}`);
    const ranks = `${[...bytes, `${Buffer.from('ab').toString('base64')} 256`].join('\n')}\n`;
    const server = createServer((_, response) => response.end(ranks)).listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    try {
      const { port } = server.address() as { port: number };
      const countTokens = await loadCounter(`http://127.0.0.1:${port}/r50k_base.tiktoken`);
      expect(countTokens(['abc', 'c ab', '\u00e9'])).toEqual([2, 3, 2]);
      await countTokens.dispose();
    } finally {
      server.close();
    }
  });

  it('refuses what is no text, no option, and no tokenizer', async () => {
    const countTokens = await loadCounter(tiny);
    await expectError(() => countTokens(1 as any), 'InputError', /countTokens: expected/);
    await expectError(() => countTokens('a', { max_length: 1 } as any), 'InputError', /countTokens: unknown option 'max_length'/);
    await countTokens.dispose();
    await expectError(loadCounter({ 'tokenizer.json': new Uint8Array(2) }), 'ModelFormatError', /tokenizer\.json/);
    await expectError(loadCounter(tiny, { wrong: 1 } as any), 'InputError', /loadCounter: unknown option 'wrong'/);
    await expectError(loadCounter(tiny, { signal: AbortSignal.abort() }), 'AbortError', /./);
  });

  it('comes without what else tokenizers do', () => {
    const entry = readFileSync(join(root, 'dist/count_entry.js'), 'utf8');
    expect(entry).not.toMatch(/apply_chat_template|decode_stream|save_pretrained/);
  });
});
