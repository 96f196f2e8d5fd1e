/// <reference types="vite/client" />

/** The version in package.json. */
declare const __WATTN_VERSION__: string;

/** Name and address of what the page's foot links to. */
declare const __WATTN_LINKS__: Record<string, string>;
