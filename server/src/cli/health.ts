import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { seconds } from '@grantd/core/options';
import { Command } from 'commander';
import { addFlags, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { flagOf, type Settings } from '../config/options.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { printOne } from './command.ts';
import { BadUsage } from './exit.ts';

const TIMEOUT_MS = 5_000;
const ASK_EVERY_MS = 200;

export function healthCommand(): Command {
  return addFlags(
    new Command('health').description('check that the server on this machine is ready to answer requests'),
    ['port', 'host', 'tlsCertificate'],
  )
    .option(
      '--wait <SECONDS>',
      'how long to wait until the server is ready. Default: one check without waiting',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Use it as the health check of a container, or in a service manager. It requests /health/ready at the address and port
of the server. The exit code is 0 if the server is ready, and 1 if it is not.

Example:
  grantd health --wait 60 && echo started`,
    )
    .action(check);
}

async function check(flags: GivenFlags): Promise<void> {
  const { settings, sourceOf } = readConfiguration(flags, process.env);
  if (settings.port === 0)
    throw new ConfigurationRefused(`${sourceOf('port')}: expected the port of the server, got 0`);
  const endsAtMs = performance.now() + secondsToWait(flags.wait) * 1000;
  const url = addressOf(settings);
  for (;;) {
    const fault = await faultOf(url);
    if (fault === undefined) break;
    if (performance.now() + ASK_EVERY_MS > endsAtMs) throw new Refused(`${url}: ${fault}`);
    await pause(ASK_EVERY_MS);
  }
  printOne({ isJson: flags.json === true }, { status: 'ok' }, ['the server is ready']);
}

function secondsToWait(wait: unknown): number {
  if (wait === undefined) return 0;
  const kind = seconds(1, 3600);
  const read = kind.fromText(String(wait));
  if (read === undefined) throw new BadUsage(`${flagOf('wait')}: expected ${kind.expected}`);
  return read;
}

/** A server that listens on every address also listens on loopback. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function addressOf({ host, port, tlsCertificate }: Settings): string {
  const address = LOOPBACK[host] ?? host;
  const scheme = tlsCertificate === undefined ? 'http' : 'https';
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}/health/ready`;
}

/** @returns why the server is not ready, in words; `undefined` if it is */
function faultOf(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    // The certificate names the issuer’s host. A health check sends and believes nothing that needs it.
    const options = { timeout: TIMEOUT_MS, agent: false, rejectUnauthorized: false };
    const sent = url.startsWith('https:') ? requestHttps(url, options) : requestHttp(url, options);
    sent
      .once('response', (response) => {
        response.resume();
        const { statusCode = 0 } = response;
        resolve(
          statusCode === 200 ? undefined : `expected 200, got ${statusCode}. The server’s log says why`,
        );
      })
      .once('timeout', () => sent.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} seconds`)))
      .once('error', ({ message }) => resolve(message))
      .end();
  });
}
