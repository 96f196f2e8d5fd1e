// The end of the story: what becomes of a token layer after layer, and of the sentence.
import { cos_sim } from 'wattn';
import { Strip } from '../attention/strip.js';
import { formatScore } from '../ui/format.js';
import type { Opened } from './opened.js';
import { Num, type SceneProps } from './rows.js';
import type { Meaning } from './use_story.js';

/** How near the followed token is to each other one, before the first layer and after each. */
export function Layers({ told, onOpen, onPick }: SceneProps) {
  const { inside, link, states } = told;
  return (
    <div class="matrix-scroll" tabIndex={0} role="region" aria-label="Cosines, layer by layer">
      <table class="story-layers">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">token</span>
            </th>
            {states.map((_, layer) => (
              <th key={layer} scope="col">
                {layer === 0 ? 'start' : `layer ${layer}`}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {inside.tokens.map((token, i) => (
            <tr key={i} class={i === link.from ? 'is-on' : undefined}>
              <th scope="row">
                <button
                  type="button"
                  class="chip story-chip"
                  data-token={i}
                  aria-pressed={i === link.from}
                  aria-label={`Follow ${token}`}
                  onClick={() => onPick(i)}
                >
                  {token}
                </button>
              </th>
              {states.map((rows, layer) => {
                const cosine = cos_sim(rows[link.from] as Float32Array, rows[i] as Float32Array);
                return (
                  <td key={layer} style={{ '--share': `${Math.round(100 * Math.max(0, cosine))}%`, '--at': layer }}>
                    <Num
                      label={`${token}, ${layer === 0 ? 'start' : `layer ${layer}`}: ${formatScore(cosine)}. The vector`}
                      onClick={() => onOpen({ kind: 'state', token: i, layer })}
                    >
                      {formatScore(cosine)}
                    </Num>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The sentence's one vector, and how near it is to others. */
export function Nearness({ meaning, onOpen }: { meaning: Meaning | undefined; onOpen: (opened: Opened) => void }) {
  if (!meaning) return <p class="hint">Computing…</p>;
  const order = meaning.others.map((other, index) => ({ ...other, index })).sort((a, b) => b.score - a.score);
  return (
    <div class="story-meaning">
      <p class="story-vector">
        <span class="vector-name">the sentence</span>
        <button type="button" class="open-strip" onClick={() => onOpen({ kind: 'meaning' })}>
          <Strip vector={meaning.vector} label="Vector of the sentence" numbers />
        </button>
      </p>
      <ol>
        {order.map(({ text, score, index }) => (
          <li key={index}>
            <span>{text}</span>
            <span class="grow-bar" aria-hidden="true">
              <span style={{ '--share': `${100 * Math.max(0, score)}%` }} />
            </span>
            <Num
              label={`Cosine ${formatScore(score)}. Where it comes from`}
              onClick={() => onOpen({ kind: 'cosine', other: index })}
            >
              {formatScore(score)}
            </Num>
          </li>
        ))}
      </ol>
    </div>
  );
}
