// Files that administrators send with a form. The body of such a form is larger than that of others, so only a signed-in
// administrator may send it. Its fields become the body that pages read.
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { decoded } from '../admin/user_files.ts';
import type { PageContext, PageEnvironment } from '../pages/browser/request.ts';

/** Bytes. `grantd user import` and `grantd apply` read larger files. */
export const MAX_FILE = 4 * 1024 * 1024;

/** Bytes of a configuration. Nothing else happens while the server reads it. */
export const MAX_STATE_FILE = 512 * 1024;

/** Milliseconds for which a file is kept until its plan is confirmed, sealed in the database. */
export const KEPT_FILE_MS = 30 * 60 * 1000;

/** Of the fields and of the headers of the parts. Bytes. */
const MAX_FIELDS = 32 * 1024;

/** Longer bodies are not read to their end, so the browser may show that the connection broke. Bytes. */
const MAX_DRAINED = 64 * 1024 * 1024;

const BOUNDARY = /^multipart\/form-data;\s*boundary=(?:"([^"\r\n]{1,70})"|([\w'()+,./:=?-]{1,70}))$/i;

type UploadedFile = NonNullable<PageEnvironment['Variables']['file']>;

/**
 * Reads a form with a file. Comes before everything that reads the body.
 * @param isAllowed whether the sender is an administrator
 */
export function receiveFile(
  isAllowed: (c: PageContext) => Promise<boolean>,
): MiddlewareHandler<PageEnvironment> {
  return async (c, next) => {
    const { incoming } = c.env;
    const [, quoted, bare] = BOUNDARY.exec(incoming.headers['content-type'] ?? '') ?? [];
    const boundary = quoted ?? bare;
    const length = Number(incoming.headers['content-length']);
    const isRead =
      c.req.method === 'POST' &&
      boundary !== undefined &&
      length <= MAX_DRAINED &&
      incoming.secondsToWait === undefined &&
      (await isAllowed(c));
    if (!isRead) return next();
    const form = await formIn(incoming, boundary);
    const file = form.has(CUT) ? ({ problem: 'too_large' } as const) : await fileIn(form);
    c.set('file', file);
    // Tells this form from one that was sent with another file just before (`answerOnce`).
    form.set('file_digest', createHash('sha256').update(JSON.stringify(file)).digest('base64url'));
    const fields = [...form].filter((field): field is [string, string] => typeof field[1] === 'string');
    Object.assign(incoming, { body: new URLSearchParams(fields).toString() });
    return next();
  };
}

/** A field that tells that the file was left out. */
const CUT = 'file_cut';

/** The parts of a form. Reads a file that is too large to its end, and keeps nothing of it. */
async function formIn(incoming: IncomingMessage, boundary: string): Promise<FormData> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming) {
    size += part.length;
    if (size <= MAX_FILE + MAX_FIELDS) parts.push(part);
  }
  const body = Buffer.concat(parts);
  const isWhole = size <= MAX_FILE + MAX_FIELDS;
  // The file is the last part, so the fields end where it begins.
  const content = isWhole
    ? body
    : Buffer.concat([
        body.subarray(0, Math.max(0, body.lastIndexOf(`--${boundary}`))),
        Buffer.from(`--${boundary}--\r\n`),
      ]);
  const type = `multipart/form-data; boundary=${boundary}`;
  try {
    const form = await new Response(content, { headers: { 'content-type': type } }).formData();
    if (!isWhole) form.set(CUT, 'yes');
    return form;
  } catch (error) {
    // Node’s parser reports a body that is not in the format so.
    if (error instanceof TypeError) return new FormData();
    throw error;
  }
}

async function fileIn(form: FormData): Promise<UploadedFile> {
  const file = form.get('file');
  if (file instanceof File && file.size > MAX_FILE) return { problem: 'too_large' };
  if (!(file instanceof File) || file.size === 0) return { problem: 'no_file' };
  let text = '';
  for await (const part of decoded([Buffer.from(await file.arrayBuffer())])) text += part;
  return { text, name: file.name };
}
