// The program of the panel Model, to run as it is.
import type { ModelSpecifier } from 'wattn';
import { modelArgument } from '../ui/model_code.js';

export const layersCode = (source: ModelSpecifier | null, seq: number): string => `import { inspectModel } from 'wattn';

const { layers, parameters, macs } = await inspectModel(${modelArgument(source)}, { seq: ${seq} });
for (const { name, type, output, parameters } of layers) console.log(name, type, output.join(' x '), parameters);
console.log(\`\${parameters} parameters, \${macs} multiply-adds for a text of ${seq} tokens\`);
`;
