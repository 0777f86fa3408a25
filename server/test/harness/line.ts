import { Agent, request } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly requestId: string;
  readonly body: string;
}

export interface Sent {
  /** Sent as a form, by POST. */
  readonly form?: Readonly<Record<string, string>>;
  readonly authorization?: string;
}

/** One kept-alive connection. One process answers all its requests. */
export class Line {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  send(path: string, sent: Sent = {}): Promise<Answer> {
    return send(`${this.#url}${path}`, this.#agent, sent);
  }

  async json(path: string, sent: Sent = {}): Promise<Record<string, unknown>> {
    return JSON.parse((await this.send(path, sent)).body);
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Uses a new connection. */
export function sendAlone(url: string, sent: Sent = {}): Promise<Answer> {
  return send(url, undefined, sent);
}

/** Fails if the response does not come in time. */
function send(url: string, agent: Agent | undefined, { form, authorization }: Sent): Promise<Answer> {
  const body = form === undefined ? '' : String(new URLSearchParams(form));
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      agent: agent ?? false,
      method: form === undefined ? 'GET' : 'POST',
      headers: {
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(authorization !== undefined && { authorization }),
      },
      signal: AbortSignal.timeout(20_000),
    });
    outgoing.once('error', reject).once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('error', reject).once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          requestId: String(response.headers['x-request-id']),
          body: text,
        }),
      );
    });
    outgoing.end(body);
  });
}
