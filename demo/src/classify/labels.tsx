// Labels with their scores, as bars.
import './labels.css';

interface LabelsProps {
  scores: readonly { label: string; score: number }[];
  /** How a score reads, such as '96.7 %'. */
  format?: (score: number) => string;
}

export const percent = (share: number) => `${(100 * share).toFixed(1)}\u00a0%`;

export function Labels({ scores, format = percent }: LabelsProps) {
  return (
    <ul class="labels" aria-label="Labels, best first">
      {scores.map(({ label, score }) => (
        <li key={label}>
          <span class="label-name">{label}</span>
          <span class="bar" style={{ '--share': `${Math.round(100 * Math.max(0, score))}%` }} aria-hidden="true" />
          <span class="label-score">{format(score)}</span>
        </li>
      ))}
    </ul>
  );
}
