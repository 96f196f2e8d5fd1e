// Index: a program that is killed while writing loses nothing that was reported as stored.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Index } from 'wattn';
import { root } from './support.js';

// WATTN_KILLS: how often; the more the surer.
const kKills = Number(process.env['WATTN_KILLS'] ?? 6);

const kProgram = `
const { Index } = await import(${JSON.stringify(join(root, 'dist/node.js'))});
const embed = async (texts) => texts.map((text) => Float32Array.from({ length: 64 }, (_, i) => Math.sin(i * text.length + i + 1)));
const [folder, round] = process.argv.slice(-2);
const index = await Index.open('notes', { embed, store: folder });
for (let i = 0; ; ++i) {
  // Some are new, some replace others, some go.
  const documents = Array.from({ length: 20 }, (_, j) => ({ id: (i % 40) + '-' + j, text: 'round ' + round + ' write ' + i + ' ' + 'word '.repeat(i % 30) }));
  await index.add(documents);
  process.stdout.write(JSON.stringify({ ids: documents.map(({ id }) => id), text: documents[0].text }) + '\\n');
  if (i % 7 === 6) {
    await index.delete((i % 40) + '-0');
    process.stdout.write(JSON.stringify({ gone: (i % 40) + '-0' }) + '\\n');
  }
}`;

/** Runs the program until it has reported so many writes and then for a moment. finished: id -> text; last: the last write that was reported. */
function killed(
  folder: string,
  round: number,
  writes: number,
  moment: number,
): Promise<{ finished: Map<string, string | undefined>; last: number }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', kProgram, '--', folder, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const finished = new Map<string, string | undefined>();
  let lines = 0;
  let last = -1;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { ids = [], text, gone } = JSON.parse(line);
    for (const id of ids) finished.set(id, text);
    if (text) last = Number(/write (\d+)/.exec(text)![1]);
    if (gone) finished.set(gone, undefined);
    if (++lines === writes) {
      const end = performance.now() + moment;
      while (performance.now() < end);
      child.kill('SIGKILL');
    }
  });
  return new Promise((resolve) => child.on('close', () => resolve({ finished, last })));
}

it(`opens after being killed ${kKills} times while it writes`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wattn-crash-'));
  const expected = new Map<string, string | undefined>();
  try {
    for (let round = 0; round < kKills; ++round) {
      const { finished, last } = await killed(folder, round, 1 + ((round * 13) % 40), (round * 7.3) % 11);
      for (const [id, text] of finished) expected.set(id, text);
      const index = await Index.open('notes', { store: folder });
      for (const [id, text] of expected) {
        const found = index.get(id)?.text;
        if (found === text) continue;
        // Only the write that came next, or the deletion after the last one, may have ended without a word of it.
        const isNext = found?.startsWith(`round ${round} write ${last + 1} `) ?? (last % 7 === 6 && id === `${last % 40}-0`);
        expect([id, found, text, isNext]).toEqual([id, found, text, true]);
        expected.set(id, found);
      }
      for (const id of index.ids()) {
        if (expected.has(id)) continue;
        const { text } = index.get(id)!;
        expect(text).toContain(`round ${round} write ${last + 1} `);
        expected.set(id, text); // and it stays there in the rounds that follow
      }
      const [some] = [...expected].find(([, text]) => text !== undefined) ?? [];
      if (some) expect((await index.search(expected.get(some) as string, { mode: 'words', top_k: 1 })).length).toBe(1);
      await index.dispose();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 600_000);
