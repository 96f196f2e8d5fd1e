import { answer } from './answer.js';

self.onconnect = ({ ports: [port] }) => (port.onmessage = answer);
