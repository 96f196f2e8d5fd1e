import type { PanelProps } from '../panel.js';
export function AboutPanel(_: PanelProps) { return <p>later</p>; }
