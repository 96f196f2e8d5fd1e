// Searches a person's own Markdown files by words and meaning. Nothing is sent anywhere, and the second visit needs no network.
const byId = (id) => document.getElementById(id);
const { serviceWorker } = navigator;
serviceWorker.register('./offline.js');
if (!serviceWorker.controller) await new Promise((resolve) => serviceWorker.addEventListener('controllerchange', resolve));
const { Index, pipeline } = await import('./node_modules/wattn/dist/index.js');
const index = await Index.open('files', { embed: await pipeline('feature-extraction', null, { worker: true }) });
byId('status').textContent = `${index.size} files`;

byId('folder').addEventListener('change', async ({ target }) => {
  const files = [...target.files].filter(({ name, size }) => name.endsWith('.md') && size > 0);
  const documents = await Promise.all(files.map(async (file) => ({ id: file.webkitRelativePath, text: await file.text() })));
  for await (const { done, total } of index.add(documents)) byId('status').textContent = `${done} of ${total} files`;
});
byId('query').addEventListener('input', async ({ target }) => {
  const hits = target.value.trim() ? await index.search(target.value, { top_k: 5 }) : [];
  const items = hits.map(({ id, text }) => Object.assign(document.createElement('li'), { textContent: `${id}: ${text}` }));
  byId('found').replaceChildren(...items);
});
