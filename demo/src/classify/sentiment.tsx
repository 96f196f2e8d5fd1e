// Panel: praise or blame, for models with such a head (the one in the package has it).
import './sentiment.css';
import { pipeline, UnsupportedError, type ModelSpecifier, type Pipelines } from 'wattn';
import { useEffect, useState } from 'preact/hooks';

type Classify = Pipelines['text-classification'];
type Scores = { label: string; score: number }[];

export function SentimentPanel({ source }: { source: ModelSpecifier | null }) {
  const [text, setText] = useState('A warm, funny and beautifully acted film.');
  const [classify, setClassify] = useState<Classify>();
  const [scores, setScores] = useState<Scores>([]);
  const [hidden, setHidden] = useState(false);
  useEffect(() => {
    let gone = false;
    const loading = pipeline('text-classification', source);
    loading
      .then((loaded) => !gone && setClassify(() => loaded))
      .catch((error) => setHidden(error instanceof UnsupportedError || error.name === 'ModelFormatError'));
    return () => {
      gone = true;
      void loading.then((loaded) => loaded.dispose()).catch(() => {});
    };
  }, [source]);
  useEffect(() => {
    let stale = false;
    if (classify && text.trim() !== '') void classify(text, { top_k: null }).then((found) => !stale && setScores(found as Scores));
    return () => void (stale = true);
  }, [classify, text]);
  if (hidden) return null;
  return (
    <article class="panel" aria-labelledby="sentiment-title">
      <h2 id="sentiment-title">Classify</h2>
      <label for="sentiment-text">How does this text sound?</label>
      <input id="sentiment-text" value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      <ul class="labels" aria-label="Labels, best first">
        {scores.map(({ label, score }) => (
          <li key={label}>
            <span>{label.toLowerCase()}</span>
            <span class="label-bar" style={{ '--share': `${Math.round(100 * score)}%` }} aria-hidden="true" />
            <span class="label-score">{(100 * score).toFixed(1)} %</span>
          </li>
        ))}
      </ul>
    </article>
  );
}
