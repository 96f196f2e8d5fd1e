// The options of what counts tokens.
import type { Rules } from '../core/options.js';

export const kCountRules: Rules = { add_special_tokens: 'boolean', split_special_tokens: 'boolean' };
