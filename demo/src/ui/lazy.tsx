// A component whose code is fetched when it is first shown.
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** load: `() => import(..)` of a module, and the component in it. */
export function lazy<P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let loaded: FunctionComponent<P> | undefined;
  return function Lazy(props: P) {
    const [Component, setComponent] = useState(() => loaded);
    const [error, setError] = useState<Error>();
    useEffect(() => {
      if (!loaded)
        load()
          .then((component) => setComponent(() => (loaded = component)))
          .catch((reason: Error) => setError(reason));
    }, []);
    if (error) return <Problem error={error} />;
    return Component ? <Component {...props} /> : <p class="hint loading-panel">Loading this panel…</p>;
  };
}

/** What went wrong, in the library's own words. */
export function Problem({ error }: { error: Error }) {
  return (
    <div class="error" role="alert">
      <strong>{error.name === 'Error' ? 'That did not work' : error.name}</strong>
      <p>{error.message}</p>
    </div>
  );
}
