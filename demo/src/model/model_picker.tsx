// The ways to choose a model: the one in the package, a folder on this machine, an id on the hub, a URL.
import { useEffect, useRef, useState } from 'preact/hooks';
import { filesOfDrop, filesOfPicker, nameOf, type ModelFiles } from './files_of.js';
import { kBundled, type ModelControl } from './use_model.js';

export const kExample = 'sentence-transformers/all-MiniLM-L6-v2';
const kCanPickFolders = 'webkitdirectory' in HTMLInputElement.prototype;

interface PickerProps {
  control: ModelControl;
  error: Error | undefined;
  /** What stands in the field for ids and URLs; kept over a loading that failed. */
  address: string;
  onAddress: (address: string) => void;
}

export function ModelPicker({ control, error, address, onAddress }: PickerProps) {
  return (
    <>
      {error && (
        <div class="error" role="alert">
          <strong>{error.name === 'Error' ? 'That did not work' : error.name}</strong>
          <p>{error.message}</p>
        </div>
      )}
      <div class="ways">
        <BundledWay control={control} />
        <FolderWay control={control} />
        <AddressWay control={control} address={address} onAddress={onAddress} />
      </div>
      <NeededFiles />
    </>
  );
}

function BundledWay({ control }: { control: ModelControl }) {
  return (
    <section class="way" aria-labelledby="way-bundled">
      <h3 id="way-bundled">{kBundled}</h3>
      <p>Small (4 MB), English, available at once.</p>
      <button type="button" onClick={() => control.load(null, kBundled)}>
        Use it
      </button>
    </section>
  );
}

function FolderWay({ control }: { control: ModelControl }) {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = async (files: Promise<ModelFiles> | (() => ModelFiles)) => {
    try {
      const found = typeof files === 'function' ? files() : await files;
      control.load(found, nameOf(found));
    } catch (error) {
      control.fail(error as Error);
    }
  };
  // The whole page takes the drop: beside the zone, the browser would leave the page and show the folder.
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const onOver = (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    };
    const onLeave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const onDrop = (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      if (event.dataTransfer) void take(filesOfDrop(event.dataTransfer));
    };
    addEventListener('dragover', onOver, { signal });
    addEventListener('dragleave', onLeave, { signal });
    addEventListener('drop', onDrop, { signal });
    return () => controller.abort();
  }, []);
  return (
    <section class={over ? 'way drop is-over' : 'way drop'} aria-labelledby="way-folder">
      <h3 id="way-folder">A folder on this machine</h3>
      <p>
        Drop it here
        {kCanPickFolders ? ', or choose it. Your browser may call this an “upload”, but the files stay on this machine.' : '.'}
      </p>
      {kCanPickFolders && (
        <>
          <button type="button" onClick={() => input.current?.click()}>
            Choose a folder…
          </button>
          <input
            ref={input}
            type="file"
            hidden
            multiple
            {...{ webkitdirectory: true }}
            aria-label="Folder of a model"
            onChange={(event) => {
              const { files } = event.currentTarget;
              if (files?.length) void take(() => filesOfPicker(files));
            }}
          />
        </>
      )}
    </section>
  );
}

function AddressWay({ control, address, onAddress }: Omit<PickerProps, 'error'>) {
  return (
    <form
      class="way"
      aria-labelledby="way-address"
      onSubmit={(event) => {
        event.preventDefault();
        const model = address.trim();
        if (model) control.load(model, model);
      }}
    >
      <h3 id="way-address">A model on the web</h3>
      <label for="address">Hub id, or URL of a folder with the files</label>
      <input
        id="address"
        value={address}
        onInput={(event) => onAddress(event.currentTarget.value)}
        required
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
      />
      <button type="submit">Load</button>
    </form>
  );
}

const kFiles: [string, string][] = [
  ['config.json', 'the architecture: layers, sizes'],
  ['tokenizer.json', 'how text becomes tokens'],
  ['model.safetensors', 'the weights, in one file or in shards with their index; or pytorch_model.bin'],
];

function NeededFiles() {
  return (
    <details>
      <summary>Which files does a model need?</summary>
      <dl class="files">
        {kFiles.map(([name, what]) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>
        Use them exactly as the model's authors published them: nothing has to be exported or converted. If a repository also says
        how to pool the token vectors (<code>modules.json</code>, <code>1_Pooling/config.json</code>), how long a text may be or
        which prompts to use, this page follows it. A good next model is <code>{kExample}</code> (91 MB, English). Models are
        downloaded from huggingface.co by their hub id; only the model's name is sent there, never your text.
      </p>
    </details>
  );
}
