// Writes the tables of docs/models.md and docs/choose.md. Run it after a change of architectures, of tools/models/repositories.mjs or of
// models/catalog.json; Jest compares the documents.
import { readFileSync, writeFileSync } from 'node:fs';
import { describeModel } from '../dist/node.js';
import { choiceDocument, choiceTables } from './models/catalog.mjs';
import { currentDocument, document, modelTables, withTables } from './models/table.mjs';

writeFileSync(document, withTables(currentDocument(), await modelTables(describeModel)));
writeFileSync(choiceDocument, withTables(readFileSync(choiceDocument, 'utf8'), choiceTables()));
