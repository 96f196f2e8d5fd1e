// From PGlite's documentation: in development its files are found only if Vite does not pre-bundle them.
export default { optimizeDeps: { exclude: ['@electric-sql/pglite', '@electric-sql/pglite-pgvector'] } };
