// Which words a label hangs on: three attributions of its logit, beside the attention that each token gets.
import { attribute, AutoModelForSequenceClassification, AutoTokenizer, type ModelSpecifier } from 'wattn';

/** In the order of the table's columns. */
export const kMethods = ['leave_one_out', 'gradient_x_input', 'integrated_gradients'] as const;
export type Method = (typeof kMethods)[number];
export const kSteps = 20; // points of the path of integrated gradients

export interface Deciding {
  /** The label that wins. */
  label: string;
  tokens: readonly string[];
  /** Whether a token stands for a part of the text. */
  isWord: readonly boolean[];
  /** [tokens]: the attention that a token gets in the last layer, as a mean over heads and over the tokens that look. */
  attention: readonly number[];
  /** [tokens]: what a token adds to the label's logit. */
  scores: Readonly<Record<Method, readonly number[]>>;
}

const kMostTokens = 48;

/** Undefined once nobody waits any more. */
export async function whatDecides(
  source: ModelSpecifier | null,
  text: string,
  isStale: () => boolean,
): Promise<Deciding | undefined> {
  const [tokenizer, model] = await Promise.all([
    AutoTokenizer.from_pretrained(source),
    AutoModelForSequenceClassification.from_pretrained(source, { worker: true }),
  ]);
  try {
    const inputs = tokenizer(text, { truncation: true, max_length: kMostTokens, return_special_tokens_mask: true });
    const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
    const { logits, attentions } = await model(inputs, { output_attentions: true });
    if (!logits) throw new Error('This model has no labels.');
    const best = logits.data.indexOf(Math.max(...logits.data));
    const scores = {} as Record<Method, readonly number[]>;
    for (const method of kMethods) {
      if (isStale()) return undefined;
      const how = { method, metric: { logit: best }, ...(method === 'integrated_gradients' && { n_steps: kSteps }) };
      scores[method] = [...(await attribute(model, inputs, how)).scores.data];
    }
    return {
      label: (model.config['id2label'] as Record<string, string> | undefined)?.[best] ?? `LABEL_${best}`,
      tokens,
      isWord: tokens.map((_, i) => Number(inputs.special_tokens_mask?.data[i]) === 0),
      attention: received(attentions.at(-1)?.data ?? [], tokens.length),
      scores,
    };
  } finally {
    void model.dispose();
    void tokenizer.dispose();
  }
}

/** The mean of each column of [.., seq, seq]. */
function received(weights: ArrayLike<number>, seq: number): number[] {
  const rows = weights.length / seq;
  return Array.from({ length: seq }, (_, key) => {
    let sum = 0;
    for (let row = 0; row < rows; ++row) sum += weights[row * seq + key] as number;
    return rows > 0 ? sum / rows : 0;
  });
}

/** The word with the largest number. */
export function strongest({ tokens, isWord }: Deciding, numbers: readonly number[]): string {
  let best = -1;
  numbers.forEach((number, i) => {
    if (isWord[i] && (best < 0 || number > (numbers[best] as number))) best = i;
  });
  return tokens[best] ?? '';
}

/** What the three ways say together, and whether attention agrees. */
export function verdict(found: Deciding): string {
  const [left, slope, path] = kMethods.map((method) => strongest(found, found.scores[method])) as [string, string, string];
  const looked = strongest(found, found.attention);
  const agree = left === slope && slope === path;
  const says = agree
    ? `All three methods point to “${left}”.`
    : `The methods disagree: leaving out points to “${left}”, the gradient to “${slope}”, the path to “${path}”.`;
  const attention = agree && looked === left ? 'It also gets the most attention.' : `The most attention goes to “${looked}”.`;
  return `${says} ${attention}`;
}
