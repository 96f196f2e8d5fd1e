// The text that the small model learns: sentences of a small world, in which words follow from other words. Always the same text.

interface Person {
  name: string;
  pronoun: string;
  does: [verb: string, things: string[], place: string][];
}

const kPeople: Person[] = [
  { name: 'the cook', pronoun: 'she', does: [['bakes', ['bread', 'a cake'], 'in the kitchen'], ['cuts', ['the bread', 'the fish'], 'in the kitchen']] }, // prettier-ignore
  { name: 'the sailor', pronoun: 'he', does: [['steers', ['the boat', 'the ship'], 'on the sea'], ['catches', ['a fish'], 'on the sea']] }, // prettier-ignore
  { name: 'the teacher', pronoun: 'she', does: [['reads', ['a book', 'a letter'], 'at school'], ['explains', ['the moon', 'the sea'], 'at school']] }, // prettier-ignore
  { name: 'the gardener', pronoun: 'he', does: [['waters', ['the flowers', 'the tree'], 'in the garden'], ['plants', ['a tree', 'flowers'], 'in the garden']] }, // prettier-ignore
];

const kAnimals = [
  { name: 'the cat', does: ['sleeps on the mat', 'watches the fish', 'climbs the tree'] },
  { name: 'the dog', does: ['sleeps on the mat', 'follows the cook', 'runs in the garden'] },
  { name: 'the bird', does: ['sings in the tree', 'flies over the sea', 'watches the cat'] },
];

const kReasons = ['tired', 'hungry', 'happy', 'curious'];
const kTimes = ['in the morning', 'at night', 'every day'];

function draws(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

function makeStory(sentences: number): string {
  const below = draws(24);
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const kinds = [
    () => {
      const { name, does } = one(kPeople);
      const [verb, things, place] = one(does);
      return `${name} ${verb} ${one(things)} ${one([place, one(kTimes)])} .`;
    },
    () => {
      const { name, does } = one(kAnimals);
      return `${name} ${one(does)} because it is ${one(kReasons)} .`;
    },
    () => {
      const { name, pronoun, does } = one(kPeople);
      const [verb, things] = one(does);
      return `${name} ${verb} ${one(things)} because ${pronoun} is ${one(kReasons)} .`;
    },
    () => `${one(kAnimals).name} and ${one(kAnimals).name} sleep ${one(kTimes)} because they are tired .`,
  ];
  return Array.from({ length: sentences }, () => one(kinds)()).join(' ');
}

export const kStory = makeStory(400);
