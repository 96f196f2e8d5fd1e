// Who a model is: its name, author, size and licence, and whether it reads the language of a text.
import type { ModelControl, ReadyModel } from './use_model.js';
import { kSuggestions } from './models.js';
import { formatBytes, plural } from '../ui/format.js';

const kHub = 'https://huggingface.co/';

/** One line on the page's model. */
export function ModelCard({ model }: { model: ReadyModel }) {
  const { num_hidden_layers: layers, num_attention_heads: heads } = model.embed.info();
  const isBundled = model.source === null;
  const isHub = !isBundled && /^[\w.-]+\/[\w.-]+$/.test(model.name);
  const known = kSuggestions.find(({ id }) => id === model.name);
  const author = isBundled ? 'the wattn project, from all-MiniLM-L6-v2' : isHub ? model.name.split('/')[0] : undefined;
  const licence = isBundled ? 'Apache-2.0' : known?.licence;
  return (
    <p class="hint model-card">
      Model: <strong>{model.name}</strong>
      {author && `, by ${author}`}
      {` · ${formatBytes(isBundled ? 4_000_000 : model.embed.memory().weights)} · ${plural(layers, 'layer')} of ${plural(heads, 'head')}`}
      {licence && ` · ${licence}`}
      {isHub && (
        <>
          {' · '}
          <a href={`${kHub}${model.name}`} rel="noreferrer">
            model page{licence ? '' : ' and licence'}
          </a>
        </>
      )}
    </p>
  );
}

const kOther = 'intfloat/multilingual-e5-small';

interface ForeignProps {
  model: ReadyModel;
  load: ModelControl['load'];
}

/** Says that the model does not read this text, and offers one that does. */
export function Foreign({ model, load }: ForeignProps) {
  const known = kSuggestions.find(({ id }) => id === model.name);
  const isEnglish = model.source === null || known?.languages === 'English';
  const other = kSuggestions.find(({ id }) => id === kOther);
  return (
    <div class="warning story-foreign" role="status">
      <p>
        {isEnglish ? `${model.name} reads English.` : 'This model does not seem to know this language.'} Its results for this text
        mean little.
      </p>
      {model.name !== kOther && (
        <button type="button" class="outline small" onClick={() => load(kOther, kOther)}>
          Load a model for about 100 languages ({other?.size})
        </button>
      )}
    </div>
  );
}
