// Files of prefixes: save_prefix() and load_prefix() of a pipeline, on the caller's side. A file is one of safetensors with its hash
// (source/sealed.ts): the tokens' ids, what the model keeps of them, and of which model it is.
import { describe, InputError, ModelFormatError } from '../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { Tensor } from '../core/tensor.js';
import type { AbortSignalLike } from '../core/types.js';
import type { RunningEngine } from '../engine/task.js';
import type { PrefixOptions } from '../generation/generation_types.js';
import { readSafetensors, type StoredTensor } from '../source/safetensors.js';
import { checkSealed, saveSealed } from '../source/sealed.js';
import { checkChat, contextOf, kChatRules, renderChat } from '../tokenizer/chat_template.js';

const { add_generation_prompt: _add, ...kTemplateRules } = kChatRules;
const kLoadRules: Rules = { adapter: 'any', signal: 'signal' };
const kSaveRules: Rules = { ...kTemplateRules, ...kLoadRules, add_special_tokens: 'boolean' };
const kFile = 'prefix';
const kFormat = 'wattn prefix 1';

/** A prefix as it crosses. */
export interface PlainPrefix {
  ids: Int32Array;
  bytes: Uint8Array;
}

/** What a file says of its model. Its numbers are compared when it is loaded; this is for the message. */
function factsOf({ info }: RunningEngine): Record<string, string> {
  const { vocab_size, hidden_size, num_hidden_layers, num_key_value_heads, head_dim } = info;
  return {
    model: `${info.model_type}, ${num_hidden_layers} layers of ${hidden_size}, ${num_key_value_heads} heads of ${head_dim}, ${vocab_size} tokens`,
    dtype: info.dtype,
    precision: info.precision,
  };
}

/** The options that a call beside the engine needs, and its signal. */
function ofCall(engine: RunningEngine, given: PrefixOptions) {
  const { signal, adapter, add_special_tokens } = given;
  const options = { adapter: adapter ?? engine.adapters?.active, ...(add_special_tokens != null && { add_special_tokens }) };
  return { options: ownCopy(options), signal: (signal ?? undefined) as AbortSignalLike | undefined };
}

async function toItem(engine: RunningEngine, prompt: unknown, given: PrefixOptions): Promise<{ text: string; isChat: boolean }> {
  if (typeof prompt === 'string') return { text: prompt, isChat: false };
  checkChat('save_prefix', prompt);
  const { chat_template, tools, documents, chat_template_kwargs } = given;
  const templates = engine.chatTemplates?.();
  const context = templates === undefined ? undefined : { ...contextOf(engine.files), templates };
  const options = { chat_template, tools, documents, chat_template_kwargs, add_generation_prompt: false };
  return { text: await renderChat(engine.files, prompt, options, context), isChat: true };
}

export async function savePrefixOf(engine: RunningEngine, prompt?: unknown, given?: unknown): Promise<Uint8Array> {
  const read = readOptions('save_prefix', given, kSaveRules) as PrefixOptions;
  const item = await toItem(engine, prompt, read);
  const { options, signal } = ofCall(engine, read);
  const [saved] = (await engine.run('save_prefix', [item], options, signal)) as [PlainPrefix];
  const { ids, bytes } = saved;
  const tensors = { ids: new Tensor('int32', ids, [ids.length]), state: new Tensor('uint8', bytes, [bytes.length]) };
  return saveSealed(tensors, { format: kFormat, ...factsOf(engine) });
}

async function readFile(engine: RunningEngine, bytes: unknown): Promise<PlainPrefix> {
  if (!(bytes instanceof Uint8Array)) {
    throw new InputError(`load_prefix: expected the bytes of save_prefix(), found ${describe(bytes)}`);
  }
  const metadata = await checkSealed(bytes, kFile);
  if (metadata?.['format'] !== kFormat) {
    throw new ModelFormatError(
      `${kFile}: expected a file of save_prefix(), of format '${kFormat}', found another, or a part of one`,
    );
  }
  for (const [name, expected] of Object.entries(factsOf(engine))) {
    if (metadata[name] === expected) continue;
    throw new ModelFormatError(`${kFile}: ${name}: expected that of this model, ${expected}, found ${describe(metadata[name])}`);
  }
  const parts = new Map(readSafetensors(bytes, kFile).map((tensor) => [tensor.name, tensor]));
  const part = (name: string, dtype: string): StoredTensor => {
    const found = parts.get(name);
    if (found?.dtype === dtype) return found;
    throw new ModelFormatError(`${kFile}: expected a tensor '${name}' of ${dtype}, found ${found ? found.dtype : 'none'}`);
  };
  return { ids: new Int32Array(part('ids', 'I32').bytes.slice().buffer), bytes: part('state', 'U8').bytes.slice() };
}

export async function loadPrefixInto(engine: RunningEngine, bytes?: unknown, given?: unknown): Promise<{ tokens: number }> {
  const read = readOptions('load_prefix', given, kLoadRules) as PrefixOptions;
  const { options, signal } = ofCall(engine, read);
  const kept = (await engine.run('load_prefix', [await readFile(engine, bytes)], options, signal)) as number[];
  return { tokens: Math.min(...kept) };
}
