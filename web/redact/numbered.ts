// Numbered placeholders.

/** Gives texts their placeholders. */
export class Placeholders {
  private readonly texts: Map<string, string>; // by placeholder
  private readonly placeholders = new Map<string, string>(); // by text
  private readonly last = new Map<string, number>(); // number by name

  /** taken: placeholders that must not be given. */
  constructor(
    map: Readonly<Record<string, string>>,
    private readonly taken: ReadonlySet<string>,
  ) {
    this.texts = new Map(Object.entries(map));
    for (const [placeholder, text] of this.texts) if (!this.placeholders.has(text)) this.placeholders.set(text, placeholder);
  }

  of(label: string, text: string): string {
    const known = this.placeholders.get(text);
    if (known !== undefined) return known;
    const name = label.toUpperCase().replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_|_$/g, '') || 'ENTITY'; // prettier-ignore
    let number = this.last.get(name) ?? 0;
    let placeholder: string;
    do placeholder = `[${name}_${++number}]`;
    while (this.texts.has(placeholder) || this.taken.has(placeholder));
    this.last.set(name, number);
    this.texts.set(placeholder, text);
    this.placeholders.set(text, placeholder);
    return placeholder;
  }

  map(): Record<string, string> {
    return Object.fromEntries(this.texts);
  }
}
