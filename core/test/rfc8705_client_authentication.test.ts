// § refers to RFC 8705.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ClientMetadata, ClientMetadataError, type FetchDocument, type HttpRequest } from '@grantd/core';
import { loadCertificateReader } from '@grantd/core/client_certificates';
import { exportJWK } from 'jose';
import {
  type CertificateContent,
  type MadeCertificate,
  newCertificate,
  newKeys,
  presented,
} from './harness/certificates.ts';
import { Chance } from './harness/chance.ts';
import { openWorld, type World, type WorldOptions } from './harness/world.ts';

type Certificate = HttpRequest['clientCertificate'];

const certificateReader = await loadCertificateReader();

const AUTHORITY = await newCertificate({ subject: [{ CN: ['authority'] }], isCa: true });

const issued = (content: CertificateContent) => newCertificate({ ...content, issuer: AUTHORITY });

/** The largest entity first, as in certificates. */
const SUBJECT = [{ C: ['DE'] }, { O: ['Example, Inc.'] }, { CN: ['Ein Client'] }];
const OWN = await issued({
  subject: SUBJECT,
  names: [
    { type: 'dns', value: 'client.example' },
    { type: 'url', value: 'https://client.example/one' },
    { type: 'ip', value: '192.0.2.7' },
    { type: 'ip', value: '2001:db8::1' },
    { type: 'email', value: 'Client@client.example' },
  ],
});
const OTHER = await issued({
  subject: [{ CN: ['other'] }],
  names: [{ type: 'dns', value: 'other.example' }],
});

async function openCertified(
  t: TestContext,
  metadata: ClientMetadata,
  options: WorldOptions = {},
): Promise<World> {
  const world = await openWorld(t, { clientCertificates: certificateReader, ...options });
  await world.storage.clients.add({
    id: 'certified',
    grantTypes: ['client_credentials'],
    scopes: ['read'],
    redirectUris: [],
    metadata,
  });
  return world;
}

/** Asks for a token. */
function send(world: World, certificate: Certificate, id = 'certified') {
  return world.send({
    ...{ method: 'POST', path: '/token' },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: id }).toString(),
    ...(certificate !== undefined && { clientCertificate: certificate }),
  });
}

/** @returns `admitted` or the reason of the refusal */
async function outcomeOf(world: World, certificate: Certificate, id?: string) {
  const { status, body } = await send(world, certificate, id);
  if (status === 200) return 'admitted';
  assert.deepEqual([status, JSON.parse(body).error], [401, 'invalid_client']);
  return world.lastReason;
}

const TLS: ClientMetadata = { token_endpoint_auth_method: 'tls_client_auth' };
const SELF_SIGNED: ClientMetadata = { token_endpoint_auth_method: 'self_signed_tls_client_auth' };

for (const [form, what, right, wrong] of [
  [
    'tls_client_auth_subject_dn',
    'the subject',
    'CN=Ein Client,O=Example\\, Inc.,C=DE',
    'CN=Ein Client,O=Example\\, Inc.',
  ],
  [
    'tls_client_auth_subject_dn',
    'the subject in another spelling',
    'cn=EIN  client, o=example\\2C inc., c=de',
    'C=DE,O=Example\\, Inc.,CN=Ein Client',
  ],
  ['tls_client_auth_san_dns', 'a DNS name', 'Client.Example', '*.example'],
  ['tls_client_auth_san_uri', 'a URI', 'https://client.example/one', 'https://client.example/One'],
  ['tls_client_auth_san_ip', 'an IPv4 address', '192.0.2.7', '192.0.2.70'],
  ['tls_client_auth_san_ip', 'an IPv6 address', '2001:DB8:0:0:0:0:0:1', '2001:db8::2'],
  ['tls_client_auth_san_email', 'an e-mail address', 'Client@CLIENT.example', 'client@client.example'],
] as const)
  test(`§2.1.2 ${form}: a certificate authenticates by ${what}`, async (t) => {
    const world = await openCertified(t, { ...TLS, [form]: right });
    assert.equal(await outcomeOf(world, presented(OWN, true)), 'admitted');
    assert.equal(await outcomeOf(world, presented(OTHER, true)), 'client_certificate_foreign');
    const another = await openCertified(t, { ...TLS, [form]: wrong });
    assert.equal(await outcomeOf(another, presented(OWN, true)), 'client_certificate_foreign');
  });

test('§2.1 a certificate whose chain nothing has verified names nobody', async (t) => {
  const world = await openCertified(t, { ...TLS, tls_client_auth_san_dns: 'client.example' });
  assert.equal(await outcomeOf(world, presented(OWN)), 'client_certificate_untrusted');
  assert.equal(await outcomeOf(world, undefined), 'client_certificate_missing');
  const unreadable = { der: new Uint8Array([0x30, 0x03, 1, 2, 3]), hasTrustedChain: true };
  assert.equal(await outcomeOf(world, unreadable), 'client_certificate_unreadable');
  assert.equal(await outcomeOf(world, presented(OWN, true), 'unknown'), 'client_unknown');
});

test('§2.1.2 a client that is registered for several names is registered for none', async (t) => {
  const names = { tls_client_auth_san_dns: 'client.example', tls_client_auth_san_ip: '192.0.2.7' };
  const world = await openCertified(t, { ...TLS, ...names });
  assert.equal(await outcomeOf(world, presented(OWN, true)), 'client_certificate_foreign');
});

/** The key of a certificate as a client registers it, with the certificate itself or without it. */
async function jwkOf({ keys, certificate }: MadeCertificate, withCertificate = true) {
  const x5c = [certificate.toString('base64')];
  return { ...(await exportJWK(keys.publicKey)), ...(withCertificate && { x5c }) };
}

const KEYS = await newKeys();
const SELF_MADE = await newCertificate({ subject: [{ CN: ['anything'] }], keys: KEYS });
const RENEWED = await newCertificate({ subject: [{ CN: ['renewed'] }], keys: KEYS });

test('§2.2, §2.2.2 a self-signed certificate authenticates if jwks contain it as x5c', async (t) => {
  const jwks = { keys: [await jwkOf(OTHER), await jwkOf(OWN, false), await jwkOf(SELF_MADE)] };
  const world = await openCertified(t, { ...SELF_SIGNED, jwks });
  assert.equal(await outcomeOf(world, presented(SELF_MADE)), 'admitted');
  assert.equal(await outcomeOf(world, presented(OTHER)), 'admitted');
  assert.equal(await outcomeOf(world, presented(RENEWED)), 'client_certificate_foreign', 'the same key');
  assert.equal(
    await outcomeOf(world, presented(OWN, true)),
    'client_certificate_foreign',
    'a key without x5c',
  );
  assert.equal(await outcomeOf(world, undefined), 'client_certificate_missing');
  assert.equal(await outcomeOf(world, presented(SELF_MADE), 'unknown'), 'client_unknown');
});

/** A client whose certificate is at its `jwks_uri`, where the answer has this status. */
async function openWithDocument(t: TestContext, status: number): Promise<World> {
  const body = JSON.stringify({ keys: [await jwkOf(SELF_MADE)] });
  const fetchDocument: FetchDocument = async () => ({ status, contentType: 'application/json', body });
  return openCertified(t, { ...SELF_SIGNED, jwks_uri: 'https://client.example/jwks' }, { fetchDocument });
}

test('§2.2.2 a self-signed certificate authenticates if the document at jwks_uri contains it', async (t) => {
  const world = await openWithDocument(t, 200);
  assert.equal(await outcomeOf(world, presented(SELF_MADE)), 'admitted');
  assert.equal(await outcomeOf(world, presented(RENEWED)), 'client_certificate_foreign');
  assert.equal(await outcomeOf(await openWithDocument(t, 404), presented(SELF_MADE)), 'client_keys_refused');
  const { status } = await send(await openWithDocument(t, 503), presented(SELF_MADE));
  assert.equal(status, 503, 'an outage says nothing about the certificate');
});

test('§2 without the option clientCertificates, no certificate authenticates', async (t) => {
  for (const metadata of [
    { ...TLS, tls_client_auth_san_dns: 'client.example' },
    { ...SELF_SIGNED, jwks: { keys: [await jwkOf(OWN, true)] } },
  ]) {
    const world = await openCertified(t, metadata, { clientCertificates: false });
    assert.equal(await outcomeOf(world, presented(OWN, true)), 'client_certificates_off');
  }
});

test('§2.1.1, §2.2.1 the metadata list what the option clientCertificates allows', async (t) => {
  for (const [clientCertificates, expected] of [
    [false, []],
    [true, ['self_signed_tls_client_auth']],
    [certificateReader, ['tls_client_auth', 'self_signed_tls_client_auth']],
  ] as const) {
    const { server } = await openWorld(t, { clientCertificates });
    const methods = server.serverMetadata.token_endpoint_auth_methods_supported as string[];
    assert.deepEqual(
      methods.filter((method) => method.includes('tls')),
      expected,
    );
    const registered = (metadata: ClientMetadata) =>
      server.operator.clientFrom({ id: 'certified' }, { grant_types: ['client_credentials'], ...metadata });
    for (const metadata of [
      { ...TLS, tls_client_auth_san_dns: 'client.example' },
      { ...SELF_SIGNED, jwks: { keys: [await jwkOf(SELF_MADE)] } },
    ])
      if (expected.some((method) => method === metadata.token_endpoint_auth_method))
        await registered(metadata);
      else await assert.rejects(registered(metadata), /is not supported by this server/);
  }
});

test('§2.1.2, §2.2.2 an operator must name exactly one name, or the certificate', async (t) => {
  const { server } = await openWorld(t, { clientCertificates: certificateReader });
  const registered = (metadata: ClientMetadata) =>
    server.operator.clientFrom({ id: 'certified' }, { grant_types: ['client_credentials'], ...metadata });
  for (const metadata of [
    TLS,
    { ...TLS, tls_client_auth_san_dns: 'a.example', tls_client_auth_san_ip: '192.0.2.7' },
    { ...TLS, tls_client_auth_subject_dn: 'not a name' },
    { ...TLS, tls_client_auth_san_ip: '192.0.2.256' },
    SELF_SIGNED,
    { ...SELF_SIGNED, jwks: { keys: [await jwkOf(OWN, false)] } },
  ])
    await assert.rejects(registered(metadata), ClientMetadataError, JSON.stringify(metadata));
  for (const metadata of [
    { ...TLS, tls_client_auth_subject_dn: 'CN=a+OU=b,DC=example' },
    { ...SELF_SIGNED, jwks: { keys: [await jwkOf(OWN)] } },
  ])
    await registered(metadata);
});

test('§2.1 a damaged certificate has names that are texts, or none', async () => {
  const names = [
    { type: 'dns', value: 'client.example' },
    { type: 'url', value: 'https://client.example/' },
    { type: 'ip', value: '2001:db8::1' },
    { type: 'email', value: 'client@example.com' },
  ] as const;
  const subject = [{ C: ['DE'] }, { O: ['Example'], OU: ['Clients'] }, { CN: ['client'] }];
  const { certificate } = await issued({ subject, names: [...names] });
  const der = new Uint8Array(certificate.rawData);
  const outcomes = { names: 0, nothing: 0 };
  const chance = new Chance(20_261_124);
  for (let turn = 0; turn < 4_000; turn += 1) {
    const damaged = chance.damaged(der);
    const read = certificateReader(damaged);
    const where = `turn ${turn}: ${Buffer.from(damaged).toString('base64')}`;
    outcomes[read === undefined ? 'nothing' : 'names'] += 1;
    for (const [type, value] of read?.subject.flat() ?? [])
      assert.ok(typeof type === 'string' && typeof value === 'string', where);
    for (const { dNSName, uniformResourceIdentifier, iPAddress, rfc822Name } of read?.names ?? [])
      for (const name of [dNSName, uniformResourceIdentifier, iPAddress, rfc822Name])
        assert.ok(name === undefined || typeof name === 'string', where);
  }
  assert.ok(outcomes.names > 100 && outcomes.nothing > 100, JSON.stringify(outcomes));
  const nested = new Uint8Array(200_000).fill(0x30);
  assert.equal(certificateReader(nested), undefined);
});
