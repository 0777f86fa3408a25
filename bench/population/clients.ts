import type { TokenKind } from './order.ts';

export const ISSUER = 'http://localhost:4000';
export const API_RESOURCE = 'https://api.example';

export interface BenchClient {
  readonly id: string;
  readonly secret: string;
}

const client = (id: string): BenchClient => ({ id, secret: `secret-of-${id}` });

export const BENCH_CLIENTS = {
  api: client('api'),
  machine_rs256: client('machine-rs256'),
  machine_es256: client('machine-es256'),
  machine_opaque: client('machine-opaque'),
  web: client('web'),
};

/** Whose token a kind is: who may revoke it, and refresh it. */
export function clientOf(kind: TokenKind): BenchClient {
  if (kind.startsWith('web_')) return BENCH_CLIENTS.web;
  if (kind.endsWith('opaque')) return BENCH_CLIENTS.machine_opaque;
  return kind === 'jwt_es256' ? BENCH_CLIENTS.machine_es256 : BENCH_CLIENTS.machine_rs256;
}

export function basicAuthorization({ id, secret }: BenchClient): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}
