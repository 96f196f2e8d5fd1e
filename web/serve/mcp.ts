// The part of the Model Context Protocol that a server of tools needs: JSON-RPC, a message a line or a request of HTTP. The protocol's own SDK is three times
// as large as all of the command; tools/check_fixtures.mjs lets its client speak with this.
import { describe, WattnError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { onAbort } from '../core/signal.js';
import { HttpError } from './http_error.js';
import type { Route } from './routes.js';

/** Revisions of the protocol, newest first; for tools they differ in what a client may leave out. */
const kRevisions = ['2025-06-18', '2025-03-26', '2024-11-05'];

const kCodes = { parse: -32700, request: -32600, method: -32601, params: -32602, internal: -32603 } as const;

class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export interface Tool {
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: object;
  /** The result as JSON. An error that wattn throws is told to the model that asked. */
  run(args: Record<string, unknown>, signal: AbortSignal): Promise<object>;
}

type Id = string | number;
interface Message {
  id?: Id;
  method?: string;
  params?: Record<string, any>;
}

export class McpServer {
  private readonly running = new Map<Id, AbortController>();

  constructor(
    private readonly about: { version: string; instructions: string },
    private readonly tools: Record<string, Tool>,
    private readonly send: (line: string) => void,
    private readonly log: (line: string) => void,
  ) {}

  /** Takes a line of input, and sends the response, if there is one. */
  async take(line: string): Promise<void> {
    if (line.trim() === '') return;
    const response = await this.respond(() => parseLine(line));
    if (response) this.send(JSON.stringify(response));
  }

  /** The response to a message; undefined: it asks for none, or its call was cancelled. */
  async respond(read: () => unknown): Promise<object | undefined> {
    let message: Message | undefined;
    try {
      message = checkMessage(read());
      // A response, to which there was no request, or a notification.
      if (message.id === undefined || message.method === undefined) return void this.notice(message);
      const result = await this.answer(message.id, message.method, message.params ?? {});
      return result && { jsonrpc: '2.0', id: message.id, result };
    } catch (error) {
      if (!(error instanceof RpcError)) this.log(`internal error of wattn: ${String((error as Error)?.message ?? error)}`);
      const { code, message: text } = error instanceof RpcError ? error : new RpcError(kCodes.internal, String(error));
      return { jsonrpc: '2.0', id: message?.id ?? null, error: { code, message: text } };
    }
  }

  /** Ends all calls. */
  end(): void {
    for (const controller of this.running.values()) controller.abort();
  }

  private notice({ method, params }: Message): void {
    if (method === 'notifications/cancelled') this.running.get(params?.['requestId'])?.abort();
  }

  /** undefined: the request was cancelled, so nobody waits. */
  private async answer(id: Id, method: string, params: Record<string, any>): Promise<object | undefined> {
    if (method === 'ping') return {};
    if (method === 'initialize') {
      const asked = params['protocolVersion'];
      return {
        protocolVersion: kRevisions.includes(asked) ? asked : kRevisions[0],
        capabilities: { tools: {} },
        serverInfo: { name: 'wattn', version: this.about.version },
        instructions: this.about.instructions,
      };
    }
    if (method === 'tools/list') {
      const tools = Object.entries(this.tools).map(([name, { description, inputSchema }]) => ({
        name,
        description,
        inputSchema,
        annotations: { readOnlyHint: true, openWorldHint: false },
      }));
      return { tools };
    }
    if (method === 'tools/call') return this.call(id, params);
    throw new RpcError(kCodes.method, `expected initialize, ping, tools/list or tools/call, found ${describe(method)}`);
  }

  private async call(id: Id, { name, arguments: args = {} }: Record<string, any>): Promise<object | undefined> {
    const tool = typeof name === 'string' && Object.hasOwn(this.tools, name) ? this.tools[name] : undefined;
    if (!tool) throw new RpcError(kCodes.params, `tools/call: expected one of ${Object.keys(this.tools).join(', ')}, found ${describe(name)}`); // prettier-ignore
    if (typeof args !== 'object' || args === null || Array.isArray(args))
      throw new RpcError(kCodes.params, `tools/call: expected an object of arguments, found ${describe(args)}`);
    const controller = new AbortController();
    this.running.set(id, controller);
    try {
      const result = await tool.run(args, controller.signal);
      return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result };
    } catch (error) {
      if (controller.signal.aborted) return undefined;
      if (!(error instanceof WattnError)) throw error;
      return { content: [{ type: 'text', text: error.message }], isError: true };
    } finally {
      this.running.delete(id);
    }
  }
}

function parseLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch (error) {
    throw new RpcError(kCodes.parse, `expected a line of JSON, found ${(error as Error).message}`);
  }
}

function checkMessage(message: unknown): Message {
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw new RpcError(kCodes.request, `expected a JSON-RPC message, found ${describe(message)}`);
  const { id, method, params } = message as Record<string, unknown>;
  const isId = id === undefined || typeof id === 'string' || typeof id === 'number';
  const isWhole =
    isId && (method === undefined || typeof method === 'string') && (params === undefined || Object(params) === params);
  if (!isWhole) throw new RpcError(kCodes.request, 'expected a JSON-RPC message with an id, a method and an object of params');
  return message as Message;
}

/** The protocol's Streamable HTTP, without sessions and events of the server's own: each message is a request, and its response JSON. */
export function mcpRoute(make: () => McpServer): Route {
  return {
    method: 'POST',
    dialect: 'tei',
    check({ 'mcp-protocol-version': version }) {
      if (version !== undefined && !kRevisions.includes(String(version)))
        throw new HttpError(400, `MCP-Protocol-Version: expected one of ${kRevisions.join(', ')}, found '${String(version)}'`);
    },
    async run(body, signal) {
      const server = make(); // of its own: ids are those of a client
      const stop = onAbort(signal, () => server.end());
      const response = await server.respond(() => body).finally(stop);
      return response && JSON.stringify(response);
    },
  };
}
