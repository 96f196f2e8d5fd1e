// A model from this machine: a folder, chosen or dropped anywhere on the page; and which files a model needs.
import { useEffect, useRef, useState } from 'preact/hooks';
import { filesOfDrop, filesOfPicker, nameOf, type ModelFiles } from './files_of.js';
import type { ModelControl } from './use_model.js';

const kCanPickFolders = 'webkitdirectory' in HTMLInputElement.prototype;

export function FolderWay({ control }: { control: ModelControl }) {
  const folder = useRef<HTMLInputElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = async (files: Promise<ModelFiles> | (() => ModelFiles)) => {
    try {
      const found = typeof files === 'function' ? files() : await files;
      control.load(found, nameOf(found));
    } catch (error) {
      control.fail(error as Error);
    }
  };
  const chosen = (input: HTMLInputElement) => {
    const { files } = input;
    if (files?.length) void take(() => filesOfPicker(files));
    input.value = ''; // so that the same can be chosen again
  };
  // The whole page takes the drop: beside the zone, the browser would leave the page and show the folder. What a panel has taken is no model.
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const onOver = (event: DragEvent) => {
      if (event.defaultPrevented) return setOver(false);
      event.preventDefault();
      setOver(true);
    };
    const onLeave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const onDrop = (event: DragEvent) => {
      setOver(false);
      if (event.defaultPrevented) return;
      event.preventDefault();
      if (event.dataTransfer) void take(filesOfDrop(event.dataTransfer));
    };
    addEventListener('dragover', onOver, { signal });
    addEventListener('dragleave', onLeave, { signal });
    addEventListener('drop', onDrop, { signal });
    return () => controller.abort();
  }, []);
  return (
    <section class={over ? 'way drop is-over' : 'way drop'} aria-labelledby="way-folder">
      <h3 id="way-folder">From this machine</h3>
      <p>
        Drop a model folder or a .gguf file here, or choose one. Your browser may call this an “upload”, but the files stay on this
        machine.
      </p>
      <div class="way-buttons">
        {kCanPickFolders && (
          <button type="button" onClick={() => folder.current?.click()}>
            Choose a folder…
          </button>
        )}
        <button type="button" class="outline" onClick={() => file.current?.click()}>
          Choose a .gguf file…
        </button>
      </div>
      <input
        ref={folder}
        type="file"
        hidden
        multiple
        {...{ webkitdirectory: true }}
        aria-label="Model folder"
        onChange={(event) => chosen(event.currentTarget)}
      />
      <input
        ref={file}
        type="file"
        hidden
        accept=".gguf"
        aria-label="Model file"
        onChange={(event) => chosen(event.currentTarget)}
      />
    </section>
  );
}

const kFiles: [string, string][] = [
  ['config.json', 'the architecture: layers, sizes'],
  ['tokenizer.json', 'how text becomes tokens'],
  ['model.safetensors', 'the weights, in one file or in shards with their index; or pytorch_model.bin'],
];

export function NeededFiles() {
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
        Use the files exactly as published; there is nothing to export or convert. If the repository also defines how to pool the
        token vectors (<code>modules.json</code>, <code>1_Pooling/config.json</code>), the maximum length or prompts, this page uses
        them. Models are downloaded from huggingface.co by Hub id; only the model's name is sent there, never your text.
      </p>
    </details>
  );
}
