// The programs of the panel Teach, to run as they are.
import type { EmbedOptions, ModelSpecifier } from 'wattn';
import { modelArgument, optionsArgument, quoted } from '../ui/model_code.js';
import { linesOf, type Taught } from './use_classifier.js';

const exampleLines = (classes: readonly Taught[], line: (text: string, label: string) => string) =>
  classes.flatMap((taught) => linesOf(taught).map((text) => line(quoted(text), quoted(taught.name.trim())))).join('\n');

export function teachCode(source: ModelSpecifier | null, classes: readonly Taught[], text: string, options: EmbedOptions): string {
  const pooling = optionsArgument(options).replace(/^, /, ', embed_options: ');
  return `import { Classifier, pipeline } from 'wattn';

const examples = [
${exampleLines(classes, (example, label) => `  [${example}, ${label}],`)}
];
const texts = examples.map(([text]) => text);
const labels = examples.map(([, label]) => label);

const embed = await pipeline('feature-extraction', ${modelArgument(source)});
const classifier = await Classifier.fit(embed, texts, labels, { class_weight: 'balanced'${pooling} });
console.log(classifier.report.accuracy, 'of unseen examples');
for (const { label, score } of await classifier(${quoted(text)}, { top_k: null })) console.log(label, score.toFixed(3));
`;
}

export function fineTuneCode(source: ModelSpecifier | null, classes: readonly Taught[], text: string): string {
  return `import { Trainer } from 'wattn/train';

const rows = [
${exampleLines(classes, (example, label) => `  { text: ${example}, label: ${label} },`)}
];
const trainer = await Trainer.from_pretrained(${modelArgument(source)}, { task: 'text-classification', loss: 'SupConLoss' });
for await (const { step, max_steps, loss } of trainer.fit(rows)) console.log(\`\${step} of \${max_steps}: loss \${loss.toFixed(3)}\`);
for (const { label, score } of await trainer.classifier(${quoted(text)}, { top_k: null })) console.log(label, score.toFixed(3));
const files = await trainer.save(); // an adapter in PEFT's format, and the classifier
console.log(Object.keys(files));
await trainer.dispose();
`;
}
