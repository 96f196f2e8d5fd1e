// The code that workers of every kind run for a message { model, texts }.
export const answerWith = ({ pipeline }) =>
  async function answer({ data: { model, texts }, ports: [port] }) {
    try {
      const embed = await pipeline('feature-extraction', model);
      const out = await embed(texts);
      await embed.dispose();
      const sentiment = await pipeline('sentiment-analysis'); // in a service worker only without import()
      const [{ label }] = await sentiment('What a wonderful film!');
      await sentiment.dispose();
      port.postMessage({ data: Array.from(out.data), dims: out.dims, label });
    } catch (error) {
      port.postMessage({ error: String(error) });
    }
  };
