// Card: the labels that the model was trained for; the model in the package tells praise from blame.
import { UnsupportedError, type ModelSpecifier } from 'wattn';
import { CodeOf } from '../ui/copy.js';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { classifyCode } from './classify_code.js';
import { DecidingWords } from './deciding_words.js';
import { Labels } from './labels.js';
import { useAnswer, useTask, type OpenTask } from './use_task.js';

/** own: the loaded model, if it has labels. */
export function SentimentCard({ own, source }: { own: OpenTask<'text-classification'>; source: ModelSpecifier | null }) {
  const [text, setText] = useKept('classify.sentiment', () => 'A warm, funny and beautifully acted film.');
  const isUnsupported = own.error instanceof UnsupportedError;
  // A model without labels of its own: the one in the package answers, and the card says so.
  const bundled = useTask('text-classification', isUnsupported ? null : undefined);
  const { pipe, error } = isUnsupported ? bundled : own;
  const isEmpty = text.trim() === '';
  const answer = useAnswer(pipe && !isEmpty ? () => pipe(text, { top_k: null }) : undefined, [pipe, text]);
  const shown = error ?? answer.error;
  return (
    <article class="panel" aria-labelledby="sentiment-title">
      <h2 id="sentiment-title">Sentiment, or the model's own labels</h2>
      <label for="sentiment-text">How does this text sound?</label>
      <input id="sentiment-text" value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      {shown ? <Problem error={shown} /> : <Labels scores={isEmpty ? [] : lowercase(answer.value ?? [])} />}
      {isUnsupported && <p class="hint">The loaded model has no labels of its own, so the bundled model answers here.</p>}
      <CodeOf code={classifyCode(isUnsupported ? null : source, text)} />
      {pipe && !shown && <DecidingWords source={isUnsupported ? null : source} text={text} />}
    </article>
  );
}

const lowercase = (scores: readonly { label: string; score: number }[]) =>
  scores.map(({ label, score }) => ({ label: label.toLowerCase(), score }));
