// The commands and their options.
import type { ParseArgsConfig } from 'node:util';

export type Options = NonNullable<ParseArgsConfig['options']>;

/** Names of options, separated by spaces: those with a value, flags, and those that may be repeated. */
function options(values: string, flags = '', repeated = ''): Options {
  const named = (names: string, option: Options[string]) => names.split(' ').map((name) => [name, option] as const);
  const all = [
    ...named(values, { type: 'string' }),
    ...named(flags, { type: 'boolean' }),
    ...named(repeated, { type: 'string', multiple: true }),
  ];
  return Object.fromEntries(all.filter(([name]) => name !== ''));
}

const kModel: Options = {
  ...options('model revision cache-dir', 'local-files-only progress'),
  help: { type: 'boolean', short: 'h' },
};
const kCompute = options('adapter dtype prefer precision threads');
const kTexts = options('input max-length', 'split-special-tokens', 'file');

export const kCommands: Record<string, Options> = {
  embed: {
    ...kModel,
    ...kCompute,
    ...kTexts,
    ...options('pooling prompt prompt-name model-task on-overflow', 'normalize no-normalize'),
  },
  classify: { ...kModel, ...kCompute, ...kTexts, ...options('on-overflow top-k function labels hypothesis', 'multi-label') },
  rank: { ...kModel, ...kCompute, ...kTexts, ...options('on-overflow query top-k', 'stream late-interaction') },
  run: { ...kModel, ...kCompute, ...kTexts, ...options('on-overflow task options labels question schema') },
  redact: {
    ...kModel,
    ...kCompute,
    ...options('input task labels threshold patterns map rules countries allow format audit', 'restore', 'file'),
  },
  generate: {
    ...kModel,
    ...kCompute,
    ...options(
      'input task max-new-tokens context-length kv-cache-dtype num-beams temperature top-k top-p seed schema options',
      'sample full-text chat stream',
      'file stop',
    ),
  },
  chat: {
    ...kModel,
    ...kCompute,
    ...options(
      'system history max-new-tokens context-length kv-cache-dtype temperature top-k top-p seed schema options',
      'sample no-thinking',
      'file stop',
    ),
  },
  tokenize: {
    ...kModel,
    ...kTexts,
    ...options('offsets train out vocab-size min-frequency options', 'no-special', 'special-token'),
  },
  index: { ...kModel, ...kCompute, ...options('out max-tokens overlap vectors static base language', 'words') },
  search: { ...kModel, ...kCompute, ...options('top-k mode syntax', 'words prefix fuzzy') },
  inspect: { ...kModel, ...kCompute, ...options('seq', 'plan json') },
  doctor: { ...kModel, ...kCompute, ...options('task', 'json') },
  models: options('task language max-bytes', 'json help'),
  pack: { ...kModel, ...options('dtype out hub vocab layers dim check', '', 'corpus calibrate') },
  download: { ...kModel, ...options('task') },
  cache: options('revision cache-dir', 'help'),
  evaluate: { ...kModel, ...kCompute, ...options('task data train columns labels similarity seed') },
  distill: { ...kModel, ...kCompute, ...options('out pca-dims sif-coefficient pooling quantize-to') },
  train: {
    ...kModel,
    ...options(
      'precision threads task data validation out method loss r target-modules last-layers epochs max-steps batch-size learning-rate ' +
        'max-length eval-steps early-stopping-patience save-steps seed options',
      'resume',
    ),
  },
  serve: {
    ...kModel,
    ...kCompute,
    ...options(
      'task pooling kv-cache-dtype prefix-cache-bytes served-model-name host port workers max-batch-tokens max-concurrent-requests max-client-batch-size payload-limit api-key',
      'auto-truncate',
      'cors allow-host',
    ),
  },
  completion: options('', 'help'),
  mcp: { ...kModel, ...kCompute, ...options('max-tokens ner labels host port api-key', 'words http', 'cors allow-host') },
};
