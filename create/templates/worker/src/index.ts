import type { Env } from './notes.js';

export { Notes } from './notes.js';

/** Maximum characters per text. */
const kLongest = 100_000;
/** Maximum texts per request. */
const kMostTexts = 100;

const refuse = (status: number, error: string) => Response.json({ error }, { status });

/** Whether the request may write. Both tokens are hashed first, so that timing reveals nothing about them. */
async function isAllowed(request: Request, { TOKEN }: Env): Promise<boolean> {
  if (!TOKEN) return false;
  const hash = (text: string) => crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  const given = request.headers.get('authorization') ?? '';
  return crypto.subtle.timingSafeEqual(await hash(given), await hash(`Bearer ${TOKEN}`));
}

async function answer(request: Request, env: Env): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const notes = env.NOTES.get(env.NOTES.idFromName('notes'));
  const route = `${request.method} ${pathname}`;

  if (route === 'GET /api/search') {
    const query = searchParams.get('q') ?? '';
    if (query.length > kLongest) return refuse(413, `q: expected at most ${kLongest} characters`);
    return Response.json(await notes.search(query));
  }
  const id = /^(?:PUT|DELETE) \/api\/notes\/([^/]+)$/.exec(route)?.[1];
  if (id === undefined && route !== 'POST /api/embed')
    return refuse(404, 'expected GET /api/search?q=, PUT or DELETE /api/notes/ID, or POST /api/embed');
  if (!(await isAllowed(request, env))) return refuse(401, "expected the header 'Authorization: Bearer' with the Worker's TOKEN");

  if (id === undefined) {
    const { texts } = (await request.json().catch(() => ({}))) as { texts?: unknown };
    const isList =
      Array.isArray(texts) &&
      texts.length <= kMostTexts &&
      texts.every((text) => typeof text === 'string' && text.length <= kLongest);
    if (!isList) return refuse(400, `texts: expected at most ${kMostTexts} texts of at most ${kLongest} characters each`);
    return Response.json({ vectors: await notes.embed(texts) });
  }
  const name = decodeURIComponent(id);
  if (request.method === 'DELETE') return Response.json(await notes.remove(name));
  const text = await request.text();
  if (text.trim() === '' || text.length > kLongest) return refuse(400, `expected a text of 1 to ${kLongest} characters`);
  return Response.json(await notes.add(name, text));
}

export default {
  async fetch(request, env) {
    try {
      return await answer(request, env);
    } catch (error) {
      if (error instanceof URIError) return refuse(400, 'the id: expected percent-encoding');
      console.error(error);
      return refuse(500, 'the Worker failed; see its log for details');
    }
  },
} satisfies ExportedHandler<Env>;
