import * as wattn from '/dist/index.js';
import { answerWith } from './answer.js';

self.onconnect = ({ ports: [port] }) => (port.onmessage = answerWith(wattn));
