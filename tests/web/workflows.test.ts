// The GitHub workflows: actions are pinned, and no third-party code runs in the job with permission to publish.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './support.js';

const folder = join(root, '.github/workflows');
const workflows = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')] as const);
const text = (file: string) => readFileSync(join(root, file), 'utf8');

/** The jobs of a workflow by their names: the lines below two spaces of indentation. */
function jobsOf(workflow: string): [name: string, lines: string][] {
  const [, jobs = ''] = workflow.split(/^jobs:\n/m);
  return jobs
    .split(/^ {2}(?=\S)/m)
    .slice(1)
    .map((job) => [job.slice(0, job.indexOf(':')), job]);
}

describe('workflows', () => {
  it.each(workflows)('%s names each action by a commit, with its version beside', (_, workflow) => {
    const used = [...workflow.matchAll(/uses:(.*)/g)].map(([, action]) => action);
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((action) => !/^ [\w.-]+\/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action!))).toEqual([]);
    const versions = [...workflow.matchAll(/node-version: (.*)/g)].map(([, version]) => version);
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+\b/.test(version!))).toEqual([]);
    expect(workflow).not.toMatch(/npm (install|i|add|update) /);
  });

  it.each(workflows)('%s has a right to write only where nothing is built', (_, workflow) => {
    const [head = ''] = workflow.split(/^jobs:\n/m);
    expect(head).toMatch(/^permissions:( \{\}|\n {2}contents: read)\n/m);
    expect(head).not.toContain('write');
    const jobs = jobsOf(workflow);
    expect(jobs.length).toBeGreaterThan(0);
    for (const [name, job] of jobs.filter(([, job]) => /: write\b/.test(job))) {
      const runs = [...job.matchAll(/run: (.*)/g)].map(([, command]) => command);
      expect([name, runs]).toEqual(['publish', ['for file in ./*.tgz; do npm publish "$file" --provenance --access public; done']]);
      expect(job).not.toContain('actions/checkout');
    }
  });

  it('do what the documents say', () => {
    const of = (file: string) => new Map(workflows).get(file)!;
    expect(of('check.yml')).toMatch(/^ {2}pull_request:$/m);
    for (const file of ['check.yml', 'publish.yml']) expect(of(file)).toContain('- run: bash .ci/run\n');
    expect(of('nightly.yml')).toMatch(/cron: '\d+ \d+ \* \* \*'/);
    for (const name of ['fixtures', 'builds']) expect(of('nightly.yml')).toContain(`npm run check:${name}\n`);
  });

  it('publish what says where to report a fault, and what changed', () => {
    const { files } = JSON.parse(text('package.json')) as { files: string[] };
    expect(files).toEqual(expect.arrayContaining(['SECURITY.md', 'CHANGELOG.md', 'NOTICE']));
    for (const model of ['base', 'story'])
      expect((JSON.parse(text(`models/${model}/package.json`)) as { files: string[] }).files).toContain('SECURITY.md');
    const [, where = ''] = /const kWhere = '(.*)';/.exec(text('tools/set_addresses.mjs'))!;
    expect(text('SECURITY.md').split(where)).toHaveLength(2);
  });
});
