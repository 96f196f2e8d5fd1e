// A page for the Worker's search.
const byId = (id) => document.getElementById(id);
const query = byId('query');
let asking;

async function ask(path, init) {
  const response = await fetch(path, init);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function search() {
  asking?.abort(); // ignore the response to an earlier query
  const { signal } = (asking = new AbortController());
  const asked = query.value.trim();
  const hits = asked === '' ? [] : await ask(`./api/search?q=${encodeURIComponent(asked)}`, { signal });
  byId('status').textContent = asked === '' ? 'Type to search.' : hits.length === 0 ? 'Nothing found.' : `Results: ${hits.length}`;
  byId('list').replaceChildren(...hits.map(({ text }) => Object.assign(document.createElement('li'), { textContent: text })));
}

async function add() {
  const headers = { authorization: `Bearer ${byId('token').value}` };
  const { notes } = await ask(`./api/notes/${crypto.randomUUID()}`, { method: 'PUT', headers, body: byId('text').value });
  byId('text').value = '';
  byId('status').textContent = `Added. There are ${notes} notes.`;
}

const attempt = (work) =>
  work().catch((error) => {
    if (error.name !== 'AbortError') byId('status').textContent = error.message;
  });
query.addEventListener('input', () => attempt(search));
byId('search').addEventListener('submit', (event) => event.preventDefault());
byId('add').addEventListener('submit', (event) => {
  event.preventDefault();
  attempt(add);
});
