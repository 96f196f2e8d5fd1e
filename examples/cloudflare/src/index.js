// Notes that are searched by words and by meaning, on Cloudflare: `npm install`, then `npx wrangler dev` here, or `npx wrangler deploy`.
//
//     curl -X PUT http://localhost:8787/notes/1 --data 'The bakery opens at six.'
//     curl 'http://localhost:8787/search?q=when+can+I+buy+rolls'
//
// wrangler.json copies the model of the package to the static files (4 MB, so it does not count as code), and the notes are in a Durable Object.
import { DurableObject } from 'cloudflare:workers';
import { Index, pipeline } from 'wattn';

export class Notes extends DurableObject {
  /** Once for as long as this object lives. */
  open() {
    this.index ??= this.load().catch((error) => {
      this.index = undefined; // the next request tries again
      throw error;
    });
    return this.index;
  }

  async load() {
    const response = await this.env.ASSETS.fetch('https://assets/wattn-default.gguf');
    const embed = await pipeline('feature-extraction', { 'wattn-default.gguf': await response.arrayBuffer() });
    return Index.open('notes', { embed, store: this.ctx.storage });
  }

  async add(id, text) {
    const index = await this.open();
    await index.add([{ id, text }]);
    return { notes: index.size };
  }

  async search(query) {
    const hits = await (await this.open()).search(query);
    return hits.map(({ id, text, score }) => ({ id, text, score }));
  }
}

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const notes = env.NOTES.get(env.NOTES.idFromName('notes'));
    const [, id] = /^\/notes\/([^/]+)$/.exec(pathname) ?? [];
    if (id && request.method === 'PUT') return Response.json(await notes.add(decodeURIComponent(id), await request.text()));
    if (pathname === '/search') return Response.json(await notes.search(searchParams.get('q') ?? ''));
    return new Response('PUT /notes/ID, GET /search?q=', { status: 404 });
  },
};
