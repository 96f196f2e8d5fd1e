// PGlite's own word for Vite: its files are found only when they are not bundled beforehand in development.
export default { optimizeDeps: { exclude: ['@electric-sql/pglite', '@electric-sql/pglite-pgvector'] } };
