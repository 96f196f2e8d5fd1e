// A worker of a page that holds an engine.
import { serveEngine } from './engine_worker.js';
import { pagePort } from '../host/worker_port.js';

serveEngine(pagePort());
