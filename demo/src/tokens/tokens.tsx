import type { PanelProps } from '../panel.js';
export function TokensPanel(_: PanelProps) { return <p>later</p>; }
