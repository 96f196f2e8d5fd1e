// Jest's environment for tools/lib/mutate_web.mjs: tells the code of a test file, and the processes and workers that it starts, where to note what runs.
const { join, relative } = require('node:path');
const { TestEnvironment } = require('jest-environment-node');

module.exports = class extends TestEnvironment {
  constructor(config, context) {
    const test = relative(config.projectConfig.rootDir, context.testPath).replaceAll('/', '+');
    process.env.WATTN_REACHED = join(process.env.WATTN_REACHED_IN, test);
    super(config, context);
  }
};
