import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as express from '@grantd/core/express';
import * as fastify from '@grantd/core/fastify';
import * as fetching from '@grantd/core/fetch';
import * as h3 from '@grantd/core/h3';
import * as hono from '@grantd/core/hono';
import * as koa from '@grantd/core/koa';
import * as nest from '@grantd/core/nest';
import * as next from '@grantd/core/next';
import * as node from '@grantd/core/node';

/** The types of each adapter. The compiler reports a missing one. */
export type Options = [
  [express.AdapterOptions<never>, express.MountOptions<never>, express.Operation],
  [fastify.AdapterOptions<never>, fastify.MountOptions<never>, fastify.Operation],
  [fetching.AdapterOptions<never>, fetching.MountOptions<never>, fetching.Operation],
  [h3.AdapterOptions<never>, h3.MountOptions<never>, h3.Operation],
  [hono.AdapterOptions<never>, hono.MountOptions<never>, hono.Operation],
  [koa.AdapterOptions<never>, koa.MountOptions<never>, koa.Operation],
  [nest.AdapterOptions<never>, nest.MountOptions<never>, nest.Operation],
  [next.AdapterOptions<never>, next.MountOptions<never>, next.Operation],
  [node.AdapterOptions<never>, node.MountOptions<never>, node.Operation],
];

test('grantd §1.3 every adapter exports the same names; that for node:http also what fetches documents and reads addresses', () => {
  const NAMES = ['handler', 'mount', 'sendResponse', 'toHttpRequest'];
  for (const [name, adapter] of Object.entries({ express, fastify, fetching, h3, hono, koa, nest, next })) {
    assert.deepEqual(Object.keys(adapter), NAMES, name);
  }
  assert.deepEqual(
    Object.keys(node),
    [
      ...NAMES,
      'RequestRate',
      'addressUnit',
      'documentFetcher',
      'documentRefusal',
      'plainAddress',
      'senderOf',
      'tlsCertificateOf',
    ].sort(),
  );
});
