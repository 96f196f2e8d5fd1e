// A line of numbers over steps, with its first and last value. It is drawn anew as numbers arrive.

interface CurveProps {
  label: string;
  values: readonly number[];
  /** How many there will be. */
  total: number;
}

const kWidth = 480;
const kHeight = 170;
const kPad = { left: 40, right: 44, top: 12, bottom: 22 };

export function Curve({ label, values, total }: CurveProps) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const range = most - least || 1;
  const x = (i: number) => kPad.left + ((kWidth - kPad.left - kPad.right) * i) / Math.max(1, total - 1);
  const y = (value: number) => kPad.top + ((kHeight - kPad.top - kPad.bottom) * (most - value)) / range;
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined) return null;
  const says = `${label}: ${first.toFixed(3)} at step 1, ${last.toFixed(3)} at step ${values.length}`;
  return (
    <svg class="curve" viewBox={`0 0 ${kWidth} ${kHeight}`} role="img" aria-label={says}>
      <line x1={kPad.left} y1={kHeight - kPad.bottom} x2={kWidth - kPad.right} y2={kHeight - kPad.bottom} />
      <path d={values.map((value, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join('')} />
      <text x={kPad.left - 6} y={y(first) + 4} text-anchor="end">
        {first.toFixed(2)}
      </text>
      <text x={x(values.length - 1) + 6} y={y(last) + 4}>
        {last.toFixed(2)}
      </text>
      <text x={kPad.left} y={kHeight - 6}>
        {label}
      </text>
      <text x={kWidth - kPad.right} y={kHeight - 6} text-anchor="end">
        {values.length} of {total} steps
      </text>
    </svg>
  );
}
