// Components that use models, for tests/browser/react.test.ts.
import { Component, createElement, StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { usePipeline } from 'wattn/react';

/** Every state that the hook gave, by the component's id. */
globalThis.states = {};

function Model({ id, task, model, options }) {
  // Objects of each render are new, as they are in programs.
  const state = usePipeline(task, model && (model.url ? new URL(model.url, location.href) : model), options && { ...options });
  const { run, status, progress, error } = state;
  const [dims, setDims] = useState();
  const seen = (globalThis.states[id] ??= []);
  if (seen.at(-1) !== state) seen.push(state);
  useEffect(() => {
    let isCurrent = true;
    run?.('a boat').then(
      (out) => isCurrent && setDims(out.dims.join()),
      () => {}, // disposed meanwhile
    );
    return () => void (isCurrent = false);
  }, [run]);
  return createElement('p', { id }, `${status} ${progress} ${error?.name ?? dims ?? ''}`);
}

class Boundary extends Component {
  state = {};
  static getDerivedStateFromError = (error) => ({ error });
  render = () => (this.state.error ? createElement('p', { id: 'caught' }, this.state.error.message) : this.props.children);
}

const root = createRoot(document.getElementById('root'), { onCaughtError: () => {} });
/** Renders components under StrictMode; key: React's, default the id. */
globalThis.show = (...components) =>
  root.render(
    createElement(
      StrictMode,
      null,
      components.map(({ key, ...rest }) => createElement(Boundary, { key: key ?? rest.id }, createElement(Model, rest))),
    ),
  );
