// Jest resolver: our TypeScript files import each other by the name they will have when built (x.js is x.ts).
module.exports = (path, options) => {
  try {
    return options.defaultResolver(path, options);
  } catch (error) {
    if (!/^\.{1,2}\/.*\.js$/.test(path)) throw error;
    return options.defaultResolver(path.replace(/\.js$/, '.ts'), options);
  }
};
