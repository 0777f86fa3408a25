import { createHmac, hash } from 'node:crypto';
import type { Hashing } from '../environment.ts';

export const sha256: Hashing['sha256'] = (text) => hash('sha256', text, 'base64url');

export const hmacSha256: Hashing['hmacSha256'] = (key, text) =>
  createHmac('sha256', key).update(text).digest('base64url');
