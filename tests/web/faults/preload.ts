// Loaded before a program by `node --import` (child.ts): its calls fail, or it dies at one of them. WATTN_FAULTS selects the calls.
import { isMainThread } from 'node:worker_threads';
import { calls } from './calls.js';
import { Faults } from './faults.js';
import type { ChildFaults } from './child.js';

if (isMainThread) {
  const { folder, report, failNth, killAt, losePowerAt } = JSON.parse(process.env['WATTN_FAULTS'] as string) as ChildFaults & {
    report: string;
  };
  delete process.env['WATTN_FAULTS']; // its own children are not followed
  const faults = new Faults(folder, { disk: losePowerAt !== undefined });
  const tell = () => calls.real.writeFileSync(report, JSON.stringify(faults.calls));
  process.on('exit', () => {
    tell();
    if (losePowerAt) faults.loseNow(losePowerAt[1]); // after the last call
  });
  if (failNth) faults.failNth(...failNth);
  if (killAt !== undefined) faults.dieAt(killAt, () => void (tell(), process.kill(process.pid, 'SIGKILL')));
  if (losePowerAt) {
    const [n, loss] = losePowerAt;
    faults.dieAt(n, () => {
      tell();
      setInterval(() => {}, 1000); // calls that never return keep no process alive
      void faults.powerLoss(loss).then(() => process.kill(process.pid, 'SIGKILL'));
    });
  }
}
