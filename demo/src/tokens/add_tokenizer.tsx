// More tokenizers: from files, from the hub, or trained on the text.
import type { ModelSpecifier, TrainOptions } from 'wattn';
import { useState } from 'preact/hooks';

interface AddProps {
  onAdd: (name: string, source: ModelSpecifier) => void;
  onTrain: (kind: TrainOptions['model'], size: number) => void;
  busy: boolean;
}

const kKinds = ['bpe', 'wordpiece', 'unigram', 'word', 'char'] as const;

/** Files of one tokenizer under the names that the library looks for; whatever a lone JSON file is called, it is tokenizer.json. */
function sourceOf(files: readonly File[]): { name: string; source: ModelSpecifier } {
  const [first] = files;
  const isLone = files.length === 1 && first !== undefined;
  const nameOf = (file: File) => (isLone && /\.json$/i.test(file.name) ? 'tokenizer.json' : file.name);
  const name = isLone ? first.name : files.map((file) => file.name).join(', ');
  return { name, source: new Map(files.map((file) => [nameOf(file), file])) };
}

export function AddTokenizer({ onAdd, onTrain, busy }: AddProps) {
  const [over, setOver] = useState(false);
  const take = (list: FileList) => {
    if (list.length === 0) return;
    const { name, source } = sourceOf([...list]);
    onAdd(name, source);
  };
  return (
    <article
      class={over ? 'panel add-tokenizer is-over' : 'panel add-tokenizer'}
      aria-labelledby="add-title"
      aria-busy={busy}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (event.dataTransfer) take(event.dataTransfer.files);
      }}
    >
      <h2 id="add-title">Another tokenizer</h2>
      <div class="add-ways">
        <div>
          <p class="hint">
            Drop its files here, or choose them: <code>tokenizer.json</code>, <code>vocab.txt</code>, a SentencePiece{' '}
            <code>.model</code>, a <code>.gguf</code>.
          </p>
          <label class="file-button">
            Choose files…
            <input
              type="file"
              class="visually-hidden"
              multiple
              aria-label="Tokenizer files"
              onChange={(event) => {
                if (event.currentTarget.files) take(event.currentTarget.files);
                event.currentTarget.value = '';
              }}
            />
          </label>
        </div>
        <HubForm onAdd={onAdd} />
        <TrainForm onTrain={onTrain} />
      </div>
    </article>
  );
}

function HubForm({ onAdd }: Pick<AddProps, 'onAdd'>) {
  const [id, setId] = useState('openai-community/gpt2');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() !== '') onAdd(id.trim(), id.trim());
      }}
    >
      <label for="tokenizer-id">From the Hub, by id</label>
      <input
        id="tokenizer-id"
        value={id}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setId(event.currentTarget.value)}
      />
      <button type="submit" class="secondary outline small">
        Download it
      </button>
    </form>
  );
}

function TrainForm({ onTrain }: Pick<AddProps, 'onTrain'>) {
  const [kind, setKind] = useState<TrainOptions['model']>('wordpiece');
  const [size, setSize] = useState(200);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onTrain(kind, size);
      }}
    >
      <label for="train-kind">Train one on the text above</label>
      <div class="train-line">
        <select id="train-kind" value={kind} onChange={(event) => setKind(event.currentTarget.value as TrainOptions['model'])}>
          {kKinds.map((some) => (
            <option key={some} value={some}>
              {some}
            </option>
          ))}
        </select>
        <input
          type="number"
          min={10}
          max={30000}
          value={size}
          aria-label="Vocabulary size"
          onInput={(event) => setSize(Number(event.currentTarget.value))}
        />
      </div>
      <button type="submit" class="secondary outline small">
        Train it
      </button>
    </form>
  );
}
