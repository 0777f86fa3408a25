import { DEMO_PERSON } from '../../src/demo/demo_people.ts';

/** What the program's configuration has to say for all plans, besides its issuer and its database. */
export const SETTINGS = {
  registration: 'open',
  registrationAssertionAudience: 'endpoint',
  allowConfidentialClientsWithoutPkce: true,
} as const;

/** What stands in the configuration of a plan, and in the addresses of its clients. */
export const ALIAS = 'grantd';

/** Below the alias, as the suite has them. */
export const [CALLBACK, AFTER_LOGOUT, BACK_CHANNEL_LOGOUT] = [
  'callback',
  'post_logout_redirect',
  'backchannel_logout',
] as const;

/** Adds a client for the plans with static clients; its secret is read from standard input. */
export function clientCommand(id: string, suite: string): readonly string[] {
  const at = (path: string) => `${suite}/test/a/${ALIAS}/${path}`;
  return [
    ...['client', 'add', id, '--secret-stdin', '--scope=openid', '--scope=offline_access'],
    ...['profile', 'email', 'address', 'phone'].map((scope) => `--scope=${scope}`),
    `--redirect-uri=${at(CALLBACK)}`,
    `--post-logout-redirect-uri=${at(AFTER_LOGOUT)}`,
    `--backchannel-logout-uri=${at(BACK_CHANNEL_LOGOUT)}`,
    '--backchannel-logout-session-required',
  ];
}

/** Adds a person with every standard claim; without one of them the modules of scopes end with a warning. */
export function personCommand(name: string): readonly string[] {
  const claims = Object.entries(DEMO_PERSON.claims);
  return [
    ...['user', 'add', name, '--password-stdin'],
    ...claims.map(
      ([claim, value]) => `--claim=${claim}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
  ];
}
