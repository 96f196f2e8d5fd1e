// Panel: word vectors, learned from a text while one waits: neighbours, analogies, a map.
import './words.css';
import type { WordVectors } from 'wattn';
import { useState } from 'preact/hooks';
import { kFits } from '../ui/address.js';
import { Choice } from '../ui/choice.js';
import { CodeOf } from '../ui/copy.js';
import { formatCount, formatScore, formatTime } from '../ui/format.js';
import { oneOf, useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { Pictures } from '../ui/pictures.js';
import { WordMap, type View } from './map.js';
import { kWorld } from './text.js';
import { wordsCode } from './words_code.js';
import { useWords, type WordsState } from './use_words.js';

type Triple = readonly [a: string, b: string, c: string];

const kAnalogies: readonly Triple[] = [
  ['man', 'king', 'woman'],
  ['france', 'paris', 'italy'],
  ['boy', 'girl', 'uncle'],
  ['spain', 'spanish', 'norway'],
];

export function WordsPanel() {
  const [text, setText] = useKept('words.source', () => kWorld);
  const [round, setRound] = useState(0);
  const { state, stop } = useWords(text, round);
  const again = () => setRound(round + 1);
  return (
    <div class="words">
      <article class="panel" aria-labelledby="words-title">
        <h2 id="words-title">Words</h2>
        <p>word2vec reads a text and gives each word a vector. Words that occur in similar contexts get similar vectors.</p>
        <Status state={state} onStop={stop} onAgain={again} />
        <details>
          <summary>Training text</summary>
          <label>
            Any text, one sentence per line; the more the better. {kFits}
            <textarea rows={8} value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} />
          </label>
          <button type="button" class="small" onClick={again}>
            Train on this text
          </button>
        </details>
      </article>
      {state.kind === 'ready' && <Results key={round} vectors={state.vectors} text={text} />}
    </div>
  );
}

function Status({ state, onStop, onAgain }: { state: WordsState; onStop: () => void; onAgain: () => void }) {
  if (state.kind === 'ready')
    return (
      <p class="hint words-about" role="status">
        {formatCount(state.vectors.size)} words with {state.vectors.vector_size} numbers each, learned in {formatTime(state.ms)}.
      </p>
    );
  if (state.kind === 'stopped')
    return (
      <>
        {state.error ? <Problem error={state.error} /> : <p class="hint">Training was stopped.</p>}
        <button type="button" class="small" onClick={onAgain}>
          Train again
        </button>
      </>
    );
  return (
    <>
      <progress aria-label="Training" value={state.percent} max={100} />
      <button type="button" class="secondary outline small" onClick={onStop}>
        Stop
      </button>
    </>
  );
}

function Results({ vectors, text }: { vectors: WordVectors; text: string }) {
  const presets = kAnalogies.filter((triple) => triple.every((word) => vectors.has(word)));
  const some = vectors.words.slice(3, 6) as unknown as Triple; // of another text
  const [kept, keep] = useKept('words.analogy', () => (presets[0] ?? some).join(' '));
  const triple = kept.split(' ') as unknown as Triple;
  const setTriple = (next: Triple) => keep(next.join(' '));
  const [word, setWord] = useState(triple[1]);
  const [view, setView] = useKept<View>('words.view', () => 'analogy', oneOf(['analogy', 'all']));
  const known = triple.every((each) => vectors.has(each));
  const answers = known ? vectors.analogy(...triple, { topn: 4 }) : [];
  const near = vectors.has(word) ? vectors.most_similar({ positive: [word], topn: 8 }) : [];
  const [a, b, c] = triple;
  const best = answers[0]?.[0];
  return (
    <>
      <article class="panel words-analogy" aria-labelledby="analogy-title">
        <h2 id="analogy-title">Analogies</h2>
        <p class="words-presets">
          {presets.map((each) => (
            <button
              type="button"
              key={each.join()}
              class="secondary outline small"
              aria-pressed={each.join(' ') === kept}
              onClick={() => setTriple(each)}
            >
              {each[0]} → {each[1]}, {each[2]} → ?
            </button>
          ))}
        </p>
        <div class="words-triple">
          {(['a', 'b', 'c'] as const).map((name, i) => (
            <label key={name}>
              {['As', 'is to', 'so is'][i]}
              <WordInput
                vectors={vectors}
                value={triple[i] as string}
                onInput={(value) => setTriple(triple.map((old, j) => (j === i ? value : old)) as unknown as Triple)}
              />{' '}
              {/* prettier-ignore */}
            </label>
          ))}
        </div>
        <p class="words-answer" role="status">
          {best ? (
            <>
              {a} is to {b} as {c} is to <strong>{best}</strong>
            </>
          ) : (
            'Every word must occur in the text.'
          )}
        </p>
        <ol class="words-list">
          {answers.map(([found, score]) => (
            <li key={found}>
              <b>{found}</b>
              <span class="bar" style={{ '--share': `${Math.max(0, 100 * score)}%` }} aria-hidden="true" />
              <span>{formatScore(score)}</span>
            </li>
          ))}
        </ol>
        <CodeOf code={wordsCode(text, triple, 1)} />
      </article>
      <article class="panel words-near" aria-labelledby="near-title">
        <h2 id="near-title">Neighbours</h2>
        <label>
          Word
          <WordInput vectors={vectors} value={word} onInput={setWord} />
        </label>
        {near.length === 0 && <p class="warning">This word does not occur in the text.</p>}
        <ol class="words-list">
          {near.map(([found, score]) => (
            <li key={found}>
              <button type="button" onClick={() => setWord(found)}>
                {found}
              </button>
              <span class="bar" style={{ '--share': `${Math.max(0, 100 * score)}%` }} aria-hidden="true" />
              <span>{formatScore(score)}</span>
            </li>
          ))}
        </ol>
      </article>
      <article class="panel words-picture" aria-labelledby="map-title">
        <div class="panel-head">
          <h2 id="map-title">Map</h2>
          <Choice
            label="Map of"
            value={view}
            options={[
              ['analogy', 'The analogy'],
              ['all', 'All words'],
            ]}
            onChange={setView}
          />
        </div>
        <p class="hint">
          {view === 'analogy' && best
            ? `Up: from ${a} to ${b}. Right: from ${a} to ${c}. The map shows all words along these two directions.`
            : 'The plane on which the vectors differ most (PCA): related words are close together.'}
        </p>
        <WordMap
          vectors={vectors}
          view={view}
          chosen={word}
          near={near.slice(0, 4).map(([found]) => found)}
          arrows={
            best
              ? [
                  [a, b],
                  [c, best],
                ]
              : []
          }
          onChoose={setWord}
        />
        <Pictures name="words" title={view === 'analogy' && best ? `${a} is to ${b} as ${c} is to ${best}` : 'Words of one text'} />
      </article>
    </>
  );
}

function WordInput({ vectors, value, onInput }: { vectors: WordVectors; value: string; onInput: (value: string) => void }) {
  return (
    <input
      value={value}
      onInput={(event) => onInput(event.currentTarget.value.trim().toLowerCase())}
      aria-invalid={vectors.has(value) ? undefined : true}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
    />
  );
}
