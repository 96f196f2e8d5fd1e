#!/usr/bin/env node
// The command `create-wattn`, which `npm create wattn` runs.
import { choose } from './choose.js';
import { create, kTemplates, parseArguments, Refusal, usage, version } from './create.js';

try {
  const { help, isVersion, folder, template } = parseArguments(process.argv.slice(2));
  if (help) console.log(usage());
  else if (isVersion) console.log(version);
  else {
    const chosen = template ?? (await chooseTemplate());
    const { steps, where, wrote } = create(folder ?? 'wattn-app', chosen, { userAgent: process.env.npm_config_user_agent });
    console.log(`\nCreated ${where} from the template '${chosen}' (${wrote.length} files). Next:\n`);
    for (const step of steps) console.log(`  ${step}`);
    console.log('');
  }
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`create-wattn: ${error.message}`);
  process.exitCode = error.status;
}

async function chooseTemplate() {
  const names = Object.keys(kTemplates);
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    console.log(
      `No interactive terminal: using the template '${names[0]}' (choose another with --template ${names.slice(1).join(' or ')}).`,
    );
    return names[0];
  }
  const rows = names.map((name) => ({ name, about: kTemplates[name] }));
  const chosen = await choose('Which template?', rows, process.stdin, process.stdout);
  if (chosen === undefined) throw new Refusal('cancelled; nothing was written', 130);
  return names[chosen];
}
