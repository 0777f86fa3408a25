import { after, before, mock } from 'node:test';
import { PasswordHasher } from '../../src/people/password_hasher.ts';
import { cheapHash } from './cheap_hash.ts';

/**
 * For a file that runs the program's code in its own process, like `cheap_passwords.mjs` for other processes: until the
 * file ends, new password hashes have the lowest cost. `password_hasher.test.ts` tests the hasher with its real cost.
 */
export function hashCheaply(): void {
  let hash: { mock: { restore(): void } } | undefined;
  before(() => {
    hash = mock.method(PasswordHasher.prototype, 'hash', async (password: string) =>
      cheapHash(password.normalize('NFC')),
    );
  });
  after(() => hash?.mock.restore());
}
