const byId = (id) => document.getElementById(id);

function toItem({ id, title, score }) {
  const button = document.createElement('button');
  button.textContent = `${title} (${score.toFixed(2)})`;
  button.addEventListener('click', () => chrome.tabs.update(id, { active: true }));
  const item = document.createElement('li');
  item.append(button);
  return item;
}

document.forms[0].addEventListener('submit', async (event) => {
  event.preventDefault();
  const { found = [], error = '' } = await chrome.runtime.sendMessage({ question: byId('question').value });
  byId('found').replaceChildren(...found.map(toItem));
  byId('error').textContent = error;
});
