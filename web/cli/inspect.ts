// `wattn inspect`: prints a model's layers as a table.
import type { Inspection } from '../entries/index.js';

const grouped = (value: number) => String(value).replace(/\B(?=(\d{3})+$)/g, ',');
const shape = (dims: readonly number[]) => (dims.length === 0 ? '-' : `[${dims.join(', ')}]`);
const megabytes = (bytes: number) => (bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

function table(rows: readonly (readonly string[])[], leftColumns: number): string {
  const widths = (rows[0] as readonly string[]).map((_, i) => Math.max(...rows.map((row) => (row[i] as string).length)));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i < leftColumns ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join('  ');
  const [head, ...body] = rows.map((row) => line(row).trimEnd());
  const rule = '-'.repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  const total = body.pop() as string;
  return [head, rule, ...body, rule, total].join('\n');
}

const byDtype = (bytes: Record<string, number>) =>
  Object.entries(bytes)
    .map(([dtype, count]) => `${dtype} ${grouped(count)} bytes`)
    .join(', ');

export function report(model: string, inspection: Inspection): string {
  const { layers, parameters, macs, bytes, files, memory, seq, model_type } = inspection;
  const rows = [
    ['layer', 'type', 'output', 'kernel', 'parameters', 'MACs'],
    ...layers.map((layer) => [
      layer.name,
      layer.type,
      shape(layer.output),
      shape(layer.kernel),
      layer.parameters === 0 ? '-' : grouped(layer.parameters),
      layer.macs === 0 ? '-' : grouped(layer.macs),
    ]),
    ['total', '', '', '', grouped(parameters), grouped(macs)],
  ];
  return `${model} (${model_type}), one sequence of ${seq} tokens

${table(rows, 4)}

weights in the file${Object.keys(files).length > 1 ? 's' : ''}  ${byDtype(bytes.stored)}
weights as held      ${byDtype(bytes.held)}
peak memory          ${megabytes(memory.total)} = weights ${megabytes(memory.weights)} + activations ${megabytes(memory.activations)}
`;
}
