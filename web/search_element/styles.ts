// The looks of `<wattn-search>`. Every colour is a custom property; parts have names for ::part().
const kLight = `--_text: #1d1f23; --_soft: #575d66; --_back: #fff; --_line: #8a9099; --_accent: #1558b0; --_active: #e6effb; --_mark: #fff0a8; --_shadow: rgb(0 0 0 / 20%);`;
const kDark = `--_text: #eceef1; --_soft: #aeb5bf; --_back: #1c1f24; --_line: #7b828c; --_accent: #8fbcff; --_active: #2b3a50; --_mark: #6b5a12; --_shadow: rgb(0 0 0 / 60%);`;

export const kStyles = `
:host { ${kLight} color-scheme: light; display: block; position: relative; font: inherit; max-width: 100%; }
@media (prefers-color-scheme: dark) { :host(:not([theme='light'])) { ${kDark} color-scheme: dark; } }
:host([theme='dark']) { ${kDark} color-scheme: dark; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
input { width: 100%; font: inherit; line-height: 1.4; padding: 0.4em 0.7em; color: var(--wattn-search-color, var(--_text));
  background: var(--wattn-search-background, var(--_back)); border: 1px solid var(--wattn-search-border, var(--_line)); border-radius: var(--wattn-search-radius, 6px); }
input::placeholder { color: var(--wattn-search-soft, var(--_soft)); opacity: 1; }
input:focus-visible { outline: 2px solid var(--wattn-search-accent, var(--_accent)); outline-offset: 1px; }
.panel { position: absolute; z-index: var(--wattn-search-layer, 1000); inset-inline-end: 0; top: calc(100% + 4px); width: var(--wattn-search-width, max(100%, min(36rem, 92vw)));
  max-height: var(--wattn-search-height, min(32rem, 70vh)); overflow: auto; color: var(--wattn-search-color, var(--_text)); background: var(--wattn-search-background, var(--_back));
  border: 1px solid var(--wattn-search-border, var(--_line)); border-radius: var(--wattn-search-radius, 6px); box-shadow: 0 8px 24px var(--_shadow); text-align: start; }
.panel[hidden], .list:empty { display: none; }
.hit { display: block; padding: 0.55em 0.8em; color: inherit; text-decoration: none; border-inline-start: 3px solid transparent; }
.hit + .hit { border-top: 1px solid color-mix(in srgb, var(--wattn-search-border, var(--_line)) 40%, transparent); }
.hit:hover { background: var(--wattn-search-active, var(--_active)); }
.hit[aria-selected='true'] { background: var(--wattn-search-active, var(--_active)); border-inline-start-color: var(--wattn-search-accent, var(--_accent)); }
.title { display: block; font-weight: 600; color: var(--wattn-search-accent, var(--_accent)); overflow-wrap: anywhere; }
.path, .url { display: block; font-size: 0.85em; color: var(--wattn-search-soft, var(--_soft)); overflow-wrap: anywhere; }
.text { display: block; font-size: 0.9em; margin: 0.15em 0; overflow-wrap: anywhere; }
mark { color: inherit; background: var(--wattn-search-mark, var(--_mark)); border-radius: 2px; }
.status { margin: 0; padding: 0.5em 0.8em; font-size: 0.85em; color: var(--wattn-search-soft, var(--_soft)); }
`;

let sheet: CSSStyleSheet | undefined;

/** Gives a shadow root its looks: as a constructed sheet, which every Content-Security-Policy allows. */
export function style(root: ShadowRoot): void {
  if ('adoptedStyleSheets' in root && typeof CSSStyleSheet === 'function') {
    sheet ??= new CSSStyleSheet();
    if (sheet.cssRules.length === 0) sheet.replaceSync(kStyles);
    root.adoptedStyleSheets = [sheet];
    return;
  }
  const element = (root as ShadowRoot).ownerDocument.createElement('style');
  element.textContent = kStyles;
  (root as ShadowRoot).append(element);
}
