import '@picocss/pico/css/pico.indigo.min.css';
import './style.css';
import { render } from 'preact';
import { App } from './app.js';
import { unpackAddress } from './ui/address.js';
import { applyTheme } from './ui/theme.js';

applyTheme();
const show = () => render(<App />, document.getElementById('app')!);
const unpacking = unpackAddress();
if (unpacking) void unpacking.then(show);
else show();
