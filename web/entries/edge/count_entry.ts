// `wattn/count` on the edge. See index.ts.
import tokenizer from 'wattn-tokenizer.wasm';
import { shared } from '../../core/shared.js';

export * from '../count_entry.js';

Object.assign((shared.embedded ??= {}), { tokenizer });
