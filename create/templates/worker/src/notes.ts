// The Durable Object: it keeps the model and the index in memory while it lives, and stores the notes permanently.
import { DurableObject } from 'cloudflare:workers';
import { Index, pipeline, type FeatureExtractionPipeline } from 'wattn';

export interface Env {
  ASSETS: Fetcher;
  NOTES: DurableObjectNamespace<Notes>;
  /** The secret that authorizes writing. */
  TOKEN?: string;
}

interface Opened {
  embed: FeatureExtractionPipeline;
  index: Index;
}

export class Notes extends DurableObject<Env> {
  private opened: Promise<Opened> | undefined;

  /** Loads everything once in this object's lifetime. */
  private open(): Promise<Opened> {
    this.opened ??= this.load().catch((error) => {
      this.opened = undefined; // the next request tries again
      throw error;
    });
    return this.opened;
  }

  private async load(): Promise<Opened> {
    const response = await this.env.ASSETS.fetch('https://assets/wattn-default.gguf');
    if (!response.ok) throw new Error(`wattn-default.gguf: the server answered ${response.status}`);
    const embed = await pipeline('feature-extraction', { 'wattn-default.gguf': await response.arrayBuffer() });
    return { embed, index: await Index.open('notes', { embed, store: this.ctx.storage }) };
  }

  async add(id: string, text: string): Promise<{ notes: number }> {
    const { index } = await this.open();
    await index.add({ id, text });
    return { notes: index.size };
  }

  async remove(id: string): Promise<{ notes: number }> {
    const { index } = await this.open();
    await index.delete([id]);
    return { notes: index.size };
  }

  async search(query: string): Promise<{ id: string; text: string; score: number }[]> {
    const { index } = await this.open();
    const hits = await index.search(query, { top_k: 10 });
    return hits.map(({ id, text, score }) => ({ id, text, score }));
  }

  async embed(texts: string[]): Promise<number[][]> {
    const { embed } = await this.open();
    return (await embed(texts)).tolist<number[][]>();
  }
}
