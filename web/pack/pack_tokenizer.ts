// tokenizer.json as it is packed. No engine reads it before, so the parts that packing looks into are checked here.
import { describe, ModelFormatError } from '../core/errors.js';
import type { NamedBytes } from '../source/model_files.js';
import { jsonOf } from './pack_config.js';

type Json = Record<string, any>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const isListOf = (value: unknown, fits: (each: unknown) => boolean): boolean => Array.isArray(value) && value.every(fits);
const isText = (value: unknown) => typeof value === 'string';
const orNone = (fits: (value: unknown) => boolean) => (value: unknown) => value === undefined || value === null || fits(value);
const isPair = (value: unknown) => Array.isArray(value) && value.length === 2 && isText(value[0]);

function isPostProcessor(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { type, processors, sep, cls, single } = value;
  const all = type === 'Sequence' ? isListOf(processors, isPostProcessor) : true;
  return all && orNone(isPair)(sep) && orNone(isPair)(cls) && orNone((pieces) => isListOf(pieces, isObject))(single);
}

/** What packing looks into, in the form in which tokenizers writes it. */
const kForms: readonly (readonly [path: string, expected: string, fits: (value: unknown) => boolean])[] = [
  ['model', 'an object', isObject],
  ['model.vocab', 'ids by piece, or pieces with scores', (vocab) => isObject(vocab) || isListOf(vocab, isPair)],
  [
    'model.merges',
    'pairs of pieces',
    orNone((all) => isListOf(all, (each) => isText(each) || (isPair(each) && isListOf(each, isText)))),
  ],
  ['model.continuing_subword_prefix', 'a string', orNone(isText)],
  ['model.end_of_word_suffix', 'a string', orNone(isText)],
  ['added_tokens', 'tokens with content', orNone((all) => isListOf(all, (each) => isObject(each) && isText(each['content'])))],
  ['normalizer', 'an object', orNone(isObject)],
  ['pre_tokenizer', 'an object', orNone(isObject)],
  ['pre_tokenizer.pretokenizers', 'a list of objects', orNone((all) => isListOf(all, isObject))],
  ['post_processor', 'a post-processor', orNone(isPostProcessor)],
  ['padding', 'an object', orNone(isObject)],
];

/** tokenizer.json. A ModelFormatError if such a part has another form; undefined if there is no such file. */
export function tokenizerOf(files: readonly NamedBytes[]): Json | undefined {
  const source: unknown = jsonOf(files, 'tokenizer.json');
  if (source === undefined) return undefined;
  for (const [path, expected, fits] of kForms) {
    const value = path.split('.').reduce((part: unknown, name) => (isObject(part) ? part[name] : undefined), source);
    if (!fits(value)) throw new ModelFormatError(`tokenizer.json: ${path}: expected ${expected}, found ${describe(value)}`);
  }
  return source as Json;
}
