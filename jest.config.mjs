import { existsSync, readFileSync } from 'node:fs';
import { useSoftwareGpu } from './tools/lib/software_gpu.mjs';

useSoftwareGpu(); // workers inherit the environment

const header = new URL('build/wasm-simd/build_id.h', import.meta.url);

export default {
  testMatch: ['<rootDir>/tests/{web,browser,docs,gpu}/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/(build|\\.toolchain|tests/fixtures|create/templates)/'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: { '\\.tsx?$': '<rootDir>/tools/lib/jest_esbuild.mjs' },
  resolver: '<rootDir>/tools/lib/jest_resolver.cjs',
  // What ships, not its sources.
  moduleNameMapper: {
    '^wattn$': '<rootDir>/dist/node.js',
    '^wattn/tokenizer$': '<rootDir>/dist/tokenizer_entry_node.js',
    '^wattn/inline$': '<rootDir>/dist/inline_node.js',
    '^wattn/nn$': '<rootDir>/dist/nn_entry_node.js',
    '^wattn/ai-sdk$': '<rootDir>/dist/ai_sdk_entry_node.js',
    '^wattn/langchain$': '<rootDir>/dist/langchain_entry_node.js',
    '^wattn/llamaindex$': '<rootDir>/dist/llamaindex_entry_node.js',
    '^wattn/count$': '<rootDir>/dist/count_entry_node.js',
    '^wattn/languages$': '<rootDir>/dist/languages_entry.js',
    '^wattn/static-search$': '<rootDir>/dist/static_search_entry.js',
    '^wattn/search-element$': '<rootDir>/dist/search_element_entry.js',
    '^wattn/react$': '<rootDir>/dist/react_entry.js',
    '^wattn/train$': '<rootDir>/dist/train_entry_node.js',
    '^wattn-base$': '<rootDir>/models/base/index.js',
    '^wattn-large$': '<rootDir>/models/large/index.js',
    '^wattn-story$': '<rootDir>/models/story/index.js',
    '^wattn-pii$': '<rootDir>/models/pii/index.js',
    '^wattn-multi$': '<rootDir>/models/multi/index.js',
  },
  globals: {
    __WATTN_BUILD_ID__: existsSync(header) ? readFileSync(header, 'utf8').split('"')[1] : 'none',
    __WATTN_VERSION__: 'test',
  },
  testTimeout: 600_000, // for what hangs: on a busy machine the longest test takes two minutes
};
