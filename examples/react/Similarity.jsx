import { useEffect, useState } from 'react';
import { cos_sim } from 'wattn';
import { usePipeline } from 'wattn/react';

/** The similarity of two texts, as they are typed. */
export function Similarity() {
  const { run: embed, progress, error } = usePipeline('feature-extraction', null, { worker: true });
  const [texts, setTexts] = useState(['A man is eating food.', 'Someone has lunch.']);
  const [score, setScore] = useState();
  const [failure, setFailure] = useState();

  useEffect(() => {
    if (!embed) return;
    let isCurrent = true; // only the answer to the latest texts counts
    embed(texts).then(
      (out) => {
        const [a, b] = out.tolist();
        if (isCurrent) setScore(cos_sim(a, b));
      },
      (error) => isCurrent && setFailure(error),
    );
    return () => {
      isCurrent = false;
    };
  }, [embed, texts]);

  if (error ?? failure) return <p role="alert">{String(error ?? failure)}</p>;
  if (!embed) return <progress value={progress} max="100" aria-label="Loading the model" />;
  return (
    <form>
      {texts.map((text, i) => (
        <p key={i}>
          <input
            aria-label={`Text ${i + 1}`}
            size="60"
            value={text}
            onChange={({ target }) => setTexts(texts.with(i, target.value))}
          />
        </p>
      ))}
      <output>{score === undefined ? '' : score.toFixed(3)}</output>
    </form>
  );
}
