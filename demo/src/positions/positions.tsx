import type { PanelProps } from '../panel.js';
export function PositionsPanel(_: PanelProps) { return <p>later</p>; }
