import '@picocss/pico/css/pico.indigo.min.css';
import '../style.css';
import { render } from 'preact';
import { keepForOffline } from '../offline.js';
import { applyTheme } from '../ui/theme.js';
import { ProofPage } from './proof.js';

applyTheme();
render(<ProofPage />, document.getElementById('app')!);
keepForOffline();
