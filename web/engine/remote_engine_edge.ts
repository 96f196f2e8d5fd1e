// In place of remote_engine.ts on the edge.
import { UnsupportedError } from '../core/errors.js';

throw new UnsupportedError("worker: there are no workers on the edge: load the model without the option 'worker'");
