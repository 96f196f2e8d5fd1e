// A tokenizer's files: writes them, and adds tokens to them.
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { ggufTokenizerFiles, withVocabulary } from '../source/gguf_header.js';
import { kChatTemplate, kVocabularies, readJson, tokenText, type NamedBytes } from '../source/model_files.js';
import { platform } from '../source/platform.js';
import { kConfig, kSpecialTokens, type NamedTokens, type TokenizerConfig } from './config.js';
import type { AddedToken, ChatTemplates, SpecialTokenNames } from './types.js';

/** What the methods use of a tokenizer. */
export interface Saved {
  /** Those of its model too. A change of the vocabulary replaces the first two in place. */
  files: readonly NamedBytes[];
  config: TokenizerConfig;
  special(): NamedTokens;
  templates(): ChatTemplates | null;
  /** Loads changed files into the tokenizer. undefined: it belongs to a model. */
  reload?: ((files: readonly NamedBytes[]) => void) | undefined;
}

const kJson = 'tokenizer.json';
const toBytes = (json: unknown) => new TextEncoder().encode(`${JSON.stringify(json, null, 2)}\n`);

const withFile = (files: readonly NamedBytes[], name: string, bytes: Uint8Array): NamedBytes[] => [
  ...files.filter(([each]) => each !== name),
  [name, bytes],
];

/** The vocabulary, without the other files of a model. */
function vocabularyOf(where: string, files: readonly NamedBytes[]): NamedBytes[] {
  const named = new Map(files);
  const names = [[kJson], ...kVocabularies].find((each) => each.every((name) => named.has(name)));
  if (names) return names.map((name): NamedBytes => [name, named.get(name) as Uint8Array]);
  const gguf = files.find(([name]) => name.endsWith('.gguf')); // a model's
  if (gguf) return vocabularyOf(where, ggufTokenizerFiles(gguf[1]));
  throw new UnsupportedError(`${where}: this tokenizer's vocabulary is only in its .gguf file: keep that`);
}

/** tokenizer_config.json with what the program has set since. */
function configOf({ files, config, special, templates }: Saved): { [name: string]: unknown } {
  const json: Record<string, unknown> = { ...readJson(files, kConfig) };
  const map = json.added_tokens_decoder === undefined ? readJson(files, 'special_tokens_map.json') : undefined;
  for (const [name, token] of Object.entries(map ?? {})) {
    const isText = typeof token === 'string' || tokenText(token) === undefined;
    json[name] = isText ? token : { normalized: false, ...(token as object), special: true, __type: 'AddedToken' };
  }
  for (const name of kSpecialTokens) {
    const token = special()[name];
    if (token === undefined) delete json[name];
    else if (tokenText(json[name]) !== token) json[name] = token;
  }
  const extra = json.extra_special_tokens === undefined ? 'additional_special_tokens' : 'extra_special_tokens';
  if (config.extra_special_tokens.length > 0) json[extra] = config.extra_special_tokens;
  if (config.padding_side !== (json.padding_side ?? config.own_side)) json.padding_side = config.padding_side;
  const own = templates();
  delete json.chat_template;
  if (own !== null && typeof own === 'object') {
    json.chat_template = Object.entries(own).map(([name, template]) => ({ name, template }));
  } else if (own !== null) json.chat_template = own;
  return json;
}

function filesOf(where: string, saved: Saved): NamedBytes[] {
  const vocabulary = vocabularyOf(where, withVocabulary(saved.files));
  const json = configOf(saved);
  // Python wants a class where there is no config.json.
  const name = saved.config.name || (vocabulary[0]?.[0] === kJson ? 'PreTrainedTokenizerFast' : undefined);
  if (name) json.tokenizer_class ??= name;
  vocabulary.push(...saved.files.filter(([each]) => each === 'added_tokens.json'));
  const { chat_template, ...rest } = json;
  if (typeof chat_template !== 'string') return [...vocabulary, [kConfig, toBytes(json)]];
  return [...vocabulary, [kConfig, toBytes(rest)], [kChatTemplate, new TextEncoder().encode(chat_template)]];
}

/** An added token as tokenizer.json has it, but for its id. */
type NewToken = Required<AddedToken>;
type JsonToken = NewToken & { id: number };

const kFlags = ['single_word', 'lstrip', 'rstrip', 'normalized', 'special'] as const;

function toAdded(where: string, given: unknown, isSpecial: boolean): NewToken {
  const { content, ...rest } = (typeof given === 'string' ? { content: given } : (given ?? {})) as AddedToken;
  if (typeof content !== 'string') {
    throw new InputError(`${where}: expected a string or { content, .. } as each token, found ${describe(given)}`);
  }
  const flags = readOptions(where, rest, Object.fromEntries(kFlags.map((name) => [name, 'boolean'])));
  const special = flags.special ?? isSpecial;
  return { content, single_word: false, lstrip: false, rstrip: false, normalized: !special, ...flags, special };
}

/** tokenizer_config.json, whose added_tokens_decoder counts in place of tokenizer.json's added tokens. */
function withDecoder(files: readonly NamedBytes[], added: readonly JsonToken[]): NamedBytes[] {
  const json = readJson(files, kConfig);
  const decoder = json?.added_tokens_decoder;
  if (typeof decoder !== 'object') return [...files];
  const more = Object.fromEntries(added.map(({ id, ...token }) => [id, token]));
  return withFile(files, kConfig, toBytes({ ...json, added_tokens_decoder: { ...decoder, ...more } }));
}

/** tokenizer.json with more tokens, and those that its added ones lacked, or had with other flags. Ids are those of Python's tokenizers. */
function withTokens(where: string, bytes: Uint8Array, tokens: NewToken[]): [json: Uint8Array, added: JsonToken[]] {
  const json = readJson([[kJson, bytes]], kJson) as {
    model?: { vocab?: Record<string, number> | [string, number][] };
    added_tokens?: JsonToken[];
  };
  const vocab = json.model?.vocab;
  if (typeof vocab !== 'object' || vocab === null)
    throw new ModelFormatError(`${kJson}: ${where}: expected model.vocab, found none`);
  const all = new Map((json.added_tokens ?? []).map((token) => [token.content, token]));
  const pieces = new Map(Array.isArray(vocab) ? vocab.map(([piece], id) => [piece, id]) : Object.entries(vocab));
  let next = Math.max(pieces.size, ...[...all.values()].map(({ id }) => id + 1));
  const added: JsonToken[] = [];
  for (const token of tokens) {
    const { content } = token;
    const before = all.get(content);
    if (content === '' || (before && kFlags.every((name) => before[name] === token[name]))) continue;
    const id = before?.id ?? pieces.get(content) ?? next;
    next = Math.max(next, id + 1);
    all.set(content, { id, ...token });
    added.push({ id, ...token });
  }
  return [new TextEncoder().encode(JSON.stringify({ ...json, added_tokens: [...all.values()] })), added];
}

export function savingMethods(saved: Saved) {
  const add = (where: string, given: unknown, isSpecial: boolean): number => {
    const tokens = (Array.isArray(given) ? given : [given]).map((each) => toAdded(where, each, isSpecial));
    if (!saved.reload) {
      throw new UnsupportedError(`${where}: this tokenizer belongs to a loaded model: use that of AutoTokenizer.from_pretrained`);
    }
    const [[name, bytes]] = vocabularyOf(where, saved.files) as [NamedBytes];
    if (name !== kJson) throw new UnsupportedError(`${where}: expected a tokenizer with tokenizer.json, found one with ${name}`);
    const [json, added] = withTokens(where, bytes, tokens);
    if (added.length > 0) saved.reload(withDecoder(withFile(saved.files, kJson, json), added));
    return added.length;
  };

  return {
    add_tokens(tokens: unknown, options?: { special_tokens?: boolean } | null): number {
      options = readOptions('add_tokens', options, { special_tokens: 'boolean' });
      return add('add_tokens', tokens, options?.special_tokens ?? false);
    },

    add_special_tokens(names: SpecialTokenNames): number {
      const kinds = [...kSpecialTokens, 'additional_special_tokens', 'extra_special_tokens'] as const;
      const given = readOptions('add_special_tokens', names, Object.fromEntries(kinds.map((kind) => [kind, 'any'])));
      const { additional_special_tokens, extra_special_tokens = additional_special_tokens } = given;
      const named = kSpecialTokens.flatMap((name) => {
        const token = given[name];
        return token == null ? [] : [[name, token] as const];
      });
      const extra = extra_special_tokens ?? [];
      if (!Array.isArray(extra)) {
        throw new InputError(`add_special_tokens: expected an array as extra_special_tokens, found ${describe(extra)}`);
      }
      const added = add('add_special_tokens', [...named.map(([, token]) => token), ...extra], true);
      for (const [name, token] of named) saved.special()[name] = tokenText(token);
      if (extra_special_tokens) saved.config.extra_special_tokens = extra.map((each) => tokenText(each) as string);
      return added;
    },

    async save_pretrained(folder?: string | null): Promise<Record<string, Uint8Array>> {
      if (folder != null && typeof folder !== 'string') {
        throw new InputError(`save_pretrained: expected the path of a folder, or none, found ${describe(folder)}`);
      }
      const files = filesOf('save_pretrained', saved);
      if (folder != null && !platform.writeFiles) {
        throw new UnsupportedError('save_pretrained: a page has no folders: pass none, and keep the files that it returns');
      }
      if (folder != null) await platform.writeFiles?.(folder, files);
      return Object.fromEntries(files.map(([name, bytes]) => [name, bytes.slice()]));
    },
  };
}
