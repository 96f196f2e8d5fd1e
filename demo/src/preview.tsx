// What stands below the choice of a model: what the panels will show, in pictures. Their numbers are all-MiniLM-L6-v2's.
import './preview.css';

const kChips = ['photos', '##yn', '##thesis', 'turns', 'sunlight'];
const kScores = [
  [1, 0.66, 0.05],
  [0.66, 1, 0.02],
  [0.05, 0.02, 1],
];
const kBars = [0.66, 0.54, 0.04];

export function Preview() {
  return (
    <section class="preview" aria-label="What this page shows">
      <div>
        <div class="picture chips" aria-hidden="true">
          {kChips.map((chip) => (
            <span key={chip} class={chip.startsWith('##') ? 'chip is-joined' : 'chip'}>
              {chip}
            </span>
          ))}
        </div>
        <h2>Tokens</h2>
        <p>How the model cuts your sentences into pieces, with each piece's id and place in the text.</p>
      </div>
      <div>
        <div class="picture tiles" aria-hidden="true">
          {kScores.flat().map((score, i) => (
            <span key={i} style={{ '--share': `${score * 100}%` }} />
          ))}
        </div>
        <h2>Similarity</h2>
        <p>How near each sentence is to every other in meaning, as you type, and how long that took.</p>
      </div>
      <div>
        <div class="picture bars" aria-hidden="true">
          {kBars.map((score, i) => (
            <span key={i} class="bar" style={{ '--share': `${score * 100}%` }} />
          ))}
        </div>
        <h2>Search</h2>
        <p>Your sentences, ranked by what you ask for, even where no word is the same.</p>
      </div>
    </section>
  );
}
