import { growth } from './growth.ts';
import { introspectionJwt } from './introspection_jwt.ts';
import { introspectionPostgres } from './introspection_postgres.ts';
import type { Work } from './work.ts';

/** All that is measured, in the order of the report. */
export const WORKS: readonly Work[] = [introspectionJwt, growth, introspectionPostgres];
