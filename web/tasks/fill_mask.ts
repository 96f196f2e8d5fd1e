// fill-mask: the most likely tokens at a mask.
import { withFacts } from '../core/facts.js';
import { InputError, UnsupportedError } from '../core/errors.js';
import { ownCopy, type Rules } from '../core/options.js';
import { readTexts } from '../core/texts.js';
import type { FillMaskOptions, MaskFilling } from './task_types.js';
import { readTokenizerConfig, specialTokens } from '../tokenizer/config.js';
import { factsOf, predict, wasTruncated, type Facts, type Window } from './predict.js';
import { softmax, topIndices } from '../core/scores.js';
import { takeOptions, takeTopK, toSeamOptions, type Task, type TaskEngine, type TextOptions } from '../engine/task.js';

const kRules: Rules = { top_k: 'any', topk: 'any', targets: 'any' };

interface FillMaskCall extends TextOptions {
  top_k: number;
  targets?: string[];
}

interface Result extends Facts {
  fillings: MaskFilling[][]; // per mask
}

interface Vocabulary {
  mask: string;
  mask_id: number;
  pad_id: number;
  decode(ids: Int32Array, skipSpecialTokens: boolean): string;
}

function vocabularyOf(engine: TaskEngine): Vocabulary {
  const idOf = (text: string) => engine.call((handle) => handle.token_to_id(text)).id;
  const config = readTokenizerConfig(
    engine.files,
    engine.call((handle) => handle.describe_tokenizer()),
  );
  const { mask_token: mask, pad_token: pad } = specialTokens(config, (token) => idOf(token) >= 0);
  const mask_id = mask === undefined ? -1 : idOf(mask);
  if (mask === undefined || mask_id < 0) {
    throw new UnsupportedError(`fill-mask: expected a tokenizer with a mask token, found none`);
  }
  return {
    mask,
    mask_id,
    pad_id: pad === undefined ? -1 : idOf(pad),
    decode: (ids, skip) => engine.call((handle) => handle.decode(ids, skip, config.clean_up_tokenization_spaces)).text,
  };
}

/** The ids of targets; a target that is not one token counts as its first token. */
function targetIds(engine: TaskEngine, targets: readonly string[]): number[] {
  const ids = targets.map((target) => {
    const { id } = engine.call((handle) => handle.token_to_id(target));
    if (id >= 0) return id;
    const answer = engine.call((handle) => handle.encode([target], undefined, ownCopy({ add_special_tokens: false })));
    if (answer.ids.length > 0) return answer.ids[0] as number;
    throw new InputError(`fill-mask: option 'targets': expected texts with tokens, found '${target}'`);
  });
  return [...new Set(ids)];
}

function fillingsOf(
  window: Window,
  vocabulary: Vocabulary,
  options: FillMaskCall,
  targets: readonly number[] | undefined,
): MaskFilling[][] {
  const masks = [...window.ids.keys()].filter((i) => window.ids[i] === vocabulary.mask_id);
  return masks.map((mask, row) => {
    const all = softmax(window.logits.subarray(row * window.labels, (row + 1) * window.labels));
    const scores = targets ? targets.map((id) => all[id] as number) : all;
    return topIndices(scores, options.top_k).map((i) => {
      const token = targets ? (targets[i] as number) : i;
      const filled = window.ids.slice();
      filled[mask] = token;
      return {
        score: scores[i] as number,
        token,
        token_str: vocabulary.decode(Int32Array.of(token), false),
        sequence: vocabulary.decode(
          filled.filter((id) => id !== vocabulary.pad_id),
          masks.length === 1,
        ),
      };
    });
  });
}

export const fillMask: Task<string, FillMaskCall, Result> = {
  head: 'masked_lm',

  prepare([texts, given]) {
    const where = 'fill-mask';
    const { options, signal, own } = takeOptions<FillMaskOptions>(where, given, kRules);
    const items = readTexts(where, texts);
    const { targets: named, ...rest } = options;
    const targets = named === undefined ? undefined : readTexts(`${where}: option 'targets'`, named);
    if (targets?.length === 0) throw new InputError(`${where}: option 'targets': expected at least one target, found none`);
    return {
      items,
      options: {
        ...(rest as TextOptions),
        top_k: takeTopK(where, own, 5),
        ...(targets && { targets }),
      },
      signal,
      finish: (results) => {
        const shaped = results.map(({ fillings, ...facts }) =>
          withFacts((fillings.length === 1 ? fillings[0] : fillings) as MaskFilling[], facts),
        );
        return typeof texts === 'string' ? shaped[0] : shaped;
      },
    };
  },

  async run(engine, items, options, context) {
    const vocabulary = vocabularyOf(engine);
    const targets = options.targets && targetIds(engine, options.targets);
    const seam = toSeamOptions(options, { at_token: vocabulary.mask });
    const out: Result[] = [];
    for (const [i, text] of items.entries()) {
      const own = { ...context, first: context.first + i };
      const [windows] = await predict(engine, [{ text }], seam, own, options.on_overflow);
      const window = windows?.[0] as Window;
      if (window.rows === 0) {
        const where = wasTruncated([window]) ? `its first ${window.ids.length} tokens, which the model reads` : 'it';
        throw new InputError(`fill-mask: text ${own.first}: expected the mask token ${vocabulary.mask} in ${where}, found none`);
      }
      out.push({ fillings: fillingsOf(window, vocabulary, options, targets), ...factsOf([window]) });
    }
    return out;
  },
};
