import type { Answer } from '../load/generator.ts';

/** Texts that only the right response contains. */
export const ACTIVE: Answer = { name: 'active', status: 200, contains: '"active":true' };
export const INACTIVE: Answer = { name: 'inactive', status: 200, contains: '{"active":false}' };
export const REVOKED: Answer = { name: 'revoked', status: 200, contains: '' };
export const ISSUED: Answer = { name: 'issued', status: 200, contains: '"access_token":"' };
export const REFRESHED: Answer = { name: 'refreshed', status: 200, contains: '"refresh_token":"' };
export const CLAIMS: Answer = { name: 'claims', status: 200, contains: '"sub":"' };
