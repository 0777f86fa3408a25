// Verifies argon2 hashes in their usual form, with the function that Node has from version 24.7 on.
import { argon2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const FORM = /^\$(argon2(?:id|i|d))\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;
/** An argon2id hash of no secret. Unknown clients take as long as wrong secrets. */
const UNKNOWN = `$argon2id$v=19$m=65536,t=3,p=4$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const derive = promisify(argon2);

export async function verifyArgon2(hash = UNKNOWN, secret = ''): Promise<boolean> {
  const [, type, memory, passes, parallelism, salt = '', tag = ''] = FORM.exec(hash) ?? [];
  if (type !== 'argon2id' && type !== 'argon2i' && type !== 'argon2d')
    throw new TypeError('not an argon2 hash');
  const expected = Buffer.from(tag, 'base64');
  const derived = await derive(type, {
    message: secret,
    nonce: Buffer.from(salt, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  });
  return timingSafeEqual(derived, expected);
}
