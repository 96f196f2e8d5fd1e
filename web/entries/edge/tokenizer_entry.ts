// `wattn/tokenizer` on the edge. See index.ts.
import tokenizer from 'wattn-tokenizer.wasm';
import { shared } from '../../core/shared.js';

export * from '../tokenizer_entry.js';

Object.assign((shared.embedded ??= {}), { tokenizer });
