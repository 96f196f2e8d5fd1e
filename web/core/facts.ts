/** The result with what it says of its texts. These members are not enumerable, so that a log and a comparison show the result alone. */
export function withFacts<Result extends object, Facts extends object>(result: Result, facts: Facts): Result & Facts {
  for (const [name, value] of Object.entries(facts)) {
    Object.defineProperty(result, name, { value, writable: true, configurable: true });
  }
  return result as Result & Facts;
}
