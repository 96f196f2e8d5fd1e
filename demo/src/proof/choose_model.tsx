// Which model is measured.
import { useRef, useState } from 'preact/hooks';
import { filesOfPicker, nameOf } from '../model/files_of.js';
import { kSuggestions } from '../model/models.js';
import { Choice } from '../ui/choice.js';
import { Problem } from '../ui/lazy.js';
import { servedHere, type Chosen } from './use_proof.js';

type Way = 'served' | 'bundled' | 'hub' | 'folder';

const kBundledModel: Chosen = { name: 'the bundled model', model: null };
const kOnHub = kSuggestions.find(({ id }) => id.includes('/'))?.id ?? '';
const kCanPickFolders = 'webkitdirectory' in HTMLInputElement.prototype;

interface Props {
  chosen: Chosen;
  onChoose: (chosen: Chosen) => void;
  disabled: boolean;
}

export function ChooseModel({ chosen, onChoose, disabled }: Props) {
  const [served] = useState(servedHere);
  const [way, setWay] = useState<Way>(served ? 'served' : 'bundled');
  const [id, setId] = useState(kOnHub);
  const [error, setError] = useState<Error>();
  const input = useRef<HTMLInputElement>(null);
  const ways: (readonly [Way, string])[] = [
    ...(served ? [['served', served.name] as const] : []),
    ['bundled', 'Bundled model'],
    ['hub', 'From the Hub'],
    ...(kCanPickFolders ? [['folder', 'A folder'] as const] : []),
  ];
  const choose = (next: Way) => {
    setWay(next);
    if (next === 'served' && served) onChoose(served);
    if (next === 'bundled') onChoose(kBundledModel);
    if (next === 'hub') onChoose({ name: id, model: id });
  };
  const pick = (files: FileList) => {
    try {
      const found = filesOfPicker(files);
      setError(undefined);
      onChoose({ name: nameOf(found), model: found });
    } catch (reason) {
      setError(reason as Error);
    }
  };
  return (
    <fieldset class="proof-model" disabled={disabled}>
      <Choice label="Model" value={way} options={ways} onChange={choose} />
      {way === 'hub' && (
        <label>
          Hub id, or URL of a folder
          <input
            value={id}
            onInput={({ currentTarget: { value } }) => {
              setId(value);
              onChoose({ name: value.trim(), model: value.trim() });
            }}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
          />
        </label>
      )}
      {way === 'folder' && (
        <p>
          <button type="button" class="secondary outline small" onClick={() => input.current?.click()}>
            Choose a folder…
          </button>{' '}
          <span class="hint">{chosen.model instanceof Map ? chosen.name : 'The files stay on this machine.'}</span>
          <input
            ref={input}
            type="file"
            hidden
            multiple
            {...{ webkitdirectory: true }}
            aria-label="Model folder"
            onChange={({ currentTarget: { files } }) => files?.length && pick(files)}
          />
        </p>
      )}
      {error && <Problem error={error} />}
    </fieldset>
  );
}
