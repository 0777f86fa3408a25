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
   * @throws Error where Redis cannot be asked or does not answer in time; what was to be written may be or not
   */
  run(name: string, argument: object): Promise<unknown>;
  end(): void;
}

export interface RedisOptions {
  /** Milliseconds until a connection is there. Default: 2000. */
  readonly connectMs?: number;
  /** Milliseconds until an operation is answered. Default: 2000. */
  readonly answerMs?: number;
  /** Told of connections that broke; they are made anew. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Connects to a Redis server (7 or later) that can be believed: it runs with `appendonly yes`, `appendfsync always` and
 * `maxmemory-policy noeviction`, and no replica takes over from it, for it could lack a revocation that was answered.
 * @throws Error where it does not answer in time
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
      // While there is no connection, what is asked is rejected at once, and not kept for later.
      disableOfflineQueue: true,
      commandsQueueMaxLength: 10_000,
      // Bounds the wait until it is sent, and nothing after that.
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
          // This connection may be silent for ever: another one is made.
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

/** @throws {Unanswered} after so many milliseconds; what comes of the answer is of no interest then */
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
