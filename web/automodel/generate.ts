// model.generate(): rows of ids go on, as in transformers.js.
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import { again } from '../core/habits.js';
import { readOptions, type Rules } from '../core/options.js';
import { Tensor } from '../core/tensor.js';
import type { AnyEngine } from '../engine/engine.js';
import { toInputs } from '../engine/model_inputs.js';
import type { ModelInputs } from '../engine/types.js';
import type { TaskEngine } from '../engine/task.js';
import { callersOptions, checkAssistant } from '../generation/callers_options.js';
import type { GeneratedSequence } from '../generation/generated_sequence.js';
import { readJson } from '../source/model_files.js';
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
  output_scores: 'boolean',
  output_logits: 'boolean',
  use_cache: 'boolean',
  adapter: 'any',
  signal: 'signal',
};

/** What transformers.js takes and wattn has not, and what to do instead. */
const kMissing: Record<string, string> = {
  output_attentions: 'call the model with the ids that generate returns',
  output_hidden_states: 'call the model with the ids that generate returns',
  inputs_embeds: 'pass input_ids',
  encoder_outputs: 'pass input_ids',
  decoder_input_ids: 'decoder_start_token_id and forced_bos_token_id choose how the text begins',
  guidance_scale: 'it needs two passes for each token',
};

/** For each step the rows of all texts, [batch, vocab]; NaN for those that had ended. */
function stepsOf(results: readonly (readonly GeneratedSequence[])[], name: 'scores' | 'logits'): Tensor<'float32'>[] {
  const lists = results.map(([one]) => one?.[name] ?? []);
  const vocab = lists.find(({ length }) => length > 0)?.[0]?.length ?? 0;
  const ended = new Float32Array(vocab).fill(NaN);
  return Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, step) => {
    const data = new Float32Array(lists.length * vocab);
    lists.forEach((list, row) => data.set(list[step] ?? ended, row * vocab));
    return new Tensor('float32', data, [lists.length, vocab]);
  });
}

/** `generate`, once more in wattn's words where it refuses options that are written out of habit. */
export const generateFamiliar = (engine: AnyEngine, given: ModelGenerateOptions): Promise<Tensor | GeneratedIds> =>
  generate(engine, given).catch((error) => generate(engine, again('generate', 'generate', given, error)));

/** The number of the last hold: of any model, as they need not be dense. */
let lastHold = 0;

async function generate(engine: AnyEngine, given: ModelGenerateOptions): Promise<Tensor | GeneratedIds> {
  const { generation_config, ...own } = (given ?? {}) as ModelGenerateOptions & Record<string, unknown>;
  const { inputs, input_ids, attention_mask, token_type_ids, ...rest } = own;
  const config = Object.entries(generation_config ?? {}).filter(([name]) => name in kRules || name in kMissing);
  let all: Record<string, unknown> = { ...Object.fromEntries(config), ...rest };
  for (const [name, hint] of Object.entries(kMissing)) {
    if (all[name]) throw new UnsupportedError(`generate: option '${name}' is not supported: ${hint}`);
    delete all[name];
  }
  all = readOptions('generate', all, kRules);
  const { streamer, stopping_criteria, signal, past_key_values: past, use_cache: _use, return_dict_in_generate, ...choice } = all;
  const {
    pad_token_id,
    bos_token_id: _bos,
    adapter,
    response_format,
    logits_processor,
    assistant_model,
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
  const { response_format: ofProcessor, ...callers } = callersOptions(engine, { logits_processor, assistant_model });
  if (callers.assistant && reads)
    throw new InputError("generate: option 'assistant_model': expected a decoder, found an encoder-decoder");
  if (callers.assistant) checkAssistant(engine as unknown as TaskEngine, callers.assistant);
  if (response_format && ofProcessor) {
    throw new InputError(
      "generate: expected one of the options 'response_format' and 'logits_processor', which both have a format, found both",
    );
  }
  const format = response_format ?? ofProcessor;
  const formats = format ? await (await import('../generation/response_format.js')).readFormats(format, rows) : undefined;
  const request = { ...options, ...callers, ...(formats && { formats }), reads, hold, adapter: adapter ?? engine.adapters?.active };
  const run = engine.run('generate', items, request, call.signal, call.onPiece) as Promise<GeneratedSequence[][]>;
  const made = await (call.stopped ? run.catch(call.stopped) : run);
  const results = watch.finished(made, ({ tokens }): GeneratedSequence[] => [
    { tokens: Int32Array.from(tokens), reason: 'stop', score: 0 },
  ]);

  const { decoder_start_token_id: start, eos_token_id, num_beams = 1 } = readGenerateOptions(engine as never, options).seam;
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
  const scores = num_beams > 1 ? results.flatMap((list) => list.map(({ score }) => score)) : undefined;
  return {
    sequences,
    ...(options.output_scores && { scores: stepsOf(results, 'scores') }),
    ...(options.output_logits && { logits: stepsOf(results, 'logits') }),
    ...(scores && { sequences_scores: new Tensor('float32', scores, [scores.length]) }),
    past_key_values: new DynamicCache(longest - 1, hold === undefined ? undefined : release),
  };
}
