// Who writes: the small model, trained beside the page, or the page's model if it is a decoder.
import { AutoModelForCausalLM, AutoTokenizer, type ModelSpecifier } from 'wattn';
import { beside } from '../beside/beside.js';
import { splitText, type SmallOptions } from './small_model_text.js';
import type { Learned, Step } from './write_task.js';

export interface Next {
  logits: Float32Array;
  /** What each layer would say: its most likely tokens, the embeddings first. */
  layers: readonly (readonly { id: number; logit: number }[])[];
}

export interface Writer {
  about: string;
  /** How its tokens become text. */
  text(ids: readonly number[]): string;
  /** One token, as a label. */
  label(id: number): string;
  /** Unknown words are left out. */
  ids(text: string): number[];
  next(ids: readonly number[]): Promise<Next>;
  stop(): void;
}

const kLens = 3;

const best = (logits: Float32Array) =>
  Array.from(logits, (logit, id) => ({ id, logit })).sort((a, b) => b.logit - a.logit || a.id - b.id).slice(0, kLens); // prettier-ignore

/** started: gets a way to end the training. */
export async function trainWriter(
  options: SmallOptions & { text: string },
  onStep: (step: Step) => void,
  started: (stop: () => void) => void,
): Promise<Writer> {
  const work = beside<Learned, number[], Float32Array[]>('write', options, onStep);
  started(work.stop);
  const { vocabulary, parameters } = await work.done;
  const idOf = new Map(vocabulary.map((piece, id) => [piece, id]));
  const words = options.level === 'words';
  return {
    about: `3 layers, ${parameters.toLocaleString('en-GB')} parameters, ${vocabulary.length} ${options.level}`,
    text: (ids) => {
      const pieces = ids.map((id) => vocabulary[id] as string);
      return words ? pieces.join(' ').replace(/ (?=[.,;:!?])/g, '') : pieces.join('');
    },
    label: (id) => shown(vocabulary[id] as string),
    ids: (text) => splitText(text, options.level).flatMap((piece) => idOf.get(piece) ?? []),
    async next(ids) {
      const layers = await work.ask([...ids]);
      return { logits: layers.at(-1) as Float32Array, layers: layers.map(best) };
    },
    stop: work.stop,
  };
}

/** Spaces that would be invisible. */
const shown = (text: string) => text.replaceAll(' ', '␣').replaceAll('\n', '⏎').replaceAll('\t', '⇥') || '∅';

export async function modelWriter(source: ModelSpecifier | null): Promise<Writer> {
  const model = await AutoModelForCausalLM.from_pretrained(source, { worker: true });
  try {
    const tokenizer = await AutoTokenizer.from_pretrained(source as ModelSpecifier);
    const { num_hidden_layers, model_type } = model.info();
    return {
      about: `${model_type}, ${num_hidden_layers} layers`,
      text: (ids) => tokenizer.decode([...ids], { skip_special_tokens: true }),
      label: (id) => shown(tokenizer.decode([id])),
      ids: (text) => tokenizer.encode(text),
      async next(ids) {
        const { logits, logit_lens } = await model({ input_ids: [[...ids]] }, { logit_lens: kLens });
        const vocabulary = logits.dims[2] as number;
        const [layers, , seq] = logit_lens.ids.dims as [number, number, number];
        return {
          logits: logits.data.slice((ids.length - 1) * vocabulary),
          layers: Array.from({ length: layers }, (_, layer) =>
            Array.from({ length: kLens }, (__, rank) => {
              const at = (layer * seq + seq - 1) * kLens + rank;
              return { id: Number(logit_lens.ids.data[at]), logit: logit_lens.logits.data[at] as number };
            }),
          ),
        };
      },
      stop() {
        void model.dispose();
        void tokenizer.dispose();
      },
    };
  } catch (error) {
    void model.dispose();
    throw error;
  }
}
