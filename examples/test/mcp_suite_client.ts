// What the conformance suite starts as a client: that of examples/mcp_server, with a user whose browser follows each URL.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const CLIENT = join(import.meta.dirname, '..', 'mcp_server', 'client.ts');
/** The document that the suite accepts as an identifier. */
const DOCUMENT = 'https://conformance-test.local/client-metadata.json';

const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const { client_id: id, client_secret: secret } = JSON.parse(context);
const WAYS: Readonly<Record<string, readonly string[]>> = {
  'auth/basic-cimd': ['--document', DOCUMENT],
  'auth/pre-registration': ['--client-id', id, '--client-secret', secret],
};
const args = [CLIENT, ...process.argv.slice(2), '--tool', 'test-tool', ...(WAYS[scenario ?? ''] ?? [])];
const client = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
createInterface(client.stdout).on('line', (line) => {
  console.log(line);
  const [, url] = /in a browser: (\S+)$/.exec(line) ?? [];
  // A client that refuses the response may have ended before the browser is back.
  if (url !== undefined) fetch(url).catch(() => {});
});
const [code] = await once(client, 'exit');
process.exitCode = code ?? 1;
