// One tab stop for a group of things; arrow keys move inside it (the WAI-ARIA "roving tabindex").

/** Which index a key leads to in a row of `count`, or undefined when the key means nothing here. */
export function stepInRow(key: string, index: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowRight':
    case 'ArrowDown':
      return Math.min(index + 1, count - 1);
    case 'ArrowLeft':
    case 'ArrowUp':
      return Math.max(index - 1, 0);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}

/** The same in a square of `count` rows and columns. */
export function stepInSquare(key: string, [row, column]: readonly [number, number], count: number): [number, number] | undefined {
  const last = count - 1;
  switch (key) {
    case 'ArrowRight':
      return [row, Math.min(column + 1, last)];
    case 'ArrowLeft':
      return [row, Math.max(column - 1, 0)];
    case 'ArrowDown':
      return [Math.min(row + 1, last), column];
    case 'ArrowUp':
      return [Math.max(row - 1, 0), column];
    case 'Home':
      return [row, 0];
    case 'End':
      return [row, last];
    default:
      return undefined;
  }
}
