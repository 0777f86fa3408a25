import { DEMO_PERSON } from '../../demo/demo.ts';
import type { FapiVariant } from './fapi/plans.ts';

/** The program's configuration for all plans, besides issuer and database. */
export const SETTINGS = {
  registration: 'open',
  registrationAssertionAudience: 'endpoint',
  registrationInsecureAllowMissingPkce: true,
} as const;

/** The alias in a plan's configuration and in the URLs of its clients. */
export const ALIAS = 'grantd';

/** Paths below the alias, as in the suite. */
export const [CALLBACK, AFTER_LOGOUT, BACK_CHANNEL_LOGOUT] = [
  'callback',
  'post_logout_redirect',
  'backchannel_logout',
] as const;

/**
 * Adds a client for the plans with static clients. Its secret is read from standard input. It has no back-channel
 * logout URI: the suite accepts such requests in the Back-Channel plan only, and its RP-Initiated modules fail with
 * one.
 */
export function clientCommand(id: string, suite: string): readonly string[] {
  const at = (path: string) => `${suite}/test/a/${ALIAS}/${path}`;
  return [
    ...['client', 'add', id, '--secret-stdin', '--scope=openid', '--scope=offline_access'],
    ...['profile', 'email', 'address', 'phone'].map((scope) => `--scope=${scope}`),
    '--insecure-allow-missing-pkce',
    `--redirect-uri=${at(CALLBACK)}`,
    `--post-logout-redirect-uri=${at(AFTER_LOGOUT)}`,
  ];
}

/** Adds a client for the FAPI 2.0 plans. The second of a plan has a redirect URI with a query. */
export function bankCommand(
  id: string,
  suite: string,
  { authentication, binding }: Pick<FapiVariant, 'authentication' | 'binding'>,
  number: 1 | 2,
): readonly string[] {
  const query = number === 1 ? '' : '?dummy1=lorem&dummy2=ipsum';
  return [
    ...['client', 'add', id, '--profile=fapi2-security', '--scope=openid'],
    ...['profile', 'email', 'address', 'phone'].map((scope) => `--scope=${scope}`),
    `--redirect-uri=${suite}/test/a/${ALIAS}/${CALLBACK}${query}`,
    `--jwks-file=${id}.json`,
    ...(authentication === 'mtls'
      ? ['--auth-method=tls_client_auth', `--tls-client-auth-san-dns=${id}.example`]
      : ['--auth-method=private_key_jwt']),
    ...(binding === 'mtls' ? ['--tls-client-certificate-bound-access-tokens'] : []),
  ];
}

/** Adds the URI that the Back-Channel plan needs. */
export function backChannelCommand(id: string, suite: string): readonly string[] {
  return [
    ...['client', 'update', id],
    `--backchannel-logout-uri=${suite}/test/a/${ALIAS}/${BACK_CHANNEL_LOGOUT}`,
    '--backchannel-logout-session-required',
  ];
}

/**
 * The suite's commands for its browser at the pages of a plan. When a user signs in again, the username is read-only:
 * then the selector does not match, and "optional" lets the suite continue.
 */
/** Waits for the page of the suite. Pages of the server have its address in their own, so its origin is part of the pattern. */
export function atSuite(suite: string) {
  return {
    task: 'Back at the suite',
    match: `${suite}/test/a/${ALIAS}/callback*`,
    commands: [['wait', 'id', 'submission_complete', 10]],
  } as const;
}

export function browserTasks(issuer: string, suite: string, { username, password }: Person) {
  return [
    {
      match: `${issuer}/authorize*`,
      tasks: [
        {
          task: 'Sign in',
          optional: true,
          match: `${issuer}/login*`,
          commands: [
            ['text', 'css', '#username:not([readonly])', username, 'optional'],
            ['text', 'id', 'password', password],
            ['click', 'id', 'login-submit'],
          ],
        },
        {
          task: 'Consent',
          optional: true,
          match: `${issuer}/consent*`,
          commands: [['click', 'id', 'consent-allow']],
        },
        {
          task: 'Go on to a client that registered itself',
          optional: true,
          match: `${issuer}/authorize*`,
          commands: [['click', 'id', 'leave', 'optional']],
        },
        atSuite(suite),
      ],
    },
    {
      match: `${issuer}/logout*`,
      tasks: [
        {
          task: 'Sign out',
          optional: true,
          match: `${issuer}/logout*`,
          commands: [['click', 'id', 'logout-yes', 'optional']],
        },
        {
          task: 'Go on to a client that registered itself',
          optional: true,
          match: `${issuer}/logout*`,
          commands: [['click', 'id', 'leave', 'optional']],
        },
      ],
    },
  ] as const;
}

interface Person {
  readonly username: string;
  readonly password: string;
}

/** Adds a user with every standard claim. If one is missing, the scope modules end with a warning. */
export function personCommand(name: string): readonly string[] {
  const claims = Object.entries(DEMO_PERSON.claims);
  return [
    ...['user', 'add', name, '--password-stdin'],
    ...claims.map(
      ([claim, value]) => `--claim=${claim}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
  ];
}
