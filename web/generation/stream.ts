// A call of a pipeline as an async iterator of what it tells while it runs.
import { InputError } from '../core/errors.js';
import { ownCopy } from '../core/options.js';
import { TaskScope } from '../core/signal.js';
import type { TextGenerationOptions } from './generation_types.js';

/** Runs a call as an async iterator of what it tells; leaving the iterator ends the call. */
export async function* stream<Told>(
  pipe: (...args: unknown[]) => Promise<unknown>,
  prompt: unknown,
  given: unknown,
  listener: 'callback' | 'delta_callback' = 'callback',
): AsyncGenerator<Told, void> {
  const { signal, ...options } = ownCopy(Object(given) as TextGenerationOptions);
  if (Array.isArray(prompt) && (typeof prompt[0] === 'string' || Array.isArray(prompt[0]))) {
    throw new InputError('generate.stream: expected one text or one chat, found a list of them');
  }
  const scope = new TaskScope(signal ?? undefined);
  const ready: Told[] = [];
  let wake = () => {};
  let ended = false;
  let failure: { error: unknown } | undefined;
  const hear = (piece: Told) => {
    ready.push(piece);
    wake();
  };
  const whole = pipe(prompt, { ...options, [listener]: hear, signal: scope.signal })
    .catch((error) => (failure = { error }))
    .finally(() => {
      ended = true;
      wake();
    });
  try {
    for (;;) {
      while (ready.length > 0) yield ready.shift() as Told;
      if (failure) throw failure.error;
      if (ended) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    scope.close();
    await whole;
  }
}

/** The value of a call with a `response_format` of JSON as far as it is written, each time that it changes; the last one is whole. */
export async function* streamObjects(
  pipe: (...args: unknown[]) => Promise<unknown>,
  prompt: unknown,
  given: unknown,
): AsyncGenerator<unknown, void> {
  const { partialJson } = await import('./partial_json.js');
  const { type, after = '' } = Object(Object(given).response_format) as { type?: string; after?: string };
  if (type !== 'json_schema' && type !== 'json_object') {
    throw new InputError("generate.stream_objects: expected the option 'response_format' with type 'json_schema' or 'json_object'");
  }
  let results: unknown;
  const kept = async (...args: unknown[]) => (results = await pipe(...args));
  let text = '';
  let last: string | undefined;
  const isNew = (value: unknown) => value !== undefined && last !== (last = JSON.stringify(value));
  for await (const piece of stream<string>(kept, prompt, given)) {
    text += piece;
    const begin = text.indexOf(after);
    const value = begin < 0 ? undefined : partialJson(text.slice(begin + after.length));
    if (isNew(value)) yield value;
  }
  const [{ parsed }] = results as [{ parsed?: unknown }];
  if (isNew(parsed)) yield parsed;
}
