// The demo's exercises: reading answers, and the numbers in docs/teaching.md.
import { readFileSync } from 'node:fs';
import { pipeline } from 'wattn';
import { openDoor } from '../../demo/src/attention/use_inside.js';
import { isRight, makeExercises, readNumber, rightAnswer, type Exercise } from '../../demo/src/exercises/exercises.js';
import { kExercises, kOfPanel } from '../../demo/src/exercises/list.js';

describe('an exercise', () => {
  const make = (answer: Exercise['answer']) => ({ answer }) as Exercise;

  it('takes a number as people write it', () => {
    expect(['1.5', ' −2 ', '3,25', '70 %', '–1'].map(readNumber)).toEqual([1.5, -2, 3.25, 70, -1]);
    expect(['', 'x', '1.2.3', 'Infinity'].map(readNumber)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('is right within what rounding leaves', () => {
    const number = make({ number: 5.93, within: 0.06 });
    expect([5.93, 5.9, 5.86, 6].map((given) => isRight(number, given))).toEqual([true, true, false, false]);
    expect(rightAnswer(number)).toBe('5.93');
    expect(rightAnswer(make({ number: 70.28, within: 1.5, unit: '%' }))).toBe('70.3 %');
    const choice = make({ choice: 1, choices: ['a', 'b'] });
    expect([0, 1].map((given) => isRight(choice, given))).toEqual([false, true]);
    expect(rightAnswer(choice)).toBe('b');
  });
});

describe('the exercises of a sentence', () => {
  let exercises: Exercise[];

  beforeAll(async () => {
    const [door, embed] = [await openDoor(null), await pipeline('feature-extraction')];
    const inside = await door.run({ text: 'The cat sat on the mat because it was tired.', pair: '', off: new Set() });
    exercises = await makeExercises({ inside, embed, options: {} });
    door.dispose();
    await embed.dispose();
  });

  it('are those of the list, each with a hint, a reason and what the model says', () => {
    expect(exercises.map(({ id }) => id)).toEqual(kExercises.map(([id]) => id));
    for (const { rule, asks, hint, because, model } of exercises)
      for (const text of [rule, asks, hint, because, model]) {
        expect(text).toMatch(/[.?]$|\d$/);
        expect(text).not.toMatch(/NaN|undefined|Infinity/);
      }
    for (const id of Object.values(kOfPanel)) expect(kExercises.some(([one]) => one === id)).toBe(true);
  });

  it('have the answers that docs/teaching.md gives', () => {
    const guide = readFileSync('docs/teaching.md', 'utf8').replace(/\s+/g, ' ');
    const answers = exercises.map(rightAnswer);
    expect(answers).toEqual([
      '5.93',
      '70.3 %',
      'tired (token 11)',
      'Head A',
      'Attention without positions',
      'It is mostly unchanged: above 0.8',
      '1.40',
    ]);
    const [dot, softmax, , heads, positions, block] = exercises.map(({ model }) => model);
    for (const [says, number] of [
      [dot, '32.83'],
      [heads, '99.8 %'],
      [positions, '0.992'],
      [block, '0.88'],
    ]) {
      expect(says).toContain(number);
      expect(guide).toContain(number);
    }
    expect(softmax).toContain('69.1 %');
    for (const part of ['Answer: 5.93', '70.3 %', 'Scores 5.8, 4.8 and 2.9', 'Answer: A', 'from 2 to 1.4'])
      expect(guide).toContain(part);
  });

  it('find what is right in the numbers that they give', () => {
    const numbers = (id: string) => exercises.find((one) => one.id === id)!.given.map((row) => row.numbers.map((text) => Number(text.replace('−', '-')))); // prettier-ignore
    const [q, k] = numbers('dot');
    expect(
      isRight(
        exercises[0]!,
        q!.reduce((sum, x, i) => sum + x * k![i]!, 0),
      ),
    ).toBe(true);
    const [scores] = numbers('softmax');
    const exps = scores!.map(Math.exp);
    expect(isRight(exercises[1]!, (100 * exps[0]!) / exps.reduce((a, b) => a + b))).toBe(true);
    const [products] = numbers('query');
    expect(isRight(exercises[2]!, products!.indexOf(Math.max(...products!)))).toBe(true);
  });
});
