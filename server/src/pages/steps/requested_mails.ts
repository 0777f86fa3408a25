// How many emails visitors may ask for (ADR 127).
import { emailKey, nameKey } from '../../data/names.ts';
import { LINK_LIFETIMES_MS, verifiedAddressOf } from '../../people/mailing.ts';
import type { SignInParts } from '../../people/sign_in.ts';
import type { KnownBrowsers } from '../browser/cookies.ts';
import type { PageContext, Visitors } from '../browser/request.ts';

interface Needs {
  readonly visitors: Visitors;
  readonly knownBrowsers: KnownBrowsers;
  readonly signInParts: Pick<SignInParts, 'people' | 'limits'>;
}

/** Maximum emails that visitors at one place may ask for in an hour, for all names together. */
const MAILS_OF_PLACE = { attempts: 30, windowMs: 60 * 60 * 1000 };

/**
 * Maximum emails that all places of one sender may ask for in an hour. Anyone can have an IPv6 /48 with thousands of places,
 * and the emails that they ask for delay those of others (ADR 229).
 */
const MAILS_OF_SENDER = { attempts: 100, windowMs: 60 * 60 * 1000 };

/**
 * Maximum emails for one name: asked for at one place, and at all unknown ones. With links, the time is that of the links,
 * so that a user whom strangers have used up the emails of still has a link that works.
 */
const MAILS_OF_NAME = { atPlace: 5, inAll: 20 };

const WINDOWS_MS = {
  reset: LINK_LIFETIMES_MS.reset,
  sign_up: LINK_LIFETIMES_MS.sign_up,
  code: 60 * 60 * 1000,
} as const;

/** What becomes of a request for an email. */
export type Admission =
  | { readonly isSent: boolean; readonly knownBrowser: string | undefined }
  | { readonly secondsToWait: number };

/**
 * Counts a request for an email by what was typed, whether or not it belongs to a user, and by where it comes from. Each
 * purpose has counts of its own. If a limit of the name is reached, the page answers as usual. Otherwise it would tell a
 * user what strangers have asked for.
 */
export async function admitMail(
  c: PageContext,
  needs: Needs,
  purpose: keyof typeof WINDOWS_MS,
  typed: string,
): Promise<Admission> {
  const windowMs = WINDOWS_MS[purpose];
  const address = needs.visitors.unitOf(c);
  const browser = purpose === 'sign_up' ? undefined : await knownBrowser(c, needs, typed);
  const name = nameKey(typed);
  const atPlace = {
    name: `mail ${purpose} to ${name}`,
    // No address has a space.
    place: browser === undefined ? address : `browser ${browser}`,
    most: { attempts: MAILS_OF_NAME.atPlace, windowMs },
  };
  const ofAddress = { name: `mail ${purpose} from`, place: address, most: MAILS_OF_PLACE };
  const ofSender = { ...ofAddress, place: needs.visitors.senderOf(c), most: MAILS_OF_SENDER };
  // What was typed may look like a place.
  const inAll = {
    name: `mail ${purpose} to`,
    place: name,
    most: { attempts: MAILS_OF_NAME.inAll, windowMs },
  };
  // The codes of a user are counted when they are due (ADR 159).
  const ofName = purpose === 'code' ? [atPlace] : [atPlace, inAll];
  const ofPlace = ofSender.place === address ? [ofAddress] : [ofAddress, ofSender];
  const counts = browser === undefined ? [...ofPlace, ...ofName] : [atPlace];
  const reached = await needs.signInParts.limits.begin(...counts);
  if (reached !== undefined && ofPlace.includes(reached.count))
    return { secondsToWait: reached.secondsToWait };
  return { isSent: reached === undefined, knownBrowser: browser };
}

/**
 * The identifier of this browser, if the user with this name or verified address has signed in with it. Looks up only the
 * users of the browser, so that the time does not tell which names exist, and whether an address of one of them is the
 * username of another, to whom the email would go (ADR 191).
 */
async function knownBrowser(c: PageContext, needs: Needs, typed: string): Promise<string | undefined> {
  const known = await needs.knownBrowsers.users(c);
  if (known === undefined) return undefined;
  const people = await Promise.all(
    known.subjects.map((subject) => needs.signInParts.people.bySubject(subject)),
  );
  const key = nameKey(typed);
  if (people.some((person) => person !== undefined && nameKey(person.name) === key)) return known.browser;
  const hasAddress = people.some((person) => {
    const email = person && verifiedAddressOf(person);
    return email !== undefined && emailKey(email) === emailKey(typed);
  });
  const isName = hasAddress && (await needs.signInParts.people.byName(typed)) !== undefined;
  return hasAddress && !isName ? known.browser : undefined;
}
