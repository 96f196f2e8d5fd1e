/**
 * The URL of the model, for wattn's functions that take one.
 *
 *     import { pipeline } from 'wattn';
 *     import model from 'wattn-story';
 *
 *     const generate = await pipeline('text-generation', model);
 */
declare const model: URL;
export default model;
