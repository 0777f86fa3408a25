// Calls of operations in this process. The command line calls them so on the server’s machine, and so does the console.
import { createHash } from 'node:crypto';
import { type AdminParts, MAX_LIMIT, type Page } from './operation.ts';
import { InvalidInput, OperationRefused, type Said } from './operation_refused.ts';
import {
  type AnyOperation,
  type AnyStream,
  type Document,
  type Input,
  OPERATIONS,
  type OperationId,
  STREAMS,
  type StreamId,
} from './table.ts';
import { examined, problemsOf, requireInput, type Values } from './validation.ts';

/** What an operation returned, with the version of what it shows. */
export interface Versioned<D> {
  readonly document: D;
  /** Empty if it has none. */
  readonly version: string;
}

/** The operations of a server: in this process, or through its admin API. */
export interface AdminCalls {
  /** Lines that one call can send. */
  readonly maxLines: number;
  /**
   * Performs an operation.
   * @param version the only version that a change is for. Default: every version
   * @throws {InvalidInput | OperationRefused} as the operation does
   * @throws {Refused} the caller may not, or the server does not answer
   */
  versioned<Id extends OperationId>(
    id: Id,
    input: Input<Id>,
    version?: string,
  ): Promise<Versioned<Document<Id>>>;
  /** Yields what the operation writes. @param lines what it reads */
  lines<Id extends StreamId>(
    id: Id,
    input: StreamInput<Id>,
    lines?: AsyncIterable<string> | Iterable<string>,
  ): AsyncGenerator<StreamLine<Id>>;
}

export type StreamInput<Id extends StreamId> = Parameters<(typeof STREAMS)[Id]['stream']>[1];
export type StreamLine<Id extends StreamId> = Parameters<Parameters<(typeof STREAMS)[Id]['stream']>[3]>[0];

/** Performs an operation, and returns its document. */
export async function call<Id extends OperationId>(
  calls: AdminCalls,
  id: Id,
  input: Input<Id>,
): Promise<Document<Id>> {
  return (await calls.versioned(id, input)).document;
}

/** The operations that return pages. */
type ListId = {
  [Id in OperationId]: Document<Id> extends Page<unknown>
    ? 'cursor' extends keyof Input<Id>
      ? Id
      : never
    : never;
}[OperationId];

type ItemOf<D> = D extends Page<infer Item> ? Item : never;

/** All items of a list with pages. */
export async function all<Id extends ListId>(
  calls: AdminCalls,
  id: Id,
  input: Input<Id>,
  most = Number.POSITIVE_INFINITY,
): Promise<readonly ItemOf<Document<Id>>[]> {
  const items: ItemOf<Document<Id>>[] = [];
  let cursor = 'cursor' in input ? input.cursor : undefined;
  for (;;) {
    const limit = Math.min(MAX_LIMIT, most - items.length);
    const paging = { limit, ...(cursor !== undefined && { cursor }) };
    const page: Page<unknown> = await call(calls, id, { ...input, ...paging });
    items.push(...(page.items as readonly ItemOf<Document<Id>>[]));
    cursor = page.next_cursor;
    if (cursor === undefined || items.length >= most) return items;
  }
}

/** The ETag of a version. */
export function etagOf(version: object): string {
  return `"${createHash('sha256').update(JSON.stringify(version)).digest('base64url').slice(0, 27)}"`;
}

/** Checks that a caller has seen this version. @param wanted ETags; `*` for every version */
export function versionCheck(wanted: string | undefined): AdminParts['requireVersion'] {
  return (version, [said, advice]: readonly [Said, string?] = [['read_again']]) => {
    if (wanted === undefined || wanted === '*' || wanted.split(/\s*,\s*/).includes(etagOf(version))) return;
    throw new OperationRefused('outdated', said, advice);
  };
}

/**
 * Checks a change as far as that is possible before it.
 * @throws {InvalidInput | OperationRefused} as the change would now
 */
export async function requirePossible<Id extends OperationId>(
  parts: Omit<AdminParts, 'requireVersion'>,
  id: Id,
  input: Input<Id>,
): Promise<void> {
  const operation: AnyOperation = OPERATIONS[id];
  const whole = { ...parts, requireVersion: versionCheck('*') };
  await requireInput(operation, whole, input);
  // The types of `id` and `input` agree.
  await operation.prepare?.(whole, input as never);
}

/**
 * Checks an input of which something is known to be wrong.
 * @throws {InvalidInput} with everything else that is wrong by itself
 */
export async function requireInputOf(
  parts: Omit<AdminParts, 'requireVersion'>,
  id: OperationId,
  input: Values,
): Promise<void> {
  const operation: AnyOperation = OPERATIONS[id];
  const whole = { ...parts, requireVersion: versionCheck('*') };
  const found = await examined(operation, whole, input, problemsOf(operation, input));
  if (found.length > 0) throw InvalidInput.together(found);
}

/** The operations on a database that is open in this process. */
export function inProcess(parts: Omit<AdminParts, 'requireVersion'>): AdminCalls {
  return {
    maxLines: Number.POSITIVE_INFINITY,
    async versioned(id, input, version = '*') {
      const operation: AnyOperation = OPERATIONS[id];
      const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
      const whole = { ...parts, requireVersion: versionCheck(version) };
      await requireInput(operation, whole, given);
      // The types of `id` and `input` agree.
      const outcome = await operation.perform(whole, given as never);
      return {
        document: outcome.document as Document<typeof id>,
        version: outcome.version === undefined ? '' : etagOf(outcome.version),
      };
    },
    async *lines(id, input, lines = []) {
      const operation: AnyStream = STREAMS[id];
      const { readable, writable } = new TransformStream<unknown, unknown>();
      const writer = writable.getWriter();
      const work = operation
        .stream({ ...parts, requireVersion: versionCheck('*') }, input as never, lines, (line) =>
          writer.write(line),
        )
        .then(
          () => writer.close(),
          (error: unknown) => writer.abort(error),
        );
      for await (const line of readable) yield line as StreamLine<typeof id>;
      await work;
    },
  };
}
