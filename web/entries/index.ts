/**
 * Small text transformers in the browser and in Node, loaded from their original checkpoints.
 *
 * @module
 */
export * from './page.js';
export * from './api.js';
