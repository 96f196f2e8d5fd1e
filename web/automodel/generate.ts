// model.generate(): rows of ids go on, as in transformers.js.
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import { again } from '../core/habits.js';
import { readOptions, type Rules } from '../core/options.js';
import { Tensor } from '../core/tensor.js';
import type { AnyEngine } from '../engine/engine.js';
import { toInputs } from '../engine/model_inputs.js';
import type { ModelInputs } from '../engine/types.js';
import type { SeamSequence } from '../host/seam.js';
import { readJson } from '../source/model_files.js';
import { StructuredOutputProcessor } from '../generation/structured_output.js';
import { DynamicCache } from '../generation/dynamic_cache.js';
import { idsOf } from '../tasks/forward.js';
import { kGenerateRules, readGenerateOptions } from '../generation/generation_config.js';
import type { GeneratedIds, ModelGenerateOptions } from '../generation/generation_types.js';
import { readConfig } from '../engine/labels.js';
import { kWatchRules, TokenWatch } from '../generation/token_watch.js';

const { callback: _, ...kListeners } = kWatchRules;
const kRules: Rules = {
  ...kGenerateRules,
  ...kListeners,
  pad_token_id: 'index',
  bos_token_id: 'index',
  past_key_values: 'any',
  return_dict_in_generate: 'boolean',
  response_format: 'any',
  logits_processor: 'any',
  use_cache: 'boolean',
  adapter: 'any',
  signal: 'signal',
};

/** What transformers.js takes and wattn has not, and what to do instead. */
const kMissing: Record<string, string> = {
  output_scores: 'call the model for its logits',
  output_logits: 'call the model for its logits',
  output_attentions: 'call the model with the ids that generate returns',
  output_hidden_states: 'call the model with the ids that generate returns',
  inputs_embeds: 'pass input_ids',
  encoder_outputs: 'pass input_ids',
  decoder_input_ids: 'decoder_start_token_id and forced_bos_token_id choose how the text begins',
  guidance_scale: 'it needs two passes for each token',
  begin_suppress_tokens: 'no option replaces it',
};

/** The format of processors as transformers.js has them; functions of its own would need the logits, which stay in WebAssembly. */
function formatOf(processors: unknown, response_format: unknown): unknown {
  if (processors === undefined || processors === null) return response_format;
  const list: unknown[] = Symbol.iterator in Object(processors) ? [...(processors as Iterable<unknown>)] : [processors];
  const formats = list.map((each) => (each instanceof StructuredOutputProcessor ? each.format : undefined));
  if (list.length === 0) return response_format;
  if (formats.length === 1 && formats[0] && !response_format) return formats[0];
  throw new UnsupportedError(
    "generate: option 'logits_processor' is not supported: the options of generate choose tokens (repetition_penalty, bad_words_ids, ..); one StructuredOutputProcessor is taken, with no response_format beside it",
  );
}

/** `generate`, once more in wattn's words where it refuses options that are written out of habit. */
export const generateFamiliar = (engine: AnyEngine, given: ModelGenerateOptions): Promise<Tensor | GeneratedIds> =>
  generate(engine, given).catch((error) => generate(engine, again('generate', 'generate', given, error)));

/** The number of the last hold: of any model, as they need not be dense. */
let lastHold = 0;

async function generate(engine: AnyEngine, given: ModelGenerateOptions): Promise<Tensor | GeneratedIds> {
  const { generation_config, ...own } = (given ?? {}) as ModelGenerateOptions & Record<string, unknown>;
  const { inputs, input_ids, attention_mask, token_type_ids, ...rest } = own;
  const config = Object.entries(generation_config ?? {}).filter(
    ([name]) => name in kRules || name in kMissing || name === 'suppress_tokens',
  );
  let all: Record<string, unknown> = { ...Object.fromEntries(config), ...rest };
  for (const [name, hint] of Object.entries(kMissing)) {
    if (all[name]) throw new UnsupportedError(`generate: option '${name}' is not supported: ${hint}`);
    delete all[name];
  }
  const { suppress_tokens } = all;
  delete all['suppress_tokens'];
  if (Array.isArray(suppress_tokens)) {
    const bad = (all['bad_words_ids'] ?? []) as readonly (readonly number[])[];
    all['bad_words_ids'] = [...bad, ...suppress_tokens.map((id) => [Number(id)])];
  }
  all = readOptions('generate', all, kRules);
  const { streamer, stopping_criteria, signal, past_key_values: past, use_cache: _use, return_dict_in_generate, ...choice } = all;
  const {
    pad_token_id,
    bos_token_id: _bos,
    adapter,
    response_format,
    logits_processor,
    ...options
  } = choice as ModelGenerateOptions & { bos_token_id?: number };
  if (past != null && !(past instanceof DynamicCache)) {
    const expected = 'what generate() returned as past_key_values';
    throw new InputError(`generate: option 'past_key_values': expected ${expected}, found ${describe(past)}`);
  }
  const ids = inputs ?? input_ids;
  const read = toInputs({ input_ids: ids, ...(attention_mask && { attention_mask }), token_type_ids } as ModelInputs);
  const { rows, columns, data } = read.ids;
  const reads = engine.info.max_source_length !== undefined;

  const watch = new TokenWatch('generate', { streamer, stopping_criteria } as ModelGenerateOptions, signal as never, rows);
  const call = watch.call();
  const items = Array.from({ length: rows }, (_, row) => idsOf(read, row));
  const hold = return_dict_in_generate && !reads ? lastHold + 1 : undefined;
  if (hold !== undefined) lastHold += rows;
  const format = formatOf(logits_processor, response_format);
  const formats = format ? await (await import('../generation/response_format.js')).readFormats(format, rows) : undefined;
  const request = { ...options, ...(formats && { formats }), reads, hold, adapter: adapter ?? engine.adapters?.active };
  const run = engine.run('generate', items, request, call.signal, call.onPiece) as Promise<SeamSequence[][]>;
  const made = await (call.stopped ? run.catch(call.stopped) : run);
  const results = watch.finished(made, ({ tokens }): SeamSequence[] => [
    { tokens: Int32Array.from(tokens), reason: 'stop', score: 0 },
  ]);

  const { decoder_start_token_id: start, eos_token_id } = readGenerateOptions(engine as never, options);
  const files = { ...readConfig(engine), ...readJson(engine.files, 'generation_config.json') };
  const pad = Number(pad_token_id ?? files['pad_token_id'] ?? [eos_token_id ?? 0].flat()[0]);
  const lists = results.flatMap((list, row) =>
    list.map(({ tokens }) => [...(reads ? [start as number] : data.subarray(row * columns, (row + 1) * columns)), ...tokens]),
  );
  const longest = Math.max(...lists.map(({ length }) => length));
  const type = ids instanceof Tensor ? ids.type : 'int32';
  const sequences = new Tensor(
    type,
    lists.flatMap((list) => [...list, ...new Array<number>(longest - list.length).fill(pad)]),
    [lists.length, longest],
  );
  if (!return_dict_in_generate) return sequences;
  const release = async () => {
    const numbers = Array.from({ length: rows }, (_, row) => (hold as number) + row);
    await engine.run('release_prefix', numbers, {}, undefined).catch(() => {}); // the model was disposed of: nothing is held
  };
  return { sequences, past_key_values: new DynamicCache(longest - 1, hold === undefined ? undefined : release) };
}
