import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readConfiguration } from '../src/config/configuration.ts';
import { type Provider, readProviders } from '../src/config/providers.ts';
import { ConfigurationRefused } from '../src/config/refused.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-providers-'));
after(() => rmSync(folder, { recursive: true }));

const path = join(folder, 'providers.json');
const ENVIRONMENT = { PROVIDER_SECRET: 'from the variable' };

function read(content: unknown): readonly Provider[] {
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return readProviders(readConfiguration({ providers: path }, {}), ENVIRONMENT);
}

const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' });

const SECRET = { client_id: 'grantd', client_secret: { env: 'PROVIDER_SECRET' } };
const GENERIC = { ...SECRET, name: 'Staff', issuer: 'https://sso.example' };
const APPLE = {
  ...{ kind: 'apple', client_id: 'login', team_id: 'TEAM123456', private_key_id: 'ABCDE12345' },
  private_key: { env: 'PROVIDER_SECRET' },
};
const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47';

describe('the file of the option providers', () => {
  test('without the option there are no providers', () => {
    assert.deepEqual(readProviders(readConfiguration({}, {}), {}), []);
  });

  test('ready-made settings need only a client', () => {
    const providers = read({
      google: { ...SECRET, kind: 'google' },
      entra: { ...SECRET, kind: 'microsoft', tenant: TENANT },
      github: { ...SECRET, kind: 'github' },
    });
    assert.deepEqual(
      providers.map(({ id, protocol, names, issuer, scopes }) => ({ id, protocol, names, issuer, scopes })),
      [
        {
          ...{ id: 'google', protocol: 'openid', names: { name: 'Google' } },
          ...{ issuer: 'https://accounts.google.com', scopes: ['openid', 'profile', 'email'] },
        },
        {
          ...{ id: 'entra', protocol: 'openid', names: { name: 'Microsoft' } },
          issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
          scopes: ['openid', 'profile', 'email'],
        },
        {
          ...{ id: 'github', protocol: 'github', names: { name: 'GitHub' } },
          ...{ issuer: 'https://github.com', scopes: ['read:user', 'user:email'] },
        },
      ],
    );
    assert.equal(
      providers[1]?.claims.email_verified,
      'xms_edov',
      'an address of a tenant is not verified by itself',
    );
    for (const { trustedDomains, createUsers, passAmr, signsOut } of providers)
      assert.deepEqual([trustedDomains, createUsers, passAmr, signsOut], [[], false, false, true]);
  });

  test('a logo is an SVG or PNG file without active content, for a provider without a built-in mark', () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>';
    const write = (name: string, content: string | Uint8Array) => writeFileSync(join(folder, name), content);
    write('mark.svg', svg);
    write('mark.png', Buffer.from('89504e470d0a1a0a00', 'hex'));
    const logos = read({
      one: { ...GENERIC, logo: 'mark.svg' },
      two: { ...GENERIC, logo: 'mark.png' },
      three: GENERIC,
    });
    assert.deepEqual(
      logos.map(({ logo }) => logo?.type),
      ['image/svg+xml', 'image/png', undefined],
    );
    write('mark.gif', 'GIF89a');
    write('text.png', svg);
    write('large.svg', `${svg}<!--${'x'.repeat(300_000)}-->`);
    const refused = (logo: string, kind = {}) =>
      assert.throws(() => read({ one: { ...GENERIC, ...kind, logo } }), ConfigurationRefused, logo);
    for (const name of ['absent.svg', 'mark.gif', 'text.png', 'large.svg']) refused(name);
    refused('mark.svg', { kind: 'github' });
    for (const active of [
      '<script>alert(1)</script>',
      '<svg:script href="x"/>',
      '<path onload="alert(1)"/>',
      '<foreignObject/>',
      '<a href="javascript:alert(1)"/>',
    ]) {
      write('active.svg', svg.replace('</svg>', `${active}</svg>`));
      refused('active.svg');
    }
  });

  test('every member has an effect, and secrets come from files and variables', () => {
    writeFileSync(join(folder, 'staff.secret'), 'from the file\n', { mode: 0o600 });
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(join(folder, 'key.pem'), pemOf(privateKey), { mode: 0o600 });
    const [staff, keyed] = read({
      staff: {
        ...{ ...GENERIC, 'name#de': 'Personal', client_secret: { file: 'staff.secret' } },
        ...{ scopes: ['openid'], claims: { department: 'ou' }, trusted_domains: ['example.com'] },
        ...{ create_users: ['example.com'], domains: ['example.com'], pass_amr: true, sign_out: false },
        parameters: { hd: 'example.com' },
      },
      keyed: {
        ...{
          client_id: 'grantd',
          name: 'Keyed',
          issuer: 'http://127.0.0.1:8080/realm',
          trusted_domains: ['*'],
        },
        ...{ private_key: { file: 'key.pem' }, private_key_id: 'one' },
      },
    });
    const { claims, ...others } = staff ?? assert.fail();
    assert.deepEqual(others, {
      ...{
        id: 'staff',
        kind: 'generic',
        protocol: 'openid',
        names: { name: 'Staff', 'name#de': 'Personal' },
      },
      ...{ issuer: 'https://sso.example', clientId: 'grantd', credential: { secret: 'from the file' } },
      ...{ scopes: ['openid'], trustedDomains: ['example.com'], createUsers: ['example.com'] },
      ...{ domains: ['example.com'], passAmr: true, signsOut: false, parameters: { hd: 'example.com' } },
    });
    assert.deepEqual([claims.department, claims.email], ['ou', 'email']);
    const { credential } = keyed ?? assert.fail();
    assert.ok('privateKey' in credential);
    assert.deepEqual([credential.keyId, pemOf(credential.privateKey)], ['one', pemOf(privateKey)]);
  });

  const WRONG: readonly (readonly [content: unknown, message: RegExp])[] = [
    ['{"google": }', /^--providers: \S+providers\.json:1:12: expected valid JSON$/],
    [[], /expected a JSON object with a member for each provider/],
    [{ 'Google!': {} }, /Google!: expected a name of at most 32 lower-case letters/],
    [{ a: 1 }, /: a: expected an object/],
    [
      { a: { ...GENERIC, trusted_domain: [] } },
      /a\.trusted_domain: no such member\. Did you mean trusted_domains\?/,
    ],
    [{ a: { ...GENERIC, kind: 'gogle' } }, /a\.kind: expected one of generic, google, microsoft, github/],
    [
      { a: { ...SECRET, issuer: 'https://sso.example' } },
      /a\.name: required, because users see it on the button/,
    ],
    [{ a: { ...GENERIC, name: 'x\ny' } }, /a\.name: expected one line of at most 40 characters/],
    [{ a: { ...GENERIC, 'name#d': 'x' } }, /a\.name#d: expected a language tag/],
    [{ a: { ...SECRET, name: 'A' } }, /a\.issuer: required: an https URL/],
    [{ a: { ...GENERIC, issuer: 'http://sso.example' } }, /a\.issuer: expected an https URL/],
    [{ a: { ...SECRET, kind: 'microsoft' } }, /a\.tenant: required/],
    [{ a: { ...SECRET, kind: 'microsoft', tenant: 'common' } }, /a\.tenant: expected the tenant’s ID/],
    [{ a: { ...GENERIC, tenant: TENANT } }, /a\.tenant: expected only with "kind": "microsoft"/],
    [{ a: { ...GENERIC, client_id: undefined } }, /a\.client_id: required/],
    [
      { a: { ...GENERIC, client_secret: 'in the file' } },
      /a\.client_secret: expected \{"env": "VARIABLE"\} or \{"file": "PATH"\}/,
    ],
    [{ a: { ...GENERIC, client_secret: undefined } }, /a\.client_secret: expected .* or private_key instead/],
    [
      { a: { ...GENERIC, private_key: { file: 'key.pem' } } },
      /a\.client_secret: expected .* or private_key instead/,
    ],
    [
      { a: { ...GENERIC, client_secret: { env: 'UNSET' } } },
      /a\.client_secret: the variable UNSET is missing/,
    ],
    [
      { a: { ...GENERIC, client_secret: { file: 'none' } } },
      /a\.client_secret: \S+none: expected a readable file/,
    ],
    [
      { a: { ...GENERIC, client_secret: undefined, private_key: { env: 'PROVIDER_SECRET' } } },
      /a\.private_key: expected a private key as PEM/,
    ],
    [{ a: { ...GENERIC, private_key_id: 'one' } }, /a\.private_key_id: expected only with private_key/],
    [
      { a: { ...SECRET, kind: 'github', private_key: { file: 'key.pem' } } },
      /a\.private_key: expected client_secret/,
    ],
    [{ a: { ...GENERIC, team_id: 'TEAM123456' } }, /a\.team_id: expected only with "kind": "apple"/],
    [{ a: { ...SECRET, kind: 'apple' } }, /a\.client_secret: expected private_key instead/],
    [{ a: APPLE }, /a\.private_key: expected a private key as PEM/],
    [{ a: { ...APPLE, team_id: 'team' } }, /a\.team_id: expected the ID of your team at Apple/],
    [{ a: { ...APPLE, team_id: undefined } }, /a\.team_id: required/],
    [{ a: { ...APPLE, private_key_id: undefined } }, /a\.private_key_id: required/],
    [{ a: { ...APPLE, private_key: undefined } }, /a\.private_key: required, because the server signs/],
    [{ a: { ...GENERIC, scopes: ['email'] } }, /a\.scopes: expected openid among them/],
    [{ a: { ...GENERIC, claims: { name: 1 } } }, /a\.claims: expected the provider’s claim/],
    [
      { a: { ...GENERIC, trusted_domains: ['*', 'a.example'] } },
      /a\.trusted_domains: expected a list of domains/,
    ],
    [
      { a: { ...GENERIC, trusted_domains: ['Example.com'] } },
      /a\.trusted_domains: expected a list of domains/,
    ],
    [{ a: { ...GENERIC, create_users: 'yes' } }, /a\.create_users: expected true, false or a list/],
    [{ a: { ...GENERIC, parameters: { state: 'x' } } }, /a\.parameters\.state: expected another name/],
    [
      { a: { ...GENERIC, domains: ['x.example'] }, b: { ...GENERIC, domains: ['x.example'] } },
      /b\.domains: expected no domain of a, got x\.example/,
    ],
  ];

  for (const [content, message] of WRONG)
    test(`it is refused with the member and what was expected: ${message.source}`, () => {
      assert.throws(
        () => read(content),
        (error) => {
          assert.ok(error instanceof ConfigurationRefused);
          assert.match(error.message, message);
          assert.match(error.message, /^--providers: /);
          assert.doesNotMatch(error.message, /in the file|from the variable/);
          return true;
        },
      );
    });

  test('a missing file is refused with its path', () => {
    rmSync(path, { force: true });
    assert.throws(
      () => readProviders(readConfiguration({ providers: path }, {}), ENVIRONMENT),
      new ConfigurationRefused(`--providers: ${path}: expected a readable JSON file`),
    );
  });
});
