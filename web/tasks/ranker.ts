// What the files of sentence-transformers' CrossEncoder say: how a query and a document become one text, which logits make the score.
import { describe, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { modulePath, readFields, readJson, type NamedBytes } from '../source/model_files.js';
import { isSavedRanker } from '../source/ranking_files.js';
import { parseJson } from '../core/json.js';
import { sigmoid } from '../core/scores.js';
import { kActivations } from './activations.js';

type Fields = Record<string, unknown>;

const kSettings = 'config_sentence_transformers.json';
const kTransformer = 'sentence_bert_config.json';

/** Messages with the roles query and document, for a chat template. */
export interface ChatPair {
  /** Whether contents are lists of parts. */
  structured: boolean | undefined; // undefined: as the template reads them
  /** Further options of apply_chat_template. */
  options: Fields;
  /** Whether what the template has after the texts is kept where a text is cut. */
  restore: boolean;
}

export interface Ranker {
  /** config_sentence_transformers.json, if Python reads it. */
  settings: Fields;
  /** Messages of a chat template; undefined: the tokenizer joins two texts. */
  chat: ChatPair | undefined;
  /** A decoder, whose score is of the logits of tokens after the text. ids: those of LogitScore; none: nothing names them. */
  decoder: { ids: number[] } | undefined;
  /** Most tokens of query and document together; undefined: the model's limit. */
  max_length: number | undefined;
}

const unsupported = (file: string, key: string, expected: string, found: unknown) =>
  new UnsupportedError(`${file}: ${key}: expected ${expected}, found ${describe(found)}`);

/** A member that is an object, or none. */
function part(file: string, fields: Fields, key: string): Fields {
  const found = fields[key] ?? {};
  if (typeof found === 'object' && !Array.isArray(found)) return found as Fields;
  throw new ModelFormatError(`${file}: ${key}: expected an object, found ${describe(found)}`);
}

function expect(file: string, fields: Fields, key: string, ...known: unknown[]): void {
  const found = fields[key];
  if (found === undefined || found === null || known.includes(found)) return;
  throw unsupported(file, key, known.map((value) => describe(value)).join(' or '), found);
}

/** Arguments of a tokenizer that change no token of a text that runs alone. */
const kNoMatter = ['padding', 'pad_to_multiple_of', 'return_tensors', 'return_attention_mask', 'return_token_type_ids', 'logits_to_keep', 'verbose']; // prettier-ignore
/** Arguments that say how long a text may be. */
const kOfSize = ['max_length', 'truncation'];

/** The limit in processing_kwargs, and what is for the chat template. */
function readProcessing(fields: Fields): { max_length: number | undefined; chat: Fields } {
  const all = part(kTransformer, fields, 'processing_kwargs');
  const [common, text, chat] = (['common', 'text', 'chat_template'] as const).map((key) => part(kTransformer, all, key)) as [Fields, Fields, Fields]; // prettier-ignore
  for (const one of [common, text, chat]) expect(kTransformer, one, 'truncation', true, 'longest_first');
  for (const one of [common, text]) {
    expect(kTransformer, one, 'padding_side', 'left');
    const other = Object.keys(one).find((key) => ![...kNoMatter, ...kOfSize, 'padding_side'].includes(key));
    if (other !== undefined) throw unsupported(kTransformer, `processing_kwargs: ${other}`, 'none', one[other]);
  }
  const max_length = chat['max_length'] ?? text['max_length'] ?? common['max_length'];
  if (max_length !== undefined && max_length !== null && !(Number.isInteger(max_length) && (max_length as number) > 0))
    throw new ModelFormatError(`${kTransformer}: max_length: expected a whole number from 1 on, found ${describe(max_length)}`);
  return { max_length: (max_length as number | null | undefined) ?? undefined, chat };
}

/** Which messages the module Transformer makes, if it makes any. */
function readChat(fields: Fields, given: Fields): ChatPair | undefined {
  const modalities = part(kTransformer, fields, 'modality_config');
  for (const name of ['text', 'message']) {
    const modality = part(kTransformer, modalities, name);
    expect(kTransformer, modality, 'method', 'forward');
    expect(kTransformer, modality, 'method_output_name', 'logits');
    expect(kTransformer, modality, 'format', 'flat', 'structured', 'auto');
  }
  const message = modalities['message'] as Fields | undefined;
  if (!message) return undefined;
  const { restore_suffix = true, ...options } = given;
  for (const key of [...kNoMatter, ...kOfSize]) delete options[key];
  const format = message['format'] ?? 'auto';
  return { structured: format === 'auto' ? undefined : format === 'structured', options, restore: restore_suffix !== false };
}

/** The modules of a CrossEncoder that are not its Transformer. */
function readModules(files: readonly NamedBytes[]): { type: string; path: string }[] {
  const text = new TextDecoder().decode(files.find(([name]) => name === 'modules.json')?.[1]);
  let list: unknown;
  try {
    list = parseJson(text);
  } catch {} // it is a text then
  if (!Array.isArray(list)) throw new ModelFormatError(`modules.json: expected a list of modules, found ${describe(list ?? text)}`);
  const all = list.map((module) => ({
    type: String(module?.type).replace(/.*\./, ''),
    path: modulePath('modules.json', module?.path),
  }));
  const [first, ...others] = all;
  const expected = 'Transformer, followed in a decoder by LogitScore';
  if (first?.type !== 'Transformer') throw unsupported('modules.json', 'type', expected, first?.type);
  if (first.path !== '') throw unsupported('modules.json', 'path', "'' (the model in the repository's root)", first.path);
  const other = others.find(({ type }, i) => type !== 'LogitScore' || i > 0);
  if (other) throw unsupported('modules.json', 'type', expected, other.type);
  return others;
}

function readIds(files: readonly NamedBytes[], path: string, output: unknown): number[] {
  const file = `${path}/config.json`;
  const score = readJson(files, file);
  if (!score) throw new ModelFormatError(`${file}: expected this file of LogitScore in the model, found none`);
  expect(file, score, 'module_input_name', output ?? 'causal_logits');
  const ids = [score['true_token_id'], score['false_token_id'] ?? undefined].filter((id, i) => i === 0 || id !== undefined);
  const bad = ids.findIndex((id) => !Number.isInteger(id) || (id as number) < 0);
  if (bad < 0) return ids as number[];
  const key = bad === 0 ? 'true_token_id' : 'false_token_id';
  throw new ModelFormatError(`${file}: ${key}: expected the id of a token, found ${describe(ids[bad])}`);
}

const isDecoder = (files: readonly NamedBytes[]): boolean => {
  const { architectures } = readFields(files, 'config.json');
  return Array.isArray(architectures) && /(ForCausalLM|LMHeadModel)$/.test(String(architectures[0]));
};

/** As in Python, the settings of other kinds of models do not count, and neither do their modules. */
export function readRanker(files: readonly NamedBytes[]): Ranker {
  const settings = readFields(files, kSettings);
  const decoder = isDecoder(files);
  if (!isSavedRanker(files))
    return { settings: {}, chat: undefined, decoder: decoder ? { ids: [] } : undefined, max_length: undefined };
  const [score] = readModules(files);
  const fields = readFields(files, kTransformer);
  expect(kTransformer, fields, 'transformer_task', decoder ? 'text-generation' : 'sequence-classification');
  if (decoder !== !!score)
    throw new UnsupportedError(
      `modules.json: type: expected ${decoder ? 'LogitScore after the Transformer of a decoder' : 'no LogitScore after a Transformer with labels'}, found ${score ? 'it' : 'none'}`,
    );
  if (!score) expect(kTransformer, fields, 'module_output_name', 'scores');
  const { max_length, chat: given } = readProcessing(fields);
  const own = readChat(fields, given);
  if (decoder && fields['do_lower_case']) throw unsupported(kTransformer, 'do_lower_case', 'false for a decoder', true);
  const limit = decoder ? (fields['max_seq_length'] ?? readFields(files, 'tokenizer_config.json')['model_max_length']) : undefined;
  const lengths = [max_length, limit].filter((length) => typeof length === 'number');
  return {
    settings,
    chat: own,
    decoder: score && { ids: readIds(files, score.path, fields['module_output_name']) },
    max_length: lengths[0] as number | undefined,
  };
}

/**
 * The activation that the repository names: sentence-transformers 5.2 and later write it to a file of their own, 4.0 and later to config.json, older
 * ones under another name there. A function that is not torch's counts only for those who trust its code, in Python too: then the next place
 * counts, and at last a sigmoid.
 */
export function ownActivation(files: readonly NamedBytes[], { settings }: Ranker): (logit: number) => number {
  const config = readFields(files, 'config.json') as {
    sentence_transformers?: Fields;
    sbert_ce_default_activation_function?: unknown;
  };
  const { sentence_transformers: own } = config;
  const places = [
    [kSettings, settings['activation_fn']],
    ['config.json', own && 'activation_fn' in own ? own['activation_fn'] : config.sbert_ce_default_activation_function],
  ] as const;
  for (const [file, name] of places) {
    if (typeof name !== 'string' || !name.startsWith('torch.')) continue;
    const found = /^torch\.nn\.(?:modules\.(?:activation|linear)\.)?(\w+)$/.exec(name)?.[1] ?? '';
    if (Object.hasOwn(kActivations, found)) return kActivations[found] as (logit: number) => number;
    const known = Object.keys(kActivations).join(', ');
    throw new UnsupportedError(`${file}: activation_fn: expected one of ${known} of torch.nn, found ${name}`);
  }
  return sigmoid;
}
