import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Similarity } from './Similarity.jsx';

createRoot(document.getElementById('root')).render(
  <StrictMode>
    <Similarity />
  </StrictMode>,
);
