// The texts of a map: read from TSV or JSONL, and written as TSV. What cannot be read is said by line.

export interface Row {
  text: string;
  label?: string;
}

export interface Table {
  rows: Row[];
  /** What was left out, and why: "Line 7: ..". */
  problems: string[];
}

export const kMostRows = 20_000;
export const kMostBytes = 20_000_000;

type Line = readonly [number: number, text: string];
/** A row, or what is wrong with the line. */
type Read = (line: string) => Row | string;

const shortened = (text: string) => (text.length <= 40 ? text : `${text.slice(0, 39)}…`);
const rowOf = (text: string, label: string | undefined): Row | string => {
  if (text.trim() === '') return 'it has no text';
  return label === undefined || label.trim() === '' ? { text: text.trim() } : { text: text.trim(), label: label.trim() };
};

const readJson: Read = (line) => {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return `it is not JSON: ${shortened(line)}`;
  }
  if (typeof value === 'string') return rowOf(value, undefined);
  if (typeof value !== 'object' || value === null) return 'it is neither an object nor a string';
  const { text, label } = value as Record<string, unknown>;
  if (typeof text !== 'string') return 'it has no field "text" with a string';
  if (label !== undefined && label !== null && typeof label === 'object') return 'its "label" is neither a string nor a number';
  return rowOf(text, label === undefined || label === null ? undefined : String(label));
};

/** columns: those of the header; none without a header, where the text is first and the label second. */
function readCells(columns: readonly string[] | undefined): Read {
  const [textAt, labelAt] = columns ? [columns.indexOf('text'), columns.indexOf('label')] : [0, 1];
  return (line) => {
    const cells = line.split('\t');
    if (columns && cells.length !== columns.length)
      return `it has ${cells.length} ${cells.length === 1 ? 'column' : 'columns'}, and the header has ${columns.length}`;
    return rowOf(cells[textAt] ?? '', labelAt < 0 ? undefined : cells[labelAt]);
  };
}

/** name: the file's; its ending says how the text is read. */
function readerOf(name: string, lines: readonly Line[]): { read: Read; lines: readonly Line[] } {
  const [first] = lines;
  if (/\.csv$/i.test(name)) throw new Error(`${name} is CSV. Save it with tabs between the columns (TSV), or as JSONL.`);
  if (/^\s*\[/.test(first?.[1] ?? '') && !/\.tsv$/i.test(name))
    throw new Error(`${name} is one JSON list. Write each row on a line of its own (JSONL).`);
  if (/\.(jsonl|ndjson|json)$/i.test(name) || (!/\.tsv$/i.test(name) && first?.[1].trim().startsWith('{')))
    return { read: readJson, lines };
  const header = (first?.[1] ?? '').split('\t').map((cell) => cell.trim().toLowerCase());
  return header.includes('text') ? { read: readCells(header), lines: lines.slice(1) } : { read: readCells(undefined), lines };
}

/** TSV with or without a header, or JSONL. An Error: there is not one row. */
export function readTable(name: string, content: string): Table {
  if (content.includes('\0')) throw new Error(`${name} is not a text file: it contains null bytes. Use TSV or JSONL in UTF-8.`);
  const numbered = content
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((text, i): Line => [i + 1, text])
    .filter(([, text]) => text.trim() !== '');
  const { read, lines } = readerOf(name, numbered);
  const rows: Row[] = [];
  const problems: string[] = [];
  for (const [number, text] of lines) {
    if (rows.length === kMostRows) {
      problems.push(`Line ${number} and all lines after it: a map takes at most ${kMostRows} rows.`);
      break;
    }
    const row = read(text);
    if (typeof row === 'string') problems.push(`Line ${number}: ${row}.`);
    else rows.push(row);
  }
  if (rows.length > 0) return { rows, problems };
  throw new Error(problems.length > 0 ? `${name} has no row that can be read. ${problems[0]}` : `${name} is empty.`);
}

export async function readFile(file: File): Promise<Table> {
  if (file.size > kMostBytes) throw new Error(`${file.name} has ${file.size} bytes; a map takes at most ${kMostBytes}.`);
  return readTable(file.name, await file.text());
}

/** Texts that contain every word of a query, wherever it stands in them. */
export function byWords(texts: readonly { text: string }[], query: string): number[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return texts.flatMap(({ text }, i) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word)) ? [i] : [];
  });
}

const plain = (text: string) => text.replace(/[\t\r\n]+/g, ' ');

/** places: [rows, 2]. only: the rows to write; default: all. */
export function writeTable(
  rows: readonly Row[],
  places: ArrayLike<number>,
  only: readonly number[] = rows.map((_, i) => i),
): string {
  const lines = only.map((i) => {
    const { text, label = '' } = rows[i] as Row;
    return [plain(text), plain(label), ...[2 * i, 2 * i + 1].map((at) => (places[at] as number).toFixed(5))].join('\t');
  });
  return `${['text\tlabel\tx\ty', ...lines].join('\n')}\n`;
}
