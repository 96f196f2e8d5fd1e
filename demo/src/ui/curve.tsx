// A curve that grows while something is trained: plain SVG, one line a series.
import './curve.css';

export interface Series {
  name: string;
  /** [step, value], steps rising. */
  points: readonly (readonly [number, number])[];
}

interface CurveProps {
  /** What is on the vertical axis. */
  label: string;
  series: readonly Series[];
  /** The last step of all. */
  steps: number;
  /** The axis reaches at least up to here. */
  top?: number;
}

const kWidth = 320;
const kHeight = 120;

const written = (value: number) => (Math.abs(value) >= 10 ? value.toFixed(0) : value.toFixed(2));

export function Curve({ label, series, steps, top = 0 }: CurveProps) {
  const most = Math.max(top, ...series.flatMap(({ points }) => points.map(([, value]) => value))) || 1;
  const at = ([step, value]: readonly [number, number]) =>
    `${((kWidth * step) / steps).toFixed(1)},${(kHeight - (kHeight * Math.max(0, value)) / most).toFixed(1)}`;
  const says = series.flatMap(({ name, points }) => {
    const [[start, first] = [], [end, last] = []] = [points[0], points.at(-1)];
    return first === undefined || last === undefined ? [] : `${name} ${first.toFixed(3)} at step ${start}, ${last.toFixed(3)} at step ${end}`; // prettier-ignore
  });
  return (
    <figure class="curve">
      <svg
        viewBox={`-2 -4 ${kWidth + 4} ${kHeight + 6}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${says.join('; ')}`}
      >
        <line x1="0" x2={kWidth} y1={kHeight} y2={kHeight} />
        <line x1="0" x2={kWidth} y1="0" y2="0" stroke-dasharray="2 4" />
        {series.map(({ name, points }, i) => (
          <polyline key={name} points={points.map(at).join(' ')} data-series={i} />
        ))}
      </svg>
      <figcaption>
        <span>
          {label}, 0 to {written(most)}
        </span>
        {series.map(({ name, points }, i) => (
          <span key={name} data-series={i}>
            {name} {points.length > 0 && <b>{written(points.at(-1)?.[1] as number)}</b>}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
