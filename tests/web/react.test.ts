// wattn/react on a server, as CommonJS, and its types. tests/browser/react.test.ts has it in a page.
import { spawnSync } from 'node:child_process';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import type { FeatureExtractionPipeline, TextGenerationPipeline, TranslationPipeline } from 'wattn';
import { usePipeline, type PipelineState } from 'wattn/react';
import { root } from './support.js';

const Shown = () => createElement('p', null, JSON.stringify(usePipeline('feature-extraction', 'nobody/nothing')));

describe('usePipeline', () => {
  it('loads nothing on a server', () => {
    const { fetch } = globalThis;
    globalThis.fetch = () => Promise.reject(new Error('a request'));
    try {
      const html = renderToString(createElement(Shown));
      expect(html).toBe('<p>{&quot;status&quot;:&quot;loading&quot;,&quot;progress&quot;:0}</p>');
    } finally {
      globalThis.fetch = fetch;
    }
  });

  it('is there for import and for require, and for whoever renders both sides', () => {
    const script = (load: string) => `
      const React = ${load}('react'), { renderToString } = ${load}('react-dom/server'), { usePipeline } = ${load}('wattn/react');
      const Shown = () => React.createElement('p', null, usePipeline('ner').status);
      console.log(renderToString(React.createElement(Shown)));`;
    for (const [type, load] of [
      ['commonjs', 'require'],
      ['module', 'await import'],
    ] as const) {
      // prettier-ignore
      const { stdout, stderr } = spawnSync(process.execPath, [`--input-type=${type}`, '-e', script(load)], { cwd: root, encoding: 'utf8' }); // prettier-ignore
      expect([stdout, stderr]).toEqual(['<p>loading</p>\n', '']);
    }
  });

  it("has the pipeline's types", () => {
    const same = <Wanted>(_: () => PipelineState<Wanted>): void => {};
    same<FeatureExtractionPipeline>(() => usePipeline('feature-extraction'));
    same<TextGenerationPipeline>(() => usePipeline('text-generation', './model/', { worker: true, dtype: 'q8' }));
    same<TranslationPipeline>(() => usePipeline('translation_en_to_de', null, null));
    const use = () => {
      const { status, run, error } = usePipeline('sentiment-analysis');
      if (status === 'ready') return run('text').then(([first]) => first!.label.toUpperCase());
      if (status === 'error') return error.message;
      // @ts-expect-error: it may not be loaded
      run('text');
      // @ts-expect-error: no such task
      usePipeline('sentiment');
      // @ts-expect-error: the hook sets it
      usePipeline('ner', null, { signal: new AbortController().signal });
      return undefined;
    };
    expect(typeof use).toBe('function');
  });
});
