/** One request with its response, reconstructed from a server's system calls. */
interface Exchange {
  /** Method and path. */
  readonly request: string;
  readonly status: number;
  /** Writes to the database's log between request and response. */
  readonly logWrites: number;
  /** Whether a flush of the log completed between the last of these writes and the response. */
  readonly isFlushed: boolean;
}

// strace pads short process numbers.
const UNFINISHED = /^(\d+) +(.*) <unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +<\.\.\. \w+ resumed>(.*)$/;

const REQUEST = /^\w+\(\d+<socket:.*?"(GET|POST) (\S+) HTTP\/1\.1/;
const RESPONSE = /^(?:write|writev|sendto|sendmsg)\(\d+<socket:.*?"HTTP\/1\.1 (\d+) /;
const LOG_WRITE = /^pwrite(?:64|v2?)?\(\d+<[^>]*-wal>/;
const FLUSH = /^(?:fsync|fdatasync)\(\d+<[^>]*-wal>\)\s+= 0$/;

/**
 * Parses the output of `strace -f -y` for a server with sequential requests. An interrupted call counts as a response
 * at its beginning, and as a flush at its end.
 */
export function exchangesIn(trace: string): readonly Exchange[] {
  const exchanges: Exchange[] = [];
  let open: { request: string; logWrites: number; isFlushed: boolean } | undefined;
  for (const { call, isBegin, isEnd } of callsIn(trace)) {
    const [, method, path] = (isEnd && REQUEST.exec(call)) || [];
    if (method !== undefined) open = { request: `${method} ${path}`, logWrites: 0, isFlushed: false };
    if (open === undefined) continue;
    if (isBegin && LOG_WRITE.test(call)) {
      open.logWrites += 1;
      open.isFlushed = false;
    }
    if (isEnd && FLUSH.test(call)) open.isFlushed = true;
    const [, status] = (isBegin && RESPONSE.exec(call)) || [];
    if (status === undefined) continue;
    exchanges.push({ ...open, status: Number(status) });
    open = undefined;
  }
  return exchanges;
}

interface Call {
  readonly call: string;
  readonly isBegin: boolean;
  readonly isEnd: boolean;
}

/** The beginning and end of each call; usually both are on one line. */
function callsIn(trace: string): readonly Call[] {
  const unfinished = new Map<string, string>();
  return trace.split('\n').flatMap((line): readonly Call[] => {
    const [, beginner, begin] = UNFINISHED.exec(line) ?? [];
    if (beginner !== undefined && begin !== undefined) {
      unfinished.set(beginner, begin);
      return [{ call: begin, isBegin: true, isEnd: false }];
    }
    const [, resumer, rest] = RESUMED.exec(line) ?? [];
    if (resumer !== undefined) {
      return [{ call: `${unfinished.get(resumer) ?? ''}${rest}`, isBegin: false, isEnd: true }];
    }
    return [{ call: line.replace(/^\d+ +/, ''), isBegin: true, isEnd: true }];
  });
}
