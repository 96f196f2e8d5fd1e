// Where the story leads to.

const kDoors = [
  [
    'whole',
    'The whole model',
    'All of it in one picture, with your sentence inside. Zoom in until every number shows its formula.',
  ],
  ['search', 'Search', 'Search your own documents by meaning, even when no word is the same.'],
  ['teach', 'Classify', 'Teach the model your labels with a handful of examples, and fine-tune it in seconds.'],
  ['exercises', 'Learn', 'Exercises with the model’s own numbers, and experiments that train as you watch.'],
  ['attention', 'Look inside', 'Every head of every layer, as lines, numbers and steps. Turn one off.'],
] as const;

export function Doors() {
  return (
    <nav class="doors" aria-label="Where to go next">
      {kDoors.map(([panel, name, what]) => (
        <a key={panel} href={`#${panel}`} class="panel door">
          <strong>{name}</strong>
          <span>{what}</span>
        </a>
      ))}
    </nav>
  );
}
