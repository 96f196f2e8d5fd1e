// The model runs in the extension's service worker, which the browser stops when it is idle and restarts on demand.
import { pipeline, semantic_search } from './wattn/inline.js';

let loading;
const embedder = () =>
  (loading ??= pipeline('feature-extraction').catch((error) => {
    loading = undefined; // the next question tries again
    throw error;
  }));

async function find(question) {
  const embed = await embedder();
  const tabs = (await chrome.tabs.query({})).filter(({ title }) => title);
  const [found] = semantic_search(await embed([question]), await embed(tabs.map(({ title }) => title)), { top_k: 5 });
  return found.map(({ corpus_id, score }) => ({ id: tabs[corpus_id].id, title: tabs[corpus_id].title, score }));
}

chrome.runtime.onMessage.addListener(({ question }, _sender, answer) => {
  find(question).then(
    (found) => answer({ found }),
    (error) => answer({ error: `${error.name}: ${error.message}` }),
  );
  return true; // the answer comes later
});
