// Card: what each layer would say, were it the last (the logit lens). For models with a head over the vocabulary.
import { AutoModelForMaskedLM, AutoTokenizer, UnsupportedError, type ModelSpecifier } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CodeOf } from '../ui/copy.js';
import { Pictures } from '../ui/pictures.js';
import { lensCode } from './attention_code.js';
import { Problem } from '../ui/lazy.js';

interface Said {
  of: string;
  tokens: string[];
  /** [layers + 1][tokens]: the most likely token. */
  best: string[][];
}

export function LensCard({ source, text }: { source: ModelSpecifier | null; text: string }) {
  const [said, setSaid] = useState<Said>();
  const [error, setError] = useState<Error>();
  const [running, setRunning] = useState(false);
  const gone = useRef(false);
  useEffect(() => () => void (gone.current = true), []);
  const ask = async () => {
    setRunning(true);
    setError(undefined);
    try {
      const found = await saidBy(source, text);
      if (!gone.current) setSaid(found);
    } catch (reason) {
      if (!gone.current) setError(reason as Error);
    } finally {
      if (!gone.current) setRunning(false);
    }
  };
  const shown = said?.of === text ? said : undefined;
  return (
    <article class="panel" aria-labelledby="lens-title">
      <h2 id="lens-title">What would each layer predict?</h2>
      <p class="hint">
        A model that fills in masked words ends in a head over its vocabulary. Applied after every layer, this head shows how the
        answer takes shape (the logit lens). Put <code>[MASK]</code> into the text to let the model guess.
      </p>
      <button type="button" class="small" disabled={running || text.trim() === ''} onClick={() => void ask()}>
        {running ? 'Computing…' : 'Ask each layer'}
      </button>
      {error instanceof UnsupportedError && (
        <p class="hint">
          The loaded model has no such head. <code>google-bert/bert-base-uncased</code> (440 MB) has one. For models that generate
          text, use the Write panel.
        </p>
      )}
      {error && <Problem error={error} />}
      {shown && (
        <div class="matrix-scroll" tabIndex={0} role="region" aria-label="The most likely token of each layer">
          <table class="shares lens" data-picture>
            <thead>
              <tr>
                <th scope="col">token</th>
                {shown.best.map((_, layer) => (
                  <th key={layer} scope="col">
                    {layer === 0 ? 'start' : `layer ${layer}`}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.tokens.map((token, i) => (
                <tr key={i}>
                  <th scope="row">{token}</th>
                  {shown.best.map((row, layer) => (
                    <td key={layer} class={row[i] === token ? 'is-same' : undefined}>
                      {row[i]}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {shown && <Pictures name="layers" title="What each layer would predict" />}
      {shown && <CodeOf code={lensCode(source, text)} />}
    </article>
  );
}

const kMostTokens = 48;

async function saidBy(source: ModelSpecifier | null, text: string): Promise<Said> {
  const model = await AutoModelForMaskedLM.from_pretrained(source);
  const tokenizer = await AutoTokenizer.from_pretrained(source);
  try {
    const inputs = tokenizer(text, { truncation: true, max_length: kMostTokens });
    const tokens = tokenizer.convert_ids_to_tokens(inputs.input_ids);
    const { logit_lens } = await model(inputs, { logit_lens: 1 });
    const [layers, , seq] = logit_lens.ids.dims as [number, number, number];
    const ids = [...logit_lens.ids.data];
    const best = Array.from({ length: layers }, (_, layer) =>
      tokenizer.convert_ids_to_tokens(ids.slice(layer * seq, (layer + 1) * seq)),
    );
    return { of: text, tokens, best };
  } finally {
    void model.dispose();
    void tokenizer.dispose();
  }
}
