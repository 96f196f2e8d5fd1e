import '@picocss/pico/css/pico.indigo.min.css';
import './style.css';
import { render } from 'preact';
import { App } from './app.js';
import { applyTheme } from './ui/theme.js';

applyTheme();
render(<App />, document.getElementById('app')!);
