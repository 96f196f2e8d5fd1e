// A page with a worker, as React programs have it: state, an effect that listens, a button, and one model in the page itself.
import { pipeline } from '@huggingface/transformers';
import { useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';

function Labels({ text }) {
  const [labels, setLabels] = useState([]);
  useEffect(() => {
    let isOver = false;
    (async () => {
      const classify = await pipeline('sentiment-analysis');
      const found = await classify(text, { top_k: null, truncation: true });
      if (!isOver) setLabels(found);
    })();
    return () => (isOver = true);
  }, [text]);
  return (
    <ul id="labels">
      {labels.map(({ label, score }) => (
        <li key={label}>
          {label} {score.toFixed(2)}
        </li>
      ))}
    </ul>
  );
}

function App() {
  const worker = useRef(null);
  const [isReady, setReady] = useState(null);
  const [pieces, setPieces] = useState('');
  const [whole, setWhole] = useState('');

  useEffect(() => {
    worker.current ??= new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    const listen = ({ data }) => {
      if (data.status === 'initiate') setReady(false);
      else if (data.status === 'ready') setReady(true);
      else if (data.status === 'update') setPieces((before) => before + data.output);
      else if (data.status === 'complete') setWhole(data.output[0].translation_text);
    };
    worker.current.addEventListener('message', listen);
    return () => worker.current.removeEventListener('message', listen);
  }, []);

  return (
    <main>
      <button disabled={isReady === false} onClick={() => worker.current.postMessage({ text: 'Hello, how are you?' })}>
        Translate
      </button>
      <p id="pieces">{pieces}</p>
      <p id="whole">{whole}</p>
      <Labels text="I love this." />
    </main>
  );
}

createRoot(document.getElementById('root')).render(<App />);
