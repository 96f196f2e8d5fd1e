// Card: names in a text, marked where they stand.
import type { EntityGroup, ModelSpecifier } from 'wattn';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { CodeOf } from '../ui/copy.js';
import { entitiesCode } from './classify_code.js';
import { percent } from './labels.js';
import { useAnswer, useTask } from './use_task.js';

export function EntitiesCard({ source }: { source: ModelSpecifier | null }) {
  const [text, setText] = useKept(
    'classify.entities',
    () => 'Ada Lovelace met Charles Babbage in London and wrote to him from Surrey.',
  );
  const { pipe, error } = useTask('token-classification', source ?? undefined); // the model in the package marks none
  const isEmpty = text.trim() === '';
  const answer = useAnswer(pipe && !isEmpty ? () => pipe(text, { aggregation_strategy: 'simple' }) : undefined, [pipe, text]);
  return (
    <article class="panel" aria-labelledby="entities-title">
      <h2 id="entities-title">Entities</h2>
      {source === null || error ? (
        <>
          <p class="hint">
            The loaded model was not trained to mark entities. Choose one at the top of the page whose architecture ends in
            ForTokenClassification, such as <code>dslim/bert-base-NER</code>.
          </p>
          {error && (
            <details>
              <summary>Error message from wattn</summary>
              <p class="hint">{error.message}</p>
            </details>
          )}
        </>
      ) : (
        <>
          <label for="entities-text">Who and what is named here?</label>
          <textarea id="entities-text" rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          {answer.error && <Problem error={answer.error} />}
          <Marked text={text} entities={isEmpty ? [] : (answer.value ?? [])} />
          <CodeOf code={entitiesCode(source, text)} />
        </>
      )}
    </article>
  );
}

/** The text, its entities in order with their kinds. */
function Marked({ text, entities }: { text: string; entities: readonly EntityGroup[] }) {
  const parts = [];
  let at = 0;
  for (const { start, end, entity_group, score } of [...entities].sort((a, b) => a.start - b.start)) {
    if (start < at || end > text.length) continue; // of the text before the last key
    parts.push(text.slice(at, start));
    parts.push(
      <mark key={start} class="entity" title={percent(score)}>
        {text.slice(start, end)} <small>{entity_group}</small>
      </mark>,
    );
    at = end;
  }
  return (
    <p class="entities" role="status">
      {parts}
      {text.slice(at)}
    </p>
  );
}
