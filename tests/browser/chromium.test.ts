import { elsewhere } from './elsewhere.js';
import { faults } from './faults.js';
import { page } from './page.js';
import { search } from './search.js';
import { storeFaults } from './store_faults.js';
import { inBrowser } from './support.js';

inBrowser('Chromium', { 'a page': page, 'a package elsewhere': elsewhere, faults, search, 'store faults': storeFaults });
