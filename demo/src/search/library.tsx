// The texts of the index: pasted, dropped, picked or the examples; and building it.
import { useState } from 'preact/hooks';
import { kFits } from '../ui/address.js';
import { formatCount, formatTime, plural } from '../ui/format.js';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { exampleDocs } from './example.js';
import type { Doc } from './types.js';
import { docsOfDrop, docsOfFiles } from './text_files.js';
import type { BuildProgress, IndexControl } from './use_index.js';

const kSizes = [16, 32, 64, 128, 256];

/** What a person gave to be searched. */
function useDocs() {
  const [pasted, setPasted] = useKept('search.pasted', () => '');
  const [files, setFiles] = useKept<Doc[]>('search.files', () => []);
  const docs: Doc[] = [...(pasted.trim() === '' ? [] : [{ name: 'Pasted', text: pasted }]), ...files];
  return { pasted, setPasted, files, setFiles, docs };
}

/** As the panel opens: by a link, or by a person before the model changed. */
export const useFirstDocs = () => useDocs().docs;

export function Library({ index, maxLength }: { index: IndexControl; maxLength: number }) {
  const { pasted, setPasted, files, setFiles, docs } = useDocs();
  const [size, setSize] = useKept('search.size', () => Math.min(32, maxLength));
  const [error, setError] = useState<Error>();
  const [over, setOver] = useState(false);
  const sizes = [...new Set(kSizes.map((some) => Math.min(some, maxLength)))];
  const take = async (found: Promise<Doc[]>) => {
    setError(undefined);
    try {
      setFiles([...files, ...(await found)]);
    } catch (reason) {
      setError(reason as Error);
    }
  };
  return (
    <article
      class={over ? 'panel library is-over' : 'panel library'}
      aria-labelledby="library-title"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (event.dataTransfer) void take(docsOfDrop(event.dataTransfer));
      }}
    >
      <h2 id="library-title">Texts</h2>
      <label for="pasted">Paste a text, or drop text files here. {kFits}</label>
      <textarea id="pasted" rows={4} value={pasted} onInput={(event) => setPasted(event.currentTarget.value)} />
      <FileList docs={files} onPick={(list) => void take(docsOfFiles(list))} onClear={() => setFiles([])} />
      <div class="library-line">
        <label>
          Max tokens per chunk{' '}
          <select value={Math.min(size, maxLength)} onChange={(event) => setSize(Number(event.currentTarget.value))}>
            {sizes.map((some) => (
              <option key={some} value={some}>
                {some}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          disabled={index.opening || !!index.building}
          onClick={() => index.build(docs.length ? docs : exampleDocs, size)}
        >
          {docs.length > 0 ? `Index ${plural(docs.length, 'text')}` : 'Index the examples'}
        </button>
      </div>
      {error && <Problem error={error} />}
      {index.error && <Problem error={index.error} />}
      {index.building ? <Building progress={index.building} onCancel={index.cancel} /> : <Facts index={index} />}
    </article>
  );
}

interface FileListProps {
  docs: readonly Doc[];
  onPick: (files: FileList) => void;
  onClear: () => void;
}

function FileList({ docs, onPick, onClear }: FileListProps) {
  const letters = docs.reduce((sum, { text }) => sum + text.length, 0);
  return (
    <div class="library-files">
      <label class="file-button">
        Choose text files…
        <input
          type="file"
          class="visually-hidden"
          multiple
          aria-label="Text files"
          onChange={(event) => {
            const { files } = event.currentTarget;
            if (files?.length) onPick(files);
            event.currentTarget.value = '';
          }}
        />
      </label>
      {docs.length > 0 && (
        <>
          <span class="hint">
            {docs.length === 1 ? docs[0]?.name : plural(docs.length, 'file')}, {formatCount(letters)} characters
          </span>
          <button type="button" class="secondary outline small" onClick={onClear}>
            Remove
          </button>
        </>
      )}
    </div>
  );
}

function Building({ progress, onCancel }: { progress: BuildProgress; onCancel: () => void }) {
  const { stage, chunks, share, secondsLeft } = progress;
  const left = secondsLeft === undefined ? '' : ` About ${formatTime(1000 * secondsLeft)} left.`;
  const says = stage === 'arrange' ? 'Arranging the map…' : `Embedded ${plural(chunks, 'chunk')}.${left}`;
  return (
    <div class="loading">
      <progress aria-label="Building the index" {...(share !== undefined && { value: share, max: 1 })} />
      <div class="loading-line">
        <span>{says}</span>
        <button type="button" class="secondary outline small" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </div>
  );
}

function Facts({ index }: { index: IndexControl }) {
  const { facts, restored, ms } = index;
  if (!facts) return null;
  const from = restored
    ? `Found in this browser, built ${new Date(facts.built).toLocaleString()}`
    : `Built in ${formatTime(ms ?? 0)}`;
  return (
    <div class="library-line">
      <p class="hint" role="status" data-index={restored ? 'restored' : 'built'}>
        {plural(facts.texts, 'text')} in {plural(facts.pieces.length, 'chunk')}. {from}
        {facts.unkept ? `; not stored: ${facts.unkept}` : restored ? '.' : ' and stored in this browser for your next visit.'}
      </p>
      <button type="button" class="secondary outline small" onClick={index.forget}>
        Delete it
      </button>
    </div>
  );
}
