// Panel: attention knows no order until positions tell it. Made of the building blocks of `wattn/nn`, without any model.
import './positions.css';
import { nn } from 'wattn/nn';
import { useEffect, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { Problem } from '../ui/lazy.js';
import { Encodings } from './encodings.js';
import { OrderCard } from './order.js';

export function PositionsPanel(_: PanelProps) {
  const [isReady, setReady] = useState(false);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    nn.ready()
      .then(() => setReady(true))
      .catch((reason: Error) => setError(reason));
  }, []);
  if (error) return <Problem error={error} />;
  if (!isReady) return <p class="hint loading-panel">Fetching the building blocks…</p>;
  return (
    <div class="positions-bench">
      <OrderCard />
      <Encodings />
    </div>
  );
}
