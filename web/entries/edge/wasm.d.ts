/** A file of the package, as the platform's module. tools/bundle.mjs leaves the import to it. */
declare module '*.wasm' {
  const module: object;
  export default module;
}
