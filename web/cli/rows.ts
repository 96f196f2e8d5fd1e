// Rows of a data set: .jsonl, .csv and .tsv files.
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { describe, InputError } from '../core/errors.js';
import { parseJson } from '../core/json.js';

/** A file is one string, which has fewer than 2^29 characters. */
const kMostBytes = 2 ** 29 - 64;

/** A row as an object, and where it is, for messages: `data.csv, line 7`. */
export interface PlacedRow {
  row: Record<string, unknown>;
  place: string;
}

/** What labels are: names, which whole numbers become, or numbers to be learned (regression). */
type Labels = 'names' | 'numbers';

/** The fields of a row, and the line at which it begins. */
interface Cells {
  cells: string[];
  line: number;
}

/**
 * Rows of comma- or tab-separated text by RFC 4180's rules. A field that begins with a quote ends at the next single one, may contain separators
 * and line ends, and has quotes doubled. Lines end with LF or CRLF; empty ones are left out.
 */
function separated(text: string, separator: ',' | '\t', name: string): Cells[] {
  const rows: Cells[] = [];
  const stops = new RegExp(`${separator}|\r?\n|$`, 'g');
  const stopFrom = (from: number) => {
    stops.lastIndex = from;
    const stop = stops.exec(text) as RegExpExecArray;
    return { begin: stop.index, end: stop.index + stop[0].length, isSeparator: stop[0] === separator };
  };
  let line = 1;
  /** The end of the quoted field that begins at `from`. */
  const closing = (from: number) => {
    let end = text.indexOf('"', from);
    while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
    if (end < 0) throw new InputError(`${name}, line ${line}: expected a closing quote, found the end of the file`);
    return end;
  };
  for (let at = 0; at < text.length;) {
    const row: Cells = { cells: [], line };
    const begin = at;
    for (let more = true; more;) {
      const isQuoted = text[at] === '"';
      const cellBegin = isQuoted ? at + 1 : at;
      const cellEnd = isQuoted ? closing(cellBegin) : stopFrom(at).begin;
      const cell = text.slice(cellBegin, cellEnd);
      const next = isQuoted ? cellEnd + 1 : cellEnd;
      if (isQuoted) line += cell.split('\n').length - 1;
      const stop = stopFrom(next);
      if (stop.begin !== next) {
        const found = describe(text.slice(next, stop.begin));
        throw new InputError(`${name}, line ${line}: expected the end of the field after a closing quote, found ${found}`);
      }
      row.cells.push(isQuoted ? cell.replaceAll('""', '"') : cell);
      at = stop.end;
      more = stop.isSeparator;
    }
    ++line;
    if (row.cells.length > 1 || (text[begin] !== '\n' && text[begin] !== '\r')) rows.push(row);
  }
  return rows;
}

/** Fields become strings, except scores and numbers as labels. */
function fromTable(text: string, separator: ',' | '\t', labels: Labels, name: string): PlacedRow[] {
  const [header, ...rows] = separated(text, separator, name);
  const columns = header?.cells ?? [];
  const twice = columns.find((column, i) => columns.indexOf(column) !== i);
  if (twice !== undefined) throw new InputError(`${name}, line 1: two columns have the name '${twice}'`);
  const isNumber = (column: string) => column === 'score' || (column === 'label' && labels === 'numbers');
  return rows.map(({ cells, line }) => {
    const place = `${name}, line ${line}`;
    if (cells.length !== columns.length) {
      throw new InputError(`${place}: expected ${columns.length} fields, as in the header, found ${cells.length}`);
    }
    const value = (column: string, cell: string) =>
      isNumber(column) && cell.trim() !== '' && Number.isFinite(Number(cell)) ? Number(cell) : cell;
    return { row: Object.fromEntries(columns.map((column, i) => [column, value(column, cells[i] as string)])), place };
  });
}

/** One JSON object a line. */
function fromJsonLines(text: string, labels: Labels, name: string): PlacedRow[] {
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return [];
    const place = `${name}, line ${i + 1}`;
    let row: unknown;
    try {
      row = parseJson(line);
    } catch (error) {
      throw new InputError(`${place}: expected JSON, found ${(error as Error).message}`);
    }
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      throw new InputError(`${place}: expected a JSON object, found ${describe(row)}`);
    }
    const { label } = row as Record<string, unknown>;
    if (typeof label !== 'number' || labels === 'numbers') return [{ row: row as Record<string, unknown>, place }];
    if (Number.isInteger(label)) return [{ row: { ...row, label: String(label) }, place }];
    throw new InputError(
      `${place}: expected a string or a whole number as 'label', found ${label} (use --loss MSELoss to learn numbers)`,
    );
  });
}

/** Tab-separated text without a header or quotes; columns: names of its first fields. */
function fromColumns(text: string, columns: readonly string[], name: string): PlacedRow[] {
  return text.split(/\r?\n/).flatMap((line, i) => {
    if (line.trim() === '') return [];
    const place = `${name}, line ${i + 1}`;
    const cells = line.split('\t');
    if (cells.length < columns.length)
      throw new InputError(`${place}: expected at least ${columns.length} fields separated by tabs, found ${cells.length}`);
    const value = (column: string, cell: string) =>
      column === 'score' && cell.trim() !== '' && Number.isFinite(Number(cell)) ? Number(cell) : cell;
    return [{ row: Object.fromEntries(columns.map((column, at) => [column, value(column, cells[at] as string)])), place }];
  });
}

/** The rows of a file. option: its name, for messages; columns: of a tab-separated file without a header, whatever its extension. */
export async function readRows(option: string, file: string, labels: Labels, columns?: readonly string[]): Promise<PlacedRow[]> {
  const kind = extname(file).toLowerCase();
  if (!columns && !['.jsonl', '.csv', '.tsv'].includes(kind)) {
    throw new InputError(`--${option}: expected a .jsonl, .csv or .tsv file, found '${file}'`);
  }
  const bytes = await readFile(file).catch((error: { code?: string }) => {
    throw new InputError(`--${option}: cannot read ${file}: ${error.code}`);
  });
  if (bytes.length > kMostBytes)
    throw new InputError(`--${option}: ${file}: expected at most ${kMostBytes} bytes, found ${bytes.length}`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes); // drops a byte order mark
  } catch {
    throw new InputError(`--${option}: ${file}: expected text in UTF-8`);
  }
  const table = () => fromTable(text, kind === '.csv' ? ',' : '\t', labels, file);
  const rows = columns ? fromColumns(text, columns, file) : kind === '.jsonl' ? fromJsonLines(text, labels, file) : table();
  if (rows.length === 0) throw new InputError(`--${option}: ${file}: expected rows, found none`);
  return rows;
}
