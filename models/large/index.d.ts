/**
 * The URL of the model, for wattn's functions that take one.
 *
 *     import { pipeline } from 'wattn';
 *     import model from 'wattn-large';
 *
 *     const embed = await pipeline('feature-extraction', model);
 */
declare const model: URL;
export default model;
