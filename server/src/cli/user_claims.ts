import { type Claims, STANDARD_CLAIMS_BY_SCOPE } from '@grantd/core';
import type { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../instance/refused.ts';
import { claimsOf } from '../people/claims.ts';
import { nameAsKept, nameProblem } from '../people/names.ts';
import { collect } from './database_flags.ts';
import { BadUsage } from './exit.ts';
import { printOne } from './output.ts';
import { requirePerson } from './require_person.ts';
import type { CommandParts } from './with_instance.ts';

export interface ClaimFlags extends GivenFlags {
  readonly claim?: readonly string[];
  readonly email?: string;
  readonly emailVerified?: boolean;
}

export interface UserUpdateFlags extends ClaimFlags {
  readonly username?: string;
  readonly removeClaim?: readonly string[];
}

/** What flags say about a person. */
interface PersonChange {
  readonly username?: string;
  readonly claims: Claims;
  readonly removed: readonly string[];
}

export function claimFlags(command: Command): Command {
  return command
    .option(
      '--claim <NAME=VALUE>',
      'what UserInfo tells about them: JSON if it is JSON, else text; repeatable',
      collect,
    )
    .option('--email <ADDRESS>', 'the claim email; another address is not verified unless a flag says so')
    .option('--email-verified', 'the claim email_verified: true')
    .option('--no-email-verified', 'the claim email_verified: false');
}

/** @throws {BadUsage} flags contradict each other, or name a claim that nobody can choose */
export function changeOf({ claim = [], removeClaim = [], ...flags }: UserUpdateFlags): PersonChange {
  const { username, email, emailVerified } = flags;
  if (username !== undefined) requireName('--username', username);
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new BadUsage(`--email: expected an address such as bob@example.com, got ${JSON.stringify(email)}`);
  const set = [
    ...claim.map(claimFrom),
    ...(email === undefined ? [] : [['email', email] as const]),
    ...(emailVerified === undefined ? [] : [['email_verified', emailVerified] as const]),
  ];
  const names = [...set.map(([name]) => name), ...removeClaim];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new BadUsage(`the claim ${twice} is set or removed by two flags: choose one`);
  return {
    ...(username !== undefined && { username }),
    claims: Object.fromEntries(set),
    removed: removeClaim,
  };
}

/** Claims with a change. A new e-mail address is not the one that was verified. */
export function claimsAfter(before: Claims, { claims, removed }: PersonChange): Claims {
  const isNewAddress = claims.email !== undefined && claims.email !== before.email;
  const kept = Object.entries(before).filter(
    ([name]) => !removed.includes(name) && !(isNewAddress && name === 'email_verified'),
  );
  return { ...Object.fromEntries(kept), ...claims };
}

/** @throws {BadUsage} no person can have it */
export function requireName(flag: string, name: string): void {
  const expected = nameProblem(name);
  if (expected !== undefined)
    throw new BadUsage(`${flag}: expected ${expected}, got ${JSON.stringify(name)}`);
}

export function nameTaken(name: string): Refused {
  return new Refused(
    `there is a person ${name} already, or one whose name differs only by case, width or look-alike letters: choose another name.`,
  );
}

const MOST_ATTEMPTS = 5;

/**
 * Changes what is said and keeps everything else, also what others change at the same time.
 * @throws {Refused} there is no such person, the new name is taken, or others change the person again and again
 */
export async function updatePerson(parts: CommandParts, name: string, change: PersonChange): Promise<void> {
  if (change.username === undefined && Object.keys(change.claims).length + change.removed.length === 0)
    throw new BadUsage('nothing to update: grantd user update --help tells what there is');
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const person = await requirePerson(parts, name);
    const missing = change.removed.find((claim) => !Object.hasOwn(person.claims, claim));
    if (missing !== undefined)
      throw new Refused(
        `--remove-claim: ${person.name} has no claim ${missing}: grantd user show ${person.name} shows all.`,
      );
    const updated = {
      ...person,
      name: nameAsKept(change.username ?? person.name),
      claims: claimsAfter(person.claims, change),
    };
    const outcome = await parts.people.update(updated);
    if (outcome === 'name_taken') throw nameTaken(updated.name);
    if (outcome === 'updated') {
      const shown = { name: updated.name, sub: person.subject, claims: claimsOf(updated) };
      const renamed = updated.name === person.name ? '' : `; the name is ${updated.name} from now on`;
      return printOne(parts, shown, [`updated ${person.name}${renamed}`]);
    }
  }
  throw new Refused(`${name} is being changed by others; nothing was updated: try again.`);
}

/** OpenID Connect Core §5.1: standard claims that are no text. A client takes the text `no` for true. */
const KINDS_OF_CLAIMS: ReadonlyMap<string, { readonly type: string; readonly expected: string }> = new Map([
  ['email_verified', { type: 'boolean', expected: 'true or false' }],
  ['phone_number_verified', { type: 'boolean', expected: 'true or false' }],
  ['updated_at', { type: 'number', expected: 'seconds since 1970, as a number' }],
  ['address', { type: 'object', expected: 'a JSON object such as {"locality": "Paris"}' }],
]);

const STANDARD_CLAIMS = new Set(Object.values(STANDARD_CLAIMS_BY_SCOPE).flat());

/**
 * `name=value`, the value as JSON if it is JSON. A standard claim has the type that clients expect: `phone_number=5551234`
 * is text.
 */
function claimFrom(text: string): [string, unknown] {
  const [name, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
  if (!text.includes('=') || name === '') throw new BadUsage('--claim: expected NAME=VALUE');
  if (name === 'sub') throw new BadUsage('--claim: sub is random and cannot be chosen');
  const read = asJson(value);
  const kind = KINDS_OF_CLAIMS.get(name);
  if (kind === undefined) return [name, STANDARD_CLAIMS.has(name) && typeof read !== 'string' ? value : read];
  if (typeof read === kind.type && read !== null && !Array.isArray(read)) return [name, read];
  throw new BadUsage(`--claim: ${name}: expected ${kind.expected}, got ${JSON.stringify(value)}`);
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
