// What beside_worker.ts runs.

/** What a task has to say when it is done, and the questions that it answers from then on. */
export interface Finished<First, Question = never, Answer = never> {
  first: First;
  ask?: (question: Question) => Answer;
}

export type Report = (progress: unknown) => void;
