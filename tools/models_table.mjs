// Writes the tables of docs/models.md. Run it after a change of architectures or of tools/models/repositories.mjs; Jest compares the document.
import { writeFileSync } from 'node:fs';
import { describeModel } from '../dist/node.js';
import { currentDocument, document, modelTables, withTables } from './models/table.mjs';

writeFileSync(document, withTables(currentDocument(), await modelTables(describeModel)));
