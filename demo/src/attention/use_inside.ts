// A second door to the page's model: its tokens, attentions and what becomes of them when heads are turned off.
import { AutoModel, AutoTokenizer, type ModelSpecifier } from 'wattn';
import { useEffect, useState } from 'preact/hooks';

export interface Inside {
  tokens: string[];
  /** [layers][heads], each [seq * seq]: row i is what token i looks at. */
  attentions: Float32Array[][];
  /** Cosine of the mean vector to the one with every head on. */
  kept: number;
}

interface Door {
  run(text: string, off: ReadonlySet<string>): Promise<Inside>;
  dispose(): void;
}

function meanOf(data: Float32Array, seq: number): Float32Array {
  const size = data.length / seq;
  const mean = new Float32Array(size);
  data.forEach((value, i) => (mean[i % size] = (mean[i % size] as number) + value / seq));
  return mean;
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [ab, aa, bb] = [0, 0, 0];
  a.forEach((x, i) => {
    const y = b[i] as number;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  });
  return ab / Math.sqrt(aa * bb);
}

async function openDoor(source: ModelSpecifier | null): Promise<Door> {
  const [tokenizer, model] = await Promise.all([AutoTokenizer.from_pretrained(source), AutoModel.from_pretrained(source)]);
  const { num_hidden_layers: layers, num_attention_heads: heads } = model.info();
  return {
    async run(text, off) {
      const inputs = tokenizer(text, { truncation: true, max_length: 48 });
      const tokens = tokenizer.convert_ids_to_tokens(Array.from(inputs.input_ids.data, Number));
      const seq = tokens.length;
      const head_mask = Array.from({ length: layers }, (_, layer) =>
        Array.from({ length: heads }, (_, head) => (off.has(`${layer} ${head}`) ? 0 : 1)),
      );
      const out = await model(inputs, { output_attentions: true, ...(off.size > 0 && { head_mask }) });
      const whole = off.size > 0 ? await model(inputs) : out;
      const attentions = (out.attentions ?? []).map(({ data }) =>
        Array.from({ length: heads }, (_, head) => data.slice(head * seq * seq, (head + 1) * seq * seq) as Float32Array),
      );
      const kept = cosine(meanOf(out.last_hidden_state.data, seq), meanOf(whole.last_hidden_state.data, seq));
      return { tokens, attentions, kept };
    },
    dispose: () => void model.dispose(),
  };
}

export function useInside(source: ModelSpecifier | null, text: string, off: ReadonlySet<string>) {
  const [door, setDoor] = useState<Door>();
  const [inside, setInside] = useState<Inside>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    let gone = false;
    const opening = openDoor(source);
    opening.then((opened) => !gone && setDoor(opened)).catch(setError);
    return () => {
      gone = true;
      void opening.then((opened) => opened.dispose()).catch(() => {});
    };
  }, [source]);
  useEffect(() => {
    let stale = false;
    if (door && text.trim() !== '')
      door
        .run(text, off)
        .then((found) => !stale && setInside(found))
        .catch((reason) => !stale && setError(reason as Error));
    return () => void (stale = true);
  }, [door, text, off]);
  return { inside, error };
}
