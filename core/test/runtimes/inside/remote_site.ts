import { Lacking } from './node_test.ts';

/** For runtimes where nothing can listen on loopback from within a test. */
export async function openRemoteSite(): Promise<never> {
  throw new Lacking('a server on loopback cannot be opened here');
}
