import { Agent, type IncomingHttpHeaders, request } from 'node:http';

/** An answer that arrived completely. */
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

export interface ConnectionOptions {
  /** At most; 1 unless said otherwise. */
  readonly sockets?: number;
  /** Told of every answer, and how many milliseconds it took. */
  readonly onAnswer?: (answer: Answer | 'lost', durationMs: number) => void;
}

/** Longer than a server ever takes to say that its storage is away. */
const LONGEST_MS = 30_000;

/**
 * A kept-alive connection to one server, opened again where it was lost. What is sent while it is busy waits its turn.
 * With several sockets it stands for a client that opens more under load.
 */
export class Connection {
  /** Where it leads to: the same text for every connection to one address. */
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

  /** @returns `lost` where no complete answer came: whether the request was carried out is unknown */
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
