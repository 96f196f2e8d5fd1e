// `wattn pack --hub DIR`: a folder that can be published as a repository: the packed file, a card, the licence, and the small files that say what it is.
import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { describeModel, InputError, packTo, type PackOptions, type PackReport, type SourceOptions } from '../entries/index.js';
import { packedFiles } from '../source/gguf_header.js';
import { loadFrom } from '../source/load_from.js';
import { readOptional, type NamedBytes } from '../source/model_files.js';
import { isHubId, openModel } from '../source/model_source.js';
import { baseModel, headOf } from '../source/original.js';
import { packedName } from '../source/packed_file.js';
import { Output, writeOut } from './output.js';

/** What the file is called, by the option `dtype`. */
const kTags = { q8: 'Q8_0', q4: 'Q4_0', mixed: 'mixed', native: 'W8', f16: 'F16', f32: 'F32' };
const kTypes = {
  q8: '8 bits (Q8_0)',
  q4: '4 bits (Q4_0)',
  mixed: '4 bits where the loss is smallest, else 8 (Q4_0 and Q8_0)',
  native: "8 bits, the numbers that wattn's `dtype: 'q8'` multiplies (W8)",
  f16: 'half precision (F16)',
  f32: 'single precision (F32)',
};
const kLicences = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'NOTICE'];
/** Members of a card that hold for a copy in another format, too. */
const kKept = ['language', 'license', 'license_name', 'license_link', 'pipeline_tag', 'datasets'];

/** The task of a head, as the hub calls it. */
const kTasks: Record<string, string> = {
  sequence: 'text-classification',
  token: 'token-classification',
  answer: 'question-answering',
  masked_lm: 'fill-mask',
  causal_lm: 'text-generation',
  seq2seq_lm: 'text2text-generation',
  spans: 'zero-shot-ner',
  labels: 'zero-shot-classification',
};

/** A member of a card with its list, as it is written there. */
const memberOf = (head: string, name: string) =>
  new RegExp(`^${name}:.*(?:\\r?\\n(?:[ \\t]+|-).*)*`, 'm').exec(head)?.[0].replace(/\r/g, '');

/** The card and the licence files of the original. */
function readAbout(model: string, options: SourceOptions): Promise<Map<string, Uint8Array>> {
  return loadFrom(openModel(model, options), options, async (source, progress, signal) => {
    const found: NamedBytes[] = [];
    for (const name of ['README.md', ...kLicences]) found.push(...(await readOptional(source, name, progress, signal)));
    return new Map(found);
  });
}

interface Card {
  name: string;
  base: string | undefined;
  head: string;
  task: string;
  file: string;
  dtype: keyof typeof kTags;
  packing: PackReport;
  sha256: string;
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

function cardOf({ name, base, head, task, file, dtype, packing, sha256 }: Card): string {
  const kept = kKept.flatMap((member) => memberOf(head, member) ?? []);
  const own = kept.some((line) => line.startsWith('pipeline_tag:')) ? [] : [`pipeline_tag: ${task}`];
  const tags = ['wattn', 'gguf', ...(packing.llama_cpp === null ? [] : ['llama-cpp'])];
  const members = [
    ...kept,
    ...own,
    ...(base ? [`base_model: ${base}`, 'base_model_relation: quantized'] : []),
    'library_name: wattn',
    `tags:\n${tags.map((tag) => `- ${tag}`).join('\n')}`,
  ];
  const cut = [
    packing.vocab !== undefined && `${packing.vocab} pieces of its vocabulary`,
    packing.dim !== undefined && `the first ${packing.dim} components of its vectors`,
    packing.layers !== undefined && `${packing.layers} layer${packing.layers === 1 ? '' : 's'}`,
  ].filter(Boolean);
  const of = base ? `[${base}](https://huggingface.co/${base})` : name;
  const llama =
    packing.llama_cpp === null
      ? `Only wattn reads it: ${packing.why_not}.`
      : `llama.cpp and tools built on it read the same file (architecture \`${packing.llama_cpp}\`).`;
  return `---
${members.join('\n')}
---

# ${name}, packed

${of} as one file of ${megabytes(packing.bytes)} (${megabytes(packing.original_bytes)} before), in ${kTypes[dtype]}. It has ${cut.join(', ') || 'all that the original has'}.

\`\`\`js
import { pipeline } from 'wattn';

const pipe = await pipeline('${task}', 'org/name'); // this repository, or its folder
\`\`\`

In the repository of the original, the same file is what \`pipeline(task, model, { prefer: 'packed' })\` loads. ${llama}
\`config.json\` and the tokenizer's files are those of the packed model, for programs that read them by themselves.

| file | bytes | SHA-256 |
|---|---|---|
| \`${file}\` | ${packing.bytes} | \`${sha256}\` |
`;
}

/** Writes the folder, and answers what the command reports. */
export async function packForHub(
  folder: string,
  model: string,
  options: PackOptions,
): Promise<PackReport & { hub: string; file: string; sha256: string; license: string | null; files: string[] }> {
  const there = await readdir(folder).catch((error: { code?: string }) => {
    if (error.code === 'ENOENT') return [];
    throw new InputError(`--hub: cannot write ${folder}: ${error.code}`);
  });
  if (there.length > 0) throw new InputError(`--hub: expected a new or an empty folder, found '${there[0]}' in ${folder}`);
  const dtype = options.dtype ?? 'q8';
  const file = packedName(kTags[dtype]);
  const write = async (name: string, bytes: string | Uint8Array) => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeOut('hub', join(folder, name), bytes);
  };
  await mkdir(folder, { recursive: true });
  const hash = createHash('sha256');
  const output = await Output.open('hub', join(folder, file));
  let header: Uint8Array | undefined;
  let packing: PackReport;
  try {
    packing = await packTo(
      model,
      async (chunk) => {
        header ??= chunk; // the first write has all of it
        hash.update(chunk);
        await output.write(chunk);
      },
      options,
    );
  } catch (error) {
    await output.drop();
    throw error;
  }
  await output.close();
  const sha256 = hash.digest('hex');
  const { revision, local_files_only, cache_dir } = options;
  const about = await readAbout(model, {
    ...(revision !== undefined && { revision }),
    ...(local_files_only && { local_files_only }),
    ...(cache_dir !== undefined && { cache_dir }),
  });
  const head = headOf(new TextDecoder().decode(about.get('README.md')));
  const small = packedFiles(header as Uint8Array);
  const { heads } = await describeModel(resolve(folder, file));
  const isOfVectors = small.some(([name]) => name === 'modules.json') || heads.length === 0;
  const id = isHubId(model) ? model : baseModel(head);
  const name = (id ?? resolve(model)).replace(/[/\\]+$/, '').replace(/.*[/\\]/, '');
  const task = isOfVectors ? 'feature-extraction' : (kTasks[heads[0] as string] ?? 'feature-extraction');
  const files: NamedBytes[] = [
    ['README.md', new TextEncoder().encode(cardOf({ name, base: id, head, task, file, dtype, packing, sha256 }))],
    ['.gitattributes', new TextEncoder().encode('*.gguf filter=lfs diff=lfs merge=lfs -text\n')],
    ...small,
    ...[...about].filter(([each]) => each !== 'README.md'),
  ];
  for (const [each, bytes] of files) await write(each, bytes);
  const licence = /^license:\s*(\S+)/m.exec(head)?.[1] ?? null;
  return { hub: folder, file, ...packing, sha256, license: licence, files: [file, ...files.map(([each]) => each)].sort() };
}
