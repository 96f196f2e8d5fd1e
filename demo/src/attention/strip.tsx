// A vector as a strip of colours: violet above zero, orange below, as strong as it is large.
import { useEffect, useRef } from 'preact/hooks';

interface StripProps {
  vector: ArrayLike<number>;
  label: string;
  /** Whether its first numbers stand beside it. */
  numbers?: boolean;
}

const kFirst = 4;

const written = (vector: ArrayLike<number>) =>
  Array.from({ length: Math.min(kFirst, vector.length) }, (_, i) => (vector[i] as number).toFixed(2).replace('-', '−')).join(', ');

export function Strip({ vector, label, numbers }: StripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || vector.length === 0) return;
    const image = context.createImageData(vector.length, 1);
    let most = 1e-9;
    for (let i = 0; i < vector.length; ++i) most = Math.max(most, Math.abs(vector[i] as number));
    for (let i = 0; i < vector.length; ++i) {
      const share = (vector[i] as number) / most;
      image.data.set([...(share < 0 ? [234, 122, 40] : [104, 92, 230]), Math.round(255 * Math.abs(share))], 4 * i);
    }
    context.putImageData(image, 0, 0);
  }, [vector]);
  const says = `${written(vector)}${vector.length > kFirst ? `, … (${vector.length} numbers)` : ''}`;
  return (
    <span class="strip" title={says}>
      <canvas ref={canvas} width={Math.max(1, vector.length)} height={1} role="img" aria-label={`${label}: ${says}`} />
      {numbers && <code>{says}</code>}
    </span>
  );
}
