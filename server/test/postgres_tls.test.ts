import assert from 'node:assert/strict';
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newCertificate } from '../../core/test/harness/certificates.ts';
import { type PostgresCluster, startPostgres } from '../../core/test/harness/postgres_cluster.ts';
import { disposableDatabase } from '../../core/test/harness/postgres_databases.ts';
import { connectionOf } from '../src/data/postgres_url.ts';
import { grantd } from './harness/commands.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { grantd as grantdProcess, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const SECRET = 'a secret of the server of 32 characters';

test('parameters of the database URL that nothing reads are refused by config check and every command', async () => {
  const folder = workbench.folder();
  const noCertificate = join(folder, 'no_certificate.pem');
  writeFileSync(noCertificate, 'no certificate\n', { mode: 0o600 });
  for (const [parameters, message] of [
    ['sslmod=require', '--database: sslmod: no such parameter. Did you mean sslmode?'],
    ['connect_timeout=3', '--database: connect_timeout: no such parameter'],
    ['uselibpqcompat=true&sslmode=require', '--database: uselibpqcompat: no such parameter'],
    [
      'sslmode=prefer',
      '--database: sslmode: expected disable, no-verify, require, verify-ca, verify-full, got prefer',
    ],
    ['sslmode=', '--database: sslmode: expected disable,'],
    ['sslcert=cert.pem', '--database: sslcert: '],
    ['sslrootcert=ca.pem', '--database: sslrootcert: '],
    ['sslmode=disable&sslmode=verify-full', '--database: sslmode: expected once'],
    [
      `sslrootcert=${noCertificate}`,
      `--database: sslrootcert: ${noCertificate}: expected certificates in PEM`,
    ],
    [
      `sslcert=${noCertificate}&sslkey=${noCertificate}`,
      `--database: sslcert: ${noCertificate}: expected certificates in PEM`,
    ],
  ] as const) {
    const flag = ['--database', `postgres://grantd@127.0.0.1:1/grantd?${parameters}`];
    for (const command of [
      ['config', 'check'],
      ['serve', '--port', '0'],
      ['client', 'list'],
    ]) {
      const { code, stderr } = await grantd(folder, [...command, ...flag], {
        environment: { GRANTD_SECRET: SECRET },
      });
      assert.ok(stderr.startsWith(`grantd: ${message}`), stderr);
      assert.equal(code, 2);
    }
  }
  const url = 'postgres://grantd@127.0.0.1:1/grantd';
  const of = (mode: string) => connectionOf(url, 'x', { PGSSLMODE: mode }).ssl;
  assert.throws(() => of('prefer'), /^ConfigurationRefused: PGSSLMODE: expected disable, .*, got prefer$/);
  assert.deepEqual([of(''), of('disable'), of('require')], [false, false, { rejectUnauthorized: true }]);
});

describe('a database on PostgreSQL with TLS', { skip: POSTGRESQL.absence }, () => {
  let cluster: PostgresCluster;
  let url: URL;
  const folder = workbench.folder();

  before(async () => {
    const ca = await newCertificate({ subject: [{ CN: ['CA of the database'] }], isCa: true });
    const names = [{ type: 'dns' as const, value: 'localhost' }];
    const site = await newCertificate({ subject: [{ CN: ['database'] }], names, issuer: ca });
    const client = await newCertificate({ subject: [{ CN: ['grantd'] }], issuer: ca });
    cluster = await startPostgres();
    const { uid, gid } = statSync(cluster.dataFolder);
    for (const [name, content] of [
      ['server.crt', site.pem.cert],
      ['server.key', site.pem.key],
      ['ca.crt', ca.pem.cert],
      [
        'pg_hba.conf',
        'hostssl certified grantd all cert\nhostnossl all grantd all reject\nhost all all all scram-sha-256\n',
      ],
    ] as const) {
      const path = join(cluster.dataFolder, name);
      writeFileSync(path, content, { mode: 0o600 });
      if (process.getuid?.() === 0) chownSync(path, uid, gid);
    }
    await cluster.ask("ALTER SYSTEM SET ssl_ca_file = 'ca.crt'");
    await cluster.ask('ALTER SYSTEM SET ssl = on');
    await cluster.ask('SELECT pg_reload_conf()');
    writeFileSync(join(folder, 'ca.pem'), ca.pem.cert);
    writeFileSync(join(folder, 'client.pem'), client.pem.cert);
    writeFileSync(join(folder, 'client.key'), client.pem.key, { mode: 0o600 });
    url = new URL(await disposableDatabase(cluster));
    url.hostname = 'localhost';
  });

  after(() => cluster.remove());

  /** The errors of a command. In a process of its own, so that they contain the warnings of the driver. */
  const errorsOf = async (parameters: string, change: (url: URL) => void = () => {}) => {
    const given = new URL(`${url.href}?${parameters}`);
    change(given);
    const environment = { GRANTD_DATABASE: given.href, GRANTD_SECRET: SECRET };
    return (await grantdProcess(folder, ['client', 'list'], { environment })).stderr;
  };

  const REACHED = /^grantd: the database postgres:\S+ does not exist, or it is empty: [^\n]*\n$/;

  test('checks its certificate and its name in every mode but no-verify, and warns of nothing', async () => {
    for (const [parameters, hostname, expected] of [
      ['sslmode=require&sslrootcert=ca.pem', 'localhost', REACHED],
      ['sslmode=verify-full&sslrootcert=ca.pem', 'localhost', REACHED],
      ['sslrootcert=ca.pem', 'localhost', REACHED],
      ['sslmode=no-verify', '127.0.0.1', REACHED],
      ['sslmode=require', 'localhost', /SELF_SIGNED_CERT_IN_CHAIN, .*; name the CA of the server in the URL/],
      [
        'sslmode=verify-ca&sslrootcert=ca.pem',
        '127.0.0.1',
        /ERR_TLS_CERT_ALTNAME_INVALID, .*; connect to a name/,
      ],
      ['sslmode=disable', 'localhost', /: 28000, /],
      ['', 'localhost', /: 28000, /],
    ] as const) {
      const stderr = await errorsOf(parameters, (given) => {
        given.hostname = hostname;
      });
      assert.match(stderr, expected, `${parameters}: ${stderr}`);
      assert.doesNotMatch(stderr, /warning/i, parameters);
    }
  });

  test('accepts a client certificate instead of a password, and no key that others can read', async () => {
    await cluster.ask('CREATE DATABASE certified OWNER grantd');
    const certified = () =>
      errorsOf('sslrootcert=ca.pem&sslcert=client.pem&sslkey=client.key', (given) => {
        Object.assign(given, { pathname: 'certified', password: '' });
      });
    assert.match(await certified(), REACHED);
    chmodSync(join(folder, 'client.key'), 0o604);
    assert.match(await certified(), /^grantd: GRANTD_DATABASE: sslkey: \S+client\.key is open to others/);
  });
});
