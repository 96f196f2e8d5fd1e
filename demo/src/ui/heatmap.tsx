// Numbers as colours: violet above zero, orange below. Point at one, or go by arrow keys, to read it.
import './heatmap.css';
import { useEffect, useRef, useState } from 'preact/hooks';

interface HeatmapProps {
  title: string;
  rows: number;
  columns: number;
  /** [rows * columns] */
  values: ArrayLike<number>;
  /** Names of rows and columns; default: their numbers. */
  names?: readonly string[];
  /** Names of columns, where they have others than rows. */
  columnNames?: readonly string[];
  rowName?: string;
  columnName?: string;
}

const kMostNames = 10; // there is room for

function paint(canvas: HTMLCanvasElement, values: ArrayLike<number>, columns: number, rows: number): void {
  const context = canvas.getContext('2d');
  if (!context || rows * columns === 0) return;
  const image = context.createImageData(columns, rows);
  let most = 1e-9;
  for (let i = 0; i < values.length; ++i) most = Math.max(most, Math.abs(values[i] as number));
  for (let i = 0; i < values.length; ++i) {
    const share = (values[i] as number) / most;
    image.data.set([...(share < 0 ? [234, 122, 40] : [104, 92, 230]), Math.round(255 * Math.abs(share))], 4 * i);
  }
  context.putImageData(image, 0, 0);
}

/** Words beside the rows or above the columns; a screen reader hears them from the picture. */
function Names({ names, of }: { names: readonly string[]; of: 'rows' | 'columns' }) {
  return (
    <div class={`heatmap-${of}`} aria-hidden="true">
      {names.map((name, i) => (
        <span key={i}>{name}</span>
      ))}
    </div>
  );
}

export function Heatmap({
  title,
  rows,
  columns,
  values,
  names,
  columnNames = names,
  rowName = 'row',
  columnName = 'column',
}: HeatmapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<readonly [number, number]>();
  useEffect(() => {
    if (canvas.current) paint(canvas.current, values, columns, rows);
  }, [values, rows, columns]);
  const point = ({ offsetX, offsetY }: MouseEvent) => {
    const { clientWidth, clientHeight } = canvas.current as HTMLCanvasElement;
    const cell = (offset: number, size: number, count: number) =>
      Math.max(0, Math.min(count - 1, Math.floor((offset / size) * count)));
    setAt([cell(offsetY, clientHeight, rows), cell(offsetX, clientWidth, columns)]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const [row, column] = at ?? [0, 0];
    setAt([Math.max(0, Math.min(rows - 1, row + step[0])), Math.max(0, Math.min(columns - 1, column + step[1]))]);
  };
  const shown = at && at[0] < rows && at[1] < columns ? at : undefined;
  const nameOf = (of: readonly string[] | undefined, kind: string, i: number) => (of ? `“${of[i]}”` : `${kind} ${i}`);
  const says =
    shown &&
    `${nameOf(names, rowName, shown[0])}, ${nameOf(columnNames, columnName, shown[1])}: ${(values[shown[0] * columns + shown[1]] as number).toFixed(4).replace('-', '−')}`;
  const named = names && Math.max(rows, columns) <= kMostNames;
  return (
    <figure class={named ? 'heatmap is-named' : 'heatmap'}>
      <figcaption>{title}</figcaption>
      {named && <Names names={columnNames ?? names} of="columns" />}
      {named && <Names names={names} of="rows" />}
      <canvas
        ref={canvas}
        width={Math.max(1, columns)}
        height={Math.max(1, rows)}
        tabIndex={0}
        role="img"
        aria-label={`${title}: ${rows} by ${columns} numbers. Use the arrow keys to read them.`}
        onMouseMove={point}
        onMouseLeave={() => setAt(undefined)}
        onKeyDown={onKeyDown}
      />
      <p class="detail" role="status">
        {says ?? '\u00a0'}
      </p>
    </figure>
  );
}
