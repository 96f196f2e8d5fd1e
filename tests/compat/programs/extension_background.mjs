// The service worker of a browser extension: it classifies what its popup sends and what is selected in a page.
import { env, pipeline } from '@huggingface/transformers';

class PipelineSingleton {
  static async getInstance(id, progress_callback) {
    return (this.fn ??= async (...args) => {
      this.instance ??= pipeline('text-classification', id, { progress_callback, device: 'wasm', dtype: 'q4' });
      return (this.promise = (this.promise ?? Promise.resolve()).then(async () => (await this.instance)(...args)));
    });
  }
}

export default async function run({ sequence: id }) {
  env.useBrowserCache = false;
  const listeners = { message: [], menu: [] };
  const sent = [];
  const chrome = {
    runtime: { onMessage: { addListener: (listener) => listeners.message.push(listener) } },
    contextMenus: { onClicked: { addListener: (listener) => listeners.menu.push(listener) } },
    scripting: { executeScript: async ({ args }) => sent.push(args) },
  };
  const classify = async (text) => {
    const classifier = await PipelineSingleton.getInstance(id, ({ status }) => status);
    return await classifier(text);
  };
  chrome.runtime.onMessage.addListener((message, sender, sendResponse) => {
    if (message.action !== 'classify') return undefined;
    classify(message.text).then(sendResponse);
    return true; // the answer comes later
  });
  chrome.contextMenus.onClicked.addListener(async ({ menuItemId, selectionText }, tab) => {
    if (menuItemId !== 'classify-selection' || !selectionText) return;
    const result = await classify(selectionText);
    await chrome.scripting.executeScript({ target: { tabId: tab.id }, args: [result] });
  });

  const text = 'The river runs under the bridge.';
  let waits;
  const answer = await new Promise((resolve) => (waits = listeners.message[0]({ action: 'classify', text }, {}, resolve)));
  await listeners.menu[0]({ menuItemId: 'classify-selection', selectionText: text }, { id: 1 });
  const ignored = listeners.message[0]({ action: 'other' }, {}, () => {});
  await (await PipelineSingleton.instance).dispose();
  return { answer, selected: sent[0][0], waits, ignored: ignored === undefined };
}
