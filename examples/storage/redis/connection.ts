import { readFileSync } from 'node:fs';
import { createClient, defineScript } from 'redis';

const operation = defineScript({
  SCRIPT: readFileSync(new URL('operations.lua', import.meta.url), 'utf8'),
  NUMBER_OF_KEYS: 0,
  parseCommand: (parser, name: string, argument: object) => parser.push(name, JSON.stringify(argument)),
  transformReply: (reply: unknown) => reply,
});

export interface Redis {
  /**
   * Runs an operation of `operations.lua`, all of it or nothing.
   * @throws Error if Redis is unavailable or does not answer in time; what was to be written may be or not
   */
  run(name: string, argument: object): Promise<unknown>;
  end(): void;
}

export interface RedisOptions {
  /** Milliseconds to wait for a connection. Default: 2000. */
  readonly connectMs?: number;
  /** Milliseconds to wait for the response of an operation. Default: 2000. */
  readonly answerMs?: number;
  /** Receives the errors of lost connections, which are opened again. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Connects to a Redis server (7 or later). It must run with `appendonly yes`, `appendfsync always` and
 * `maxmemory-policy noeviction`. No replica may take over from it, since it could lack an acknowledged revocation.
 * @throws Error if it does not respond in time
 */
export async function connectRedis(
  url: string,
  { connectMs = 2000, answerMs = 2000, onError = console.error }: RedisOptions = {},
): Promise<Redis> {
  const open = () => {
    const client = createClient({
      url,
      scripts: { operation },
      socket: { connectTimeout: connectMs },
      // Without a connection, operations fail at once instead of waiting.
      disableOfflineQueue: true,
      commandsQueueMaxLength: 10_000,
      // Limits the time until the operation is sent, not the response.
      commandOptions: { timeout: answerMs },
    });
    return client.on('error', onError);
  };

  let client = open();
  try {
    await within(connectMs, client.connect());
  } catch (error) {
    client.destroy();
    throw error;
  }
  return {
    async run(name, argument) {
      const asked = client;
      try {
        return await within(answerMs, asked.operation(name, argument));
      } catch (error) {
        if (error instanceof Unanswered && asked === client) {
          // This connection may never respond again, so open another one.
          client = open();
          client.connect().catch(onError);
          asked.destroy();
        }
        throw error;
      }
    },
    end: () => client.destroy(),
  };
}

class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

/** @throws {Unanswered} after so many milliseconds; a later response is ignored */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Unanswered(`Redis did not answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
