import { Agent, type IncomingHttpHeaders, request } from 'node:http';

/** A complete response. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Message {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface ConnectionOptions {
  /** Maximum. Default: 1. */
  readonly sockets?: number;
  /** Called with every response and its duration in milliseconds. */
  readonly onAnswer?: (answer: Answer | 'lost', durationMs: number) => void;
}

/** Longer than a server ever takes to report that its storage is away. */
const LONGEST_MS = 30_000;

/**
 * A kept-alive connection to one server, which reopens when it is lost. Requests wait while it is busy. With several
 * sockets it acts like a client that opens more under load.
 */
export class Connection {
  /** The address: the same text for every connection to it. */
  readonly address: string;
  readonly #host: string;
  readonly #port: number;
  readonly #agent: Agent;
  readonly #onAnswer: ConnectionOptions['onAnswer'];

  constructor(address: string, { sockets = 1, onAnswer }: ConnectionOptions = {}) {
    const { hostname, port } = new URL(address);
    this.address = address;
    this.#onAnswer = onAnswer;
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets });
    this.#host = hostname;
    this.#port = Number(port);
  }

  /** @returns `lost` without a complete response: the outcome of the request is unknown */
  async send(message: Message): Promise<Answer | 'lost'> {
    const startedAtMs = performance.now();
    const answer = await this.#exchange(message);
    this.#onAnswer?.(answer, performance.now() - startedAtMs);
    return answer;
  }

  close(): void {
    this.#agent.destroy();
  }

  #exchange({ method, path, headers, body }: Message): Promise<Answer | 'lost'> {
    return new Promise((resolve) => {
      const sent = request({
        agent: this.#agent,
        host: this.#host,
        port: this.#port,
        method,
        path,
        timeout: LONGEST_MS,
        headers: {
          ...headers,
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        },
      });
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('close', () => {
          const { statusCode, headers, complete } = response;
          resolve(complete ? { status: statusCode ?? 0, headers, body: text } : 'lost');
        });
      });
      sent.on('timeout', () => sent.destroy());
      sent.on('error', () => resolve('lost'));
      sent.end(body);
    });
  }
}
