/**
 * Defines the element `<wattn-search>` when imported.
 *
 * @module
 */
import { WattnSearchElement } from '../search_element/search_element.js';

declare global {
  interface HTMLElementTagNameMap {
    'wattn-search': WattnSearchElement;
  }
}

const { customElements } = globalThis as { customElements?: CustomElementRegistry };
if (customElements && !customElements.get('wattn-search')) customElements.define('wattn-search', WattnSearchElement);

export { WattnSearchElement };
export type * from '../search_element/types.js';
