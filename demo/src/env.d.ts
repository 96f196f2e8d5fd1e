/// <reference types="vite/client" />

/** The version in package.json. */
declare const __WATTN_VERSION__: string;
