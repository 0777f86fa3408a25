// docs/secrets.md says for each use of the server's secret what a rotation does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { SecretUse } from '@grantd/core';
import type { ProgramSecretUse } from '../src/data/secrets.ts';

/** How the row of each use begins, or why it has none. */
const ROWS: Readonly<Record<SecretUse | ProgramSecretUse, string | { readonly without: string }>> = {
  client_secret: 'client secrets',
  client_secret_seal: 'secrets of clients with `client_secret_jwt`',
  signing_key: 'private signing keys',
  totp_secret: 'secrets of authenticator apps',
  recovery_code: 'recovery codes',
  personal_token: 'personal access tokens',
  console_token: 'what the console shows once',
  answered_form: 'answers of forms',
  api_request: 'answers of the admin API',
  mail: 'queued emails',
  email_code: 'codes by email',
  requested_code: 'codes by email',
  user_code: 'codes that devices show',
  audit_seal: 'end of the audit trail',
  pairwise_secret: 'secret of pairwise subjects',
  pairwise_subject: { without: 'derived from the pairwise secret, which never changes' },
  pairwise_session: { without: 'derived from the pairwise secret, which never changes' },
  refresh_successor: 'repeated refresh requests',
  initial_access_token: 'initial access tokens',
  form_token: 'forms on open pages',
  pending_request: 'forms on open pages, and authorization requests',
  notice: 'messages',
  dpop_nonce: 'DPoP nonces',
  second_step: 'pages that wait',
  passkey_challenge: 'pages that wait',
  upstream: 'pages that wait',
  known_browser: 'browsers that a user has signed in with before',
  ending_key: 'keys in exchanged tokens',
  follower_pass: 'passes of [followers]',
  sign_in_attempt: 'counts of failed sign-ins',
  registration_place: 'counts of clients',
  configuration: 'the digest of all options',
};

test('docs/secrets.md says for each use of the secret what a rotation does, and nothing about others', () => {
  const docs = readFileSync(new URL('../../docs/secrets.md', import.meta.url), 'utf8');
  const [, section = ''] = docs.split("## What depends on the server's secret");
  const [table = ''] = section.split('\n## ');
  const [, , ...rows] = table.split('\n').filter((line) => line.startsWith('| '));
  const starts = Object.values(ROWS).filter((row) => typeof row === 'string');
  const fits = (row: string, start: string) => row.startsWith(`| ${start}`);
  assert.deepEqual(
    starts.filter((start) => rows.filter((row) => fits(row, start)).length !== 1),
    [],
  );
  assert.deepEqual(
    rows.filter((row) => !starts.some((start) => fits(row, start))),
    [],
  );
});
