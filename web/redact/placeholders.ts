/** What the placeholders of redact look like. */
export const kBracketed = /\[[^[\]]+\]/g;
