// Empty, except in wattn/inline-train: there tools/bundle.mjs replaces this file as it does inline_files.ts.
export const fullSimd = '';
export const tokenizer = '';
export const script = '';
