import { once } from 'node:events';
import { rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { ConfigurationError } from '@grantd/core';
import { Command } from 'commander';
import { isLoopback } from '../config/networks.ts';
import { OPTIONS } from '../config/options.ts';
import { readPrivateText } from '../config/private_file.ts';
import { Refused } from '../config/refused.ts';
import { BadUsage } from './exit.ts';

interface FollowFlags {
  readonly issuer: string;
  readonly clientId: string;
  readonly audience: readonly string[];
  readonly clientSecretFile?: string;
  readonly listen: string;
  readonly headers: string;
  readonly checkIssued?: boolean;
  readonly insecureDevelopment?: boolean;
}

const SECRET = 'GRANTD_CLIENT_SECRET';

export function followCommand(): Command {
  return new Command('follow')
    .description('check tokens for a gateway on this machine, and follow what ends at the server')
    .requiredOption('--issuer <URL>', 'issuer of the tokens')
    .requiredOption(
      '--client-id <ID>',
      'client of the server that may follow for the audiences: client add --resource, or --follow-all for several',
    )
    .requiredOption('--audience <URI...>', 'audiences (aud) of the tokens to accept')
    .option('--client-secret-file <FILE>', `file with the secret of the client. Default: ${SECRET}`)
    .option('--listen <ADDRESS>', 'port on loopback, such as 127.0.0.1:4180, or unix:PATH', '127.0.0.1:4180')
    .option(
      '--headers <CLAIMS>',
      'claims that the gateway gets as X-Auth-… headers',
      OPTIONS.tokenCheckHeaders.byDefault.join(','),
    )
    .option('--check-issued', 'introspect each token once, because a signing key can be stolen')
    .option('--insecure-development', 'allow an issuer with http beyond loopback')
    .addHelpText(
      'after',
      `
The gateway asks GET /token/check?scope=SCOPE&audience=URI, with the Authorization header of its own client. The answer is
204, 401, 403, or 503 if the server cannot be asked. GET /health/ready is 200 while the feed of endings is in contact.

Example:
  grantd follow --issuer https://login.example --client-id my-gateway --audience https://api.example`,
    )
    .action(follow);
}

async function follow(flags: FollowFlags): Promise<void> {
  const { FollowingCheck } = await import('../gateways/following_check.ts');
  const checkOf = (options: ConstructorParameters<typeof FollowingCheck>[0]) => {
    try {
      return new FollowingCheck(options);
    } catch (error) {
      throw error instanceof ConfigurationError ? new BadUsage(error.message) : error;
    }
  };
  const { issuer, clientId, audience, clientSecretFile, headers } = flags;
  const clientSecret =
    clientSecretFile === undefined
      ? process.env[SECRET]
      : readPrivateText(clientSecretFile, '--client-secret-file').trim();
  if (!clientSecret)
    throw new BadUsage(`expected the secret of the client in ${SECRET} or --client-secret-file`);
  const place = placeOf(flags.listen);
  const check = checkOf({
    ...{ issuer, audience, credentials: { clientId, clientSecret }, headers: claimsIn(headers) },
    checkIssued: flags.checkIssued === true,
    allowInsecureRequests: flags.insecureDevelopment === true,
    onContact: ({ isInContact, fault }) => {
      const why = fault instanceof Error ? `: ${fault.message}` : '';
      console.error(
        isInContact ? 'in contact with the server' : `no contact, each token is introspected${why}`,
      );
    },
  });
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  if ('path' in place) await removeLeftSocket(place.path);
  check.http.listen(place);
  await once(check.http, 'listening').catch((error: Error) => {
    throw new Refused(`cannot listen on ${flags.listen}: ${error.message}`);
  });
  console.error(`grantd checks tokens of ${issuer} (listening on ${flags.listen})`);
  check.follower.ready().catch(() => undefined);
  await stopped;
  await check.close();
}

/** Others could ask about any token, so only this machine may. @throws {BadUsage} */
function placeOf(
  listen: string,
): { readonly path: string } | { readonly host: string; readonly port: number } {
  if (listen.startsWith('unix:') && listen.length > 'unix:'.length)
    return { path: listen.slice('unix:'.length) };
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(listen) ?? [];
  const host = bracketed ?? plain ?? '';
  const port = Number(digits);
  if (isLoopback(host) && port <= 65_535) return { host, port };
  throw new BadUsage(
    '--listen: expected an address of this machine alone, such as 127.0.0.1:4180, or unix:PATH',
  );
}

/** @throws {BadUsage} */
function claimsIn(headers: string): readonly string[] {
  const { kind } = OPTIONS.tokenCheckHeaders;
  const claims = kind.fromText(headers);
  if (claims === undefined) throw new BadUsage(`--headers: expected ${kind.expected}`);
  return claims;
}

/** A process that was killed leaves its socket. @throws {Refused} another one listens there */
async function removeLeftSocket(path: string): Promise<void> {
  if (!statSync(path, { throwIfNoEntry: false })?.isSocket()) return;
  const probe = connect(path);
  const isInUse = await once(probe, 'connect').then(
    () => true,
    () => false,
  );
  probe.destroy();
  if (isInUse)
    throw new Refused(`--listen: another process listens at ${path}: stop it, or choose another path.`);
  rmSync(path);
}
