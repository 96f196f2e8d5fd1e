// Card: where the classifier errs, on texts that it has not seen: slices, confusions, what is near to a text, and edits that change its answer.
import './data_view.css';
import { cos_sim, type EmbedOptions, type FeatureExtractionPipeline, type LabelScore, type TextClassifier } from 'wattn';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { formatScore, plural } from '../ui/format.js';
import { ofAll } from '../ui/interval.js';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { confusionsOf, editsOf, flipsOf, judge, slicesOf, wordsOfLabels, type Edit, type Judged } from './judge.js';
import type { ClassifierState } from './use_classifier.js';

interface DataViewProps {
  embed: FeatureExtractionPipeline;
  options: EmbedOptions;
  taught: ClassifierState;
}

const kNearest = 5;
const kInstead = 4; // words of each other label that are tried
const kEdits = 6;

/** The examples, each with what was said of it; undefined: not yet. */
function useJudged(embed: FeatureExtractionPipeline, { classifier, examples }: ClassifierState) {
  const [state, setState] = useState<{ judged?: Judged[]; error?: Error }>({});
  useEffect(() => {
    setState({});
    if (!classifier || !examples) return;
    let stale = false;
    judge(embed, examples, classifier.C)
      .then((judged) => !stale && setState({ judged }))
      .catch((error: Error) => !stale && setState({ error }));
    return () => void (stale = true);
  }, [classifier, examples]);
  return state;
}

export function DataView({ embed, options, taught }: DataViewProps) {
  const { judged, error } = useJudged(embed, taught);
  const [word, setWord] = useKept('teach.slice', () => '');
  const [picked, setPicked] = useState<number>();
  useEffect(() => setPicked(undefined), [judged]);
  const confusions = useMemo(() => confusionsOf(judged ?? []), [judged]);
  const wrong = judged?.filter(({ label, said }) => label !== said).length ?? 0;
  return (
    <article class="panel data-view" aria-labelledby="data-title">
      <h2 id="data-title">Where it goes wrong</h2>
      {error && <Problem error={error} />}
      {!judged && !error && <p class="hint">Train a classifier with examples here first.</p>}
      {judged && (
        <>
          <p class="hint">
            Each example is judged by a classifier that has not seen it; the folds differ from those above.{' '}
            {wrong === 0 ? 'None is wrong.' : `${plural(wrong, 'example is', 'examples are')} wrong: choose one.`}
          </p>
          <div class="data-columns">
            <div>
              <h3>Right answers by slice</h3>
              <Slices judged={judged} word={word} />
              <label class="data-word">
                Slice by your own word
                <input value={word} autocomplete="off" onInput={(event) => setWord(event.currentTarget.value)} />
              </label>
            </div>
            <div>
              <h3>Confusions</h3>
              {confusions.map(({ label, said, at }, rank) => (
                <details key={`${label} ${said}`} open={rank === 0}>
                  <summary>
                    <span>
                      <b>{label}</b> mistaken for <b>{said}</b>: {at.length}
                    </span>
                  </summary>
                  <ul class="data-wrong">
                    {at.map((i) => (
                      <li key={i}>
                        <button type="button" aria-pressed={i === picked} onClick={() => setPicked(i)}>
                          {judged[i]?.text}
                        </button>
                      </li>
                    ))}
                  </ul>
                </details>
              ))}
              {confusions.length === 0 && <p>There are none.</p>}
            </div>
            <div>
              {picked !== undefined && judged[picked] && taught.classifier && (
                <Closer key={picked} embed={embed} options={options} classifier={taught.classifier} judged={judged} at={picked} />
              )}
            </div>
          </div>
        </>
      )}
    </article>
  );
}

function Slices({ judged, word }: { judged: readonly Judged[]; word: string }) {
  return (
    <table class="data-slices">
      <caption class="visually-hidden">Right answers by slice, with the exact 95 % interval</caption>
      <tbody>
        {slicesOf(judged, word).map(({ name, right, of }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{ofAll(right, of)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface CloserProps {
  embed: FeatureExtractionPipeline;
  options: EmbedOptions;
  classifier: TextClassifier;
  judged: readonly Judged[];
  at: number;
}

/** One text: the examples that are nearest to it, and edits that change the answer. */
function Closer({ embed, options, classifier, judged, at }: CloserProps) {
  const { text, label, said, vector } = judged[at] as Judged;
  const near = judged
    .map((one, i) => ({ ...one, i, close: cos_sim(vector, one.vector) }))
    .filter(({ i }) => i !== at)
    .sort((a, b) => b.close - a.close)
    .slice(0, kNearest);
  return (
    <>
      <h3>“{text}”</h3>
      <p class="hint">
        Its label is {label}; a classifier that has not seen it says {said}.
      </p>
      <h4>Nearest examples</h4>
      <ul class="data-near">
        {near.map((one) => (
          <li key={one.i}>
            {one.text} <small>{one.label}</small> <span>{formatScore(one.close)}</span>
          </li>
        ))}
      </ul>
      <Edits embed={embed} options={options} classifier={classifier} judged={judged} text={text} />
    </>
  );
}

function Edits({ embed, options, classifier, judged, text }: Omit<CloserProps, 'at'> & { text: string }) {
  const [found, setFound] = useState<{ now: LabelScore; edits: Edit[] }>();
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const find = async () => {
    setBusy(true);
    try {
      const [now] = await classifier([text]);
      const words = wordsOfLabels(judged, kInstead);
      const instead = [...words].flatMap(([label, own]) => (label === now?.label ? [] : own));
      const edits = editsOf(text, instead);
      const vectors = await embed(edits.map((edit) => edit.text), options); // prettier-ignore
      const answers = await classifier(vectors);
      if (now) setFound({ now, edits: flipsOf(edits, answers, now.label, kEdits) });
    } catch (reason) {
      setError(reason as Error);
    }
    setBusy(false);
  };
  return (
    <>
      <h4>Edits that change the answer</h4>
      {error && <Problem error={error} />}
      {!found && !error && (
        <button type="button" class="secondary outline small" disabled={busy} onClick={() => void find()}>
          {busy ? 'Trying…' : 'Try one word at a time'}
        </button>
      )}
      {found && (
        <div role="status" data-edits={found.edits.length}>
          <p class="hint">
            The classifier trained on all examples says {found.now.label} ({found.now.score.toFixed(2)}).
            {found.edits.length === 0 && ' None of the one-word edits tried changes its answer.'}
          </p>
          <ul class="data-near">
            {found.edits.map((edit) => (
              <li key={edit.text}>
                {edit.text} <small>{edit.says}</small>{' '}
                <span>
                  {edit.label} {edit.score.toFixed(2)}
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
