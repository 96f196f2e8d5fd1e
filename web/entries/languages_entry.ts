/**
 * The words of 25 languages, for the option `language` of `Index` on the edge: `import 'wattn/languages'` beside `wattn`. There all that a program imports is uploaded, and
 * these would be 70 kB of it (after gzip) in programs that need English alone. Elsewhere `Index` loads a language when it is used, and this import changes nothing.
 *
 * @module
 */
import { shared } from '../core/shared.js';
import { kLanguages } from '../search/language_table.js';

shared.languages = kLanguages;
