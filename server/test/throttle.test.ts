// What strangers reach without an identity has a limit for each address; nothing else has one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DEFAULT_PATHS, pathOf } from '@grantd/core';
import { THROTTLED_ROUTES, Throttle } from '../src/limits/throttle.ts';
import { Workbench } from './harness/program.ts';
import { scrape } from './harness/scrape.ts';

const ISSUER = 'https://login.example';
const AUTHORIZE = `${DEFAULT_PATHS.authorization}?client_id=a`;

const workbench = new Workbench();
after(() => workbench.clear());

/** Whether requests have to wait, with a limit of one. */
function throttle(issuer: string, registration: 'open' | 'token' | 'off' = 'open') {
  const limits = new Throttle(issuer, { addressRequestLimit: 1, registration });
  return (url: string, address: string): boolean => {
    const operation = limits.operations.get(pathOf({ url }));
    return operation !== undefined && limits.take(operation, address) > 0;
  };
}

/** How many of two requests with a limit of one have to wait. */
function waits(url: string, registration: 'open' | 'token' | 'off' = 'open'): number {
  const limit = throttle(ISSUER, registration);
  return [1, 2].filter(() => limit(url, '192.0.2.1')).length;
}

test('only registration, authorization requests, pushed ones and those of devices have a limit', () => {
  const throttled = THROTTLED_ROUTES.map(({ path }) => path);
  const { authorization, pushedAuthorizationRequest, deviceAuthorization, device, registration } =
    DEFAULT_PATHS;
  assert.deepEqual(throttled, [
    ...[authorization, pushedAuthorizationRequest, deviceAuthorization, device, registration],
  ]);
  for (const path of Object.values(DEFAULT_PATHS))
    assert.equal(waits(`${path}?a=b`), throttled.includes(path) ? 1 : 0, path);
  for (const path of ['/register/a', '/authorize/a', '/login', '/console', '/health', '/', '//authorize'])
    assert.equal(waits(path), 0, path);
});

test('callers with an initial access token register without a limit', () => {
  assert.deepEqual([waits('/register', 'token'), waits('/register', 'off'), waits('/register')], [0, 0, 1]);
});

test('an issuer with a path has its routes below it', () => {
  const limit = throttle(`${ISSUER}/tenant`);
  const isThrottled = (url: string) => [1, 2].some(() => limit(url, '192.0.2.1'));
  assert.deepEqual([isThrottled('/tenant/authorize'), isThrottled('/authorize')], [true, false]);
});

test('an IPv4 address and an IPv6 /64 count, an IPv6 /48 as four of them, and each route by itself', () => {
  const limit = throttle(ISSUER);
  const mayGo = (address: string, url = AUTHORIZE) => !limit(url, address);
  assert.deepEqual([mayGo('192.0.2.1'), mayGo('192.0.2.1'), mayGo('192.0.2.2')], [true, false, true]);
  assert.deepEqual(
    [mayGo('2001:db8::1'), mayGo('2001:db8::ffff:2'), mayGo('2001:db8:1::1')],
    [true, false, true],
  );
  const subnets = Array.from({ length: 100 }, (_, index) => `2001:db8:5:${index}::1`);
  assert.equal(subnets.filter((address) => mayGo(address)).length, 4);
  assert.equal(mayGo('192.0.2.1', '/register'), true);
});

test('the server answers 429 with the time to wait, browsers with a page, by the address that a trusted proxy reports, and counts it', async () => {
  const options = [
    '--demo',
    '--address-request-limit',
    '2',
    '--trusted-proxies',
    '127.0.0.1',
    '--metrics-port',
    '0',
  ];
  const server = await workbench.start(workbench.folder(), [...options, '--registration', 'open']);
  const ask = (path: string, address: string, method = 'GET', accept = '*/*') =>
    fetch(server.url + path, {
      ...{ method, redirect: 'manual', headers: { 'x-forwarded-for': address, accept } },
    });
  for (const [path, method, status] of [
    [AUTHORIZE, 'GET', 400],
    ['/par', 'POST', 401],
    ['/device_authorization', 'POST', 401],
    ['/device', 'GET', 303],
    ['/register', 'POST', 400],
  ] as const) {
    for (const _ of [1, 2]) assert.equal((await ask(path, '192.0.2.1', method)).status, status);
    const refused = await ask(path, '192.0.2.1', method);
    assert.equal(refused.status, 429);
    const wait = Number(refused.headers.get('retry-after'));
    assert.ok(wait >= 1 && wait <= 60, String(wait));
    assert.equal((await refused.json()).error, 'temporarily_unavailable');
    const page = await ask(path, '192.0.2.1', method, 'text/html,application/xhtml+xml,*/*;q=0.8');
    assert.deepEqual([page.status, page.headers.get('content-language')], [429, 'en']);
    assert.ok(Number(page.headers.get('retry-after')) >= 1);
    assert.match(await page.text(), /<h1>Too many requests<\/h1>/);
    assert.equal((await ask(path, '192.0.2.2', method)).status, status);
  }
  for (const _ of [1, 2, 3, 4]) assert.equal((await ask('/token', '192.0.2.1', 'POST')).status, 401);
  const labels = { status: '429', reason: 'too_many_requests' };
  const { sum } = await scrape(server);
  for (const { operation } of THROTTLED_ROUTES)
    assert.equal(sum('grantd_requests_total', { ...labels, operation }), 2);
});

test('no endpoint at which clients authenticate lets an address guess secrets without a limit', async () => {
  const options = ['--demo', '--address-request-limit', '2', '--trusted-proxies', '127.0.0.1'];
  const server = await workbench.start(workbench.folder(), options);
  const guess = async (path: string, count: number) => {
    const address = `192.0.2.${1 + Object.values<string>(DEFAULT_PATHS).indexOf(path)}`;
    const authorization = `Basic ${btoa(`demo-machine:wrong ${path} ${count}`)}`;
    const { status, headers, body } = await fetch(server.url + path, {
      ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams() },
      headers: { authorization, 'x-forwarded-for': address },
    });
    await body?.cancel();
    return { status, asksForSecret: headers.get('www-authenticate')?.startsWith('Basic') === true };
  };
  const asked: string[] = [];
  for (const [name, path] of Object.entries(DEFAULT_PATHS)) {
    if (!(await guess(path, 0)).asksForSecret) continue;
    asked.push(name);
    const statuses: number[] = [];
    for (const count of [1, 2, 3, 4]) statuses.push((await guess(path, count)).status);
    assert.equal(statuses.at(-1), 429, `${name} ${statuses}`);
  }
  assert.deepEqual(asked.sort(), [
    ...['deviceAuthorization', 'introspection', 'pushedAuthorizationRequest', 'revocation', 'token'],
  ]);
});
