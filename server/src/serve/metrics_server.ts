// The listener for metrics, on a port of its own. Loaded only if the option metricsPort is set.
import { createServer, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { pathOf } from '@grantd/core';
import { isLoopback, LOOPBACK } from '../config/networks.ts';
import type { Settings } from '../config/options.ts';
import type { Log } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';
import type { Snapshot } from '../monitoring/meter.ts';
import { prometheusText, TEXT_FORMAT } from '../monitoring/prometheus.ts';
import { listenOn } from './http_server.ts';

const PATH = '/metrics';

/** A few scrapers at once. Further connections are closed. */
const MAX_CONNECTIONS = 32;

export interface MetricsServer {
  readonly url: string;
  close(): void;
}

/**
 * Serves metrics as Prometheus text, and nothing else.
 * @param collect returns the values of all processes
 * @throws {Refused} the address is in use or not available on this machine
 */
export async function serveMetrics(
  { metricsHost: host = LOOPBACK, metricsPort = 0 }: Settings,
  collect: () => Promise<Snapshot>,
  log: Log,
): Promise<MetricsServer> {
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 },
    (request, response) => {
      if (!isOwnName(request.headers.host, host))
        return refuse(response, 421, 'use an IP address or the name in --metrics-host as the host\n');
      if (pathOf({ url: request.url ?? '' }) !== PATH)
        return refuse(response, 404, `metrics are at ${PATH}\n`);
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('allow', 'GET, HEAD');
        return refuse(response, 405, 'use GET\n');
      }
      collect()
        .then((snapshot) => answer(response, 200, TEXT_FORMAT, prometheusText(snapshot)))
        .catch((error: unknown) => {
          log.error({ event: 'metrics_failed', cause: causeOf(error) });
          refuse(response, 500, 'the metrics could not be collected: see the log\n');
        });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  const port = await listenOn(server, host, metricsPort, 'metricsPort', 'metricsHost');
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shown}:${port}${PATH}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Endings of names that no website has. */
const PRIVATE_NAME = /^[^.]+$|\.(?:local|localhost|internal|svc|lan|home\.arpa|test)$/;

/**
 * Whether a request names the server in a way that no website can. The page of a website can send its visitor’s browser
 * to any address under a name of the website (DNS rebinding), and would read the response.
 * @param own the address or name to listen on
 */
function isOwnName(host = '', own: string): boolean {
  const { hostname } = URL.parse(`http://${host}`) ?? { hostname: '' };
  const name = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (name === '') return false;
  return name === own.toLowerCase() || isIP(name) !== 0 || isLoopback(name) || PRIVATE_NAME.test(name);
}

function refuse(response: ServerResponse, status: number, text: string): void {
  answer(response, status, 'text/plain; charset=utf-8', text);
}

function answer(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
}
