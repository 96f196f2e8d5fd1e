// `wattn/nn` on the edge. See index.ts.
import nn from 'wattn-nn.wasm';
import search from 'wattn-search.wasm';
import { shared } from '../../core/shared.js';

export * from '../nn_entry.js';

Object.assign((shared.embedded ??= {}), { nn, search });
