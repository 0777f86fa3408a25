/** The headers of every page, which keep it out of frames. */
export const FRAMED_NOWHERE = { 'x-frame-options': 'DENY', 'frame-ancestors': "'none'" } as const;

/** What the headers of a response say about frames. */
export function framingHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  const policy = headers['content-security-policy'] ?? '';
  return {
    'x-frame-options': headers['x-frame-options'],
    'frame-ancestors': /(?:^|; )frame-ancestors ([^;]*)(?:;|$)/.exec(policy)?.[1],
  };
}
