// Beside the page: one experiment. Points of its curves are sent a few times a second.
import type { Finished, Report } from '../beside/task.js';
import { runLesson, type Outcome, type Point } from './lessons.js';
import type { LessonId } from './list.js';

const kPause = 60; // ms between two messages

export async function lesson({ id }: { id: LessonId }, report: Report): Promise<Finished<Outcome>> {
  let points: Point[] = [];
  let last = 0;
  const send = () => {
    report(points);
    [points, last] = [[], performance.now()];
  };
  const first = await runLesson(id, (...point) => {
    points.push(point);
    if (performance.now() - last > kPause) send();
  });
  send();
  return { first };
}
