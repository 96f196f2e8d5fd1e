// The tokenizers that stand side by side: the loaded model's, the package's, and what a person adds.
import { AutoTokenizer, type ModelSpecifier, type Tokenizer, type TrainOptions } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ReadyModel } from '../model/use_model.js';
import { exampleDocs } from '../search/example.js';

export interface NamedTokenizer {
  key: number;
  name: string;
  tokenizer: Tokenizer;
  /** The loaded model's: it stays. */
  isOwn: boolean;
}

const kTrainedSize = 700;

let lastKey = 0;

const named = (name: string, tokenizer: Tokenizer, isOwn = false): NamedTokenizer => ({ key: ++lastKey, name, tokenizer, isOwn });

const exampleTexts = () => exampleDocs.map(({ text }) => text);

export function useTokenizers(model: ReadyModel) {
  const [list, setList] = useState<NamedTokenizer[]>(() => [named(`${model.name}, loaded`, model.embed.tokenizer, true)]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const gone = useRef(false);
  const added = useRef(new Set<Tokenizer>()); // to be given back

  const put = async (name: string, loading: Promise<Tokenizer>) => {
    setBusy(true);
    setError(undefined);
    try {
      const tokenizer = await loading;
      if (gone.current) return void tokenizer.dispose();
      added.current.add(tokenizer);
      setList((before) => [...before, named(name, tokenizer)]);
    } catch (reason) {
      setError(reason as Error);
    }
    setBusy(false);
  };

  useEffect(() => {
    const begin = async () => {
      if (model.source !== null) await put('The bundled model’s', AutoTokenizer.from_pretrained());
      await put(
        'BPE, just trained on the example texts of Search',
        AutoTokenizer.train(exampleTexts(), { model: 'bpe', vocab_size: kTrainedSize }),
      );
    };
    void begin();
    return () => {
      gone.current = true;
      for (const tokenizer of added.current) void tokenizer.dispose();
    };
  }, []);

  return {
    list,
    busy,
    error,
    add: (name: string, source: ModelSpecifier) => void put(name, AutoTokenizer.from_pretrained(source)),
    train: (kind: TrainOptions['model'], size: number, text: string) =>
      void put(`${kind}, trained on this text`, AutoTokenizer.train([text], { model: kind, vocab_size: size })),
    remove: ({ key, tokenizer }: NamedTokenizer) => {
      added.current.delete(tokenizer);
      void tokenizer.dispose();
      setList((before) => before.filter((one) => one.key !== key));
    },
  };
}
