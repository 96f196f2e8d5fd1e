// The steps of a model's pass, read from what `inspectModel` prints with `plan: true`.

export interface Step {
  /** The value that it makes. */
  out: string;
  op: string;
  /** The values that it reads. */
  inputs: string[];
  weight?: { name: string; rows: number; width: number };
  constants: string[];
}

/** A name for some columns of a value. */
export interface Columns {
  name: string;
  of: string;
  from: number;
  to: number;
}

export interface Section {
  steps: Step[];
  columns: Columns[];
}

export interface Plan {
  embeddings: Section;
  /** One for each layer; layers of a kind share theirs. */
  layers: Section[];
  end: Section;
  head: Section;
}

const none = (): Section => ({ steps: [], columns: [] });

function stepOf(out: string, op: string, inside: string): Step {
  const step: Step = { out, op, inputs: [], constants: [] };
  inside.split('; ').forEach((piece, i) => {
    const [, name, rows, width] = /^(\w+) \[(\d+), (\d+)\]$/.exec(piece) ?? [];
    if (name !== undefined) step.weight = { name, rows: Number(rows), width: Number(width) };
    else if (i === 0) step.inputs = piece.split(', ');
    else step.constants.push(piece);
  });
  return step;
}

export function planOf(text: string): Plan {
  const plan: Plan = { embeddings: none(), layers: [], end: none(), head: none() };
  let section = none();
  for (const line of text.split('\n')) {
    const [, numbers] = /^layers? ([\d, ]+)$/.exec(line) ?? [];
    const [, out = '', op, inside = ''] = /^ {2}(\S+) = (\w+)\((.*)\)$/.exec(line) ?? [];
    const [, name = '', of = '', from, to] = /^ {2}(\S+) = (\w+)\[(\d+):(\d+)\]$/.exec(line) ?? [];
    if (numbers !== undefined) {
      section = none();
      for (const layer of numbers.split(', ')) plan.layers[Number(layer)] = section;
    } else if (op !== undefined) section.steps.push(stepOf(out, op, inside));
    else if (from !== undefined) section.columns.push({ name, of, from: Number(from), to: Number(to) });
    else if (line === 'embeddings') section = plan.embeddings;
    else if (line === 'final_norm') section = plan.end;
    else if (line === 'head') section = plan.head;
    else if (!line.startsWith(' ')) section = none();
  }
  return plan;
}
