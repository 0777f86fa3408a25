import { clientCredentials } from './client_credentials.ts';
import { growth } from './growth.ts';
import {
  introspectionColdEs256,
  introspectionColdOpaque,
  introspectionColdRs256,
  introspectionDpop,
  introspectionInactive,
  introspectionJwt,
  introspectionOpaque,
} from './introspection.ts';
import { introspectionJwtBesideWriter } from './introspection_jwt_beside_writer.ts';
import { introspectionMany } from './introspection_many.ts';
import { mix } from './mix.ts';
import {
  introspectionPostgres,
  refreshOpaquePostgres,
  refreshPostgres,
  revocationPostgres,
} from './postgres.ts';
import {
  codeExchange,
  refreshToken,
  refreshTokenDpop,
  refreshTokenEs256,
  refreshTokenOpaque,
} from './refresh_token.ts';
import { revocationMany, revocationOne } from './revocation.ts';
import { userInfo } from './userinfo.ts';
import type { Work } from './work.ts';

/** All works that measure throughput, in the report's order. */
export const WORKS: readonly Work[] = [
  introspectionJwt,
  introspectionJwtBesideWriter,
  introspectionOpaque,
  introspectionColdOpaque,
  introspectionColdRs256,
  introspectionColdEs256,
  introspectionInactive,
  introspectionDpop,
  introspectionMany,
  userInfo,
  revocationOne,
  revocationMany,
  mix,
  clientCredentials,
  refreshToken,
  refreshTokenOpaque,
  refreshTokenEs256,
  refreshTokenDpop,
  codeExchange,
  growth,
  introspectionPostgres,
  refreshOpaquePostgres,
  refreshPostgres,
  revocationPostgres,
];
