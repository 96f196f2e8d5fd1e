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
        <p>How the model, or any other tokenizer, splits your text into tokens.</p>
      </div>
      <div>
        <div class="picture tiles" aria-hidden="true">
          {kScores.flat().map((score, i) => (
            <span key={i} style={{ '--share': `${score * 100}%` }} />
          ))}
        </div>
        <h2>Similarity and attention</h2>
        <p>How close sentences are in meaning, as you type; which tokens attend to which, and why.</p>
      </div>
      <div>
        <div class="picture bars" aria-hidden="true">
          {kBars.map((score, i) => (
            <span key={i} class="bar" style={{ '--share': `${score * 100}%` }} />
          ))}
        </div>
        <h2>Search and classify</h2>
        <p>Search your own texts by meaning, even where no word is the same, and classify with labels that you teach.</p>
      </div>
    </section>
  );
}
