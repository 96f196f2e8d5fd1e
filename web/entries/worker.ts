// The worker of worker mode.
import { serveEngine } from '../engine/serve_engine.js';
import { ownPort } from '../host/workers.js';
import { loadTask } from '../tasks/tasks.js';

serveEngine(ownPort(), loadTask);
