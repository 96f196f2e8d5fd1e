// What Node loads with any entry. Like base.ts it is not shipped by itself: it tells the bundler what belongs in one file, because Node takes half a
// millisecond for each file.
export * from './api.js';
export * from './core.js';
