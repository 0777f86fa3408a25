// Finds every form of the pages: opens what links lead to, and presses every button that it has not pressed yet.
import assert from 'node:assert/strict';
import { Secret, TOTP } from 'otpauth';
import { Authenticator, passkeyFormOf } from '../harness/authenticator.ts';
import { type Browser, type Page, unescaped } from '../harness/browser.ts';

type Fields = Readonly<Record<string, string>>;

type Shown = Pick<Page, 'url' | 'html'>;

/** A user in a state of their own, with a browser. */
export interface World {
  readonly browser: Browser;
  /** That a proxy adds to the requests of the browser. */
  readonly headers: Fields;
  /** Where the browser begins. */
  readonly url: string;
  /** What the user types, by the name of the field. */
  readonly values: Fields;
  /** The user’s passkey. */
  readonly authenticator?: Authenticator;
}

/** A way into the pages. */
export interface Entrance {
  readonly name: string;
  /** Each call makes a new user. */
  readonly open: () => Promise<World>;
  /**
   * The kinds of buttons to press, also if they were pressed elsewhere. The crawl ends with the last of them. Default: all
   * that were not.
   */
  readonly only?: readonly string[];
  /** Links and buttons that may come before the one that is pressed. Default: none. */
  readonly longestWay?: number;
}

/** A button of a form. */
export interface Button {
  /** Names the button on every page of its kind: path, and its `id` without what names a thing. */
  readonly kind: string;
  readonly action: string;
  /** What the form sends, with the button. */
  readonly fields: Fields;
  /** The form and the button, by their order on the page. */
  readonly form: number;
  readonly id: string;
  /** What the user types or ticks. */
  readonly typed: Fields;
  readonly isOfPasskey: boolean;
}

/** A button, and the way to it. */
export interface Press {
  readonly entrance: Entrance;
  /** Kinds of links and buttons that lead there from the beginning. */
  readonly way: readonly string[];
  readonly kind: string;
  /** Whether the browser asks for a passkey first. */
  readonly isOfPasskey: boolean;
}

/** Everything a user may be asked for. A form with another field needs a line here. */
const VALUES: Fields = {
  username: 'nobody',
  password: 'correct horse',
  current_password: 'correct horse',
  new_password: 'quartz falcon kettle',
  email: 'new@example.com',
  'invitation.email': 'new@example.com',
  code: '000000',
  recovery_code: 'none',
  user_code: 'BCDF-GHJK',
  passkey_name: 'Phone',
  confirm: 'yes',
  name: 'crew',
  description: 'On call',
  token: 'none',
  q: 'nothing has this name',
  client_id: 'crew',
  redirect_uris: 'https://crew.example/callback',
  resource: 'https://crew.example/api',
  scope: 'crew:read',
  'texts.name': 'Read the crew',
  address: 'new@example.com',
  issued_before: '2000-01-01 00:00',
  trusted_issuer: 'https://issuer.example',
  trusted_sub: 'U-1',
  reason: 'a test',
  unused_since: '2000-01-01 00:00',
  rule: 'crew.example',
  note: 'a test',
};

/** Buttons after which the server needs a reload, because its secrets have changed. */
const NEVER_PRESSED = ['/console/secrets console-yes'];

/** Goes a way from the beginning. @returns all its pages */
export async function walk(world: World, way: readonly string[]): Promise<readonly [Page, ...Page[]]> {
  const { browser } = world;
  let page = await browser.get(world.url);
  const pages: [Page, ...Page[]] = [page];
  for (const kind of way) {
    page = kind.startsWith('> ')
      ? await browser.get(linkOn(page, kind))
      : await send(world, buttonOn(page, world, kind));
    pages.push(page);
  }
  return pages;
}

/** Goes a way from the beginning. @returns its last page */
export async function follow(world: World, way: readonly string[]): Promise<Page> {
  const pages = await walk(world, way);
  return pages.at(-1) ?? pages[0];
}

function linkOn(page: Page, kind: string): string {
  const link = linksOn(page).find((one) => one.kind === kind);
  return link?.url ?? assert.fail(`no ${kind} on ${page.url}`);
}

export function send({ browser }: World, { action, fields }: Button): Promise<Page> {
  return browser.post(action, fields);
}

export function buttonOn(page: Shown, world: World, kind: string): Button {
  const button = buttonsOf(page, world).find((one) => one.kind === kind);
  assert.ok(button, `no ${kind} on ${page.url}, which has ${buttonsOf(page, world).map((one) => one.kind)}`);
  return button;
}

/** The buttons of all forms of a page that this server receives, with everything that they send. */
export function buttonsOf(page: Shown, world: World): readonly Button[] {
  const forms = [...page.html.matchAll(/<form method="post" action="([^"]*)"([^>]*)>([\s\S]*?)<\/form>/g)];
  return forms.flatMap(([whole, path = '', attributes = '', inner = ''], form) => {
    const action = new URL(unescaped(path), page.url);
    if (action.origin !== new URL(world.url).origin) return [];
    // console_files.test.ts sends files.
    if (attributes.includes('enctype="multipart/form-data"')) return [];
    const isOfPasskey = attributes.includes('data-passkey');
    // A form of an operation has many fields. Only those that it needs are typed, and the others stay as they are.
    const isOfOperation = attributes.includes('class="form"');
    const inputs = [...inner.matchAll(/<(input|textarea|select)\b([^>]*)>/g)].map(
      ([, tag = '', text = '']) => ({
        tag,
        name: attributeOf(text, 'name'),
        type: attributeOf(text, 'type') ?? 'text',
        value: attributeOf(text, 'value') ?? '',
        isFixed: text.includes(' readonly'),
        isRequired: text.includes(' required'),
        isChosen: text.includes(' checked'),
      }),
    );
    const hidden: Record<string, string> = {};
    const typed: Record<string, string> = {};
    for (const { tag, name, type, value, isFixed, isRequired, isChosen } of inputs) {
      if (name === undefined) continue;
      if (type === 'hidden' || isFixed || (type === 'radio' && isChosen)) hidden[name] = value;
      else if (type === 'radio') continue;
      else if (tag === 'select') hidden[name] = selectedOf(inner, name);
      else if (isOfOperation && !isRequired) Object.assign(hidden, asShown(inner, name, type, value));
      else typed[name] = type === 'checkbox' ? value : typedInto(world, name, page);
    }
    const ceremony = isOfPasskey ? answerOf(world, { ...page, html: whole }) : {};
    return submitsIn(inner, action.href).map(({ id, own, href, kind }) => {
      const fields = { ...hidden, ...typed, ...ceremony, ...own };
      return { kind, action: href, fields, form, id, typed, isOfPasskey };
    });
  });
}

/** A button that sends its form. */
interface Submit {
  readonly id: string;
  /** The field of the button itself. */
  readonly own: Fields;
  /** Where the form goes by this button. */
  readonly href: string;
  readonly kind: string;
}

/** @param action of the form; @param inner its content */
export function submitsIn(inner: string, action: string): readonly Submit[] {
  const hidden = [...inner.matchAll(/<input\b([^>]* type="hidden"[^>]*)>/g)].map(
    ([, text = '']) => attributeOf(text, 'value') ?? '',
  );
  return [...inner.matchAll(/<button\b([^>]*)>/g)].flatMap(([, attributes = '']) => {
    if (attributeOf(attributes, 'type') !== 'submit') return [];
    const id = attributeOf(attributes, 'id') ?? assert.fail(`a button has no id: ${inner}`);
    const name = attributeOf(attributes, 'name');
    const own = name === undefined ? {} : { [name]: attributeOf(attributes, 'value') ?? '' };
    const { pathname, href } = new URL(attributeOf(attributes, 'formaction') ?? action, action);
    // A hidden field that says yes names no thing.
    const things = [...hidden.filter((value) => value !== 'yes'), ...pathname.split('/')];
    return [{ id, own, href, kind: `${pathname} ${kindOfId(id, own, things)}` }];
  });
}

/** Fields of buttons that name an act. Others name a thing. */
const ACTS: readonly string[] = ['decision', 'do', 'act', 'account'];

/** The `id` of a button without the name of a thing at its end, which is in a field of the form or in the path too. */
function kindOfId(id: string, own: Fields, things: readonly string[]): string {
  // Forms of operations all work alike.
  if (id === `save-${own.do}`) return 'save-*';
  const values = Object.entries(own).flatMap(([name, value]) => (ACTS.includes(name) ? [] : [value]));
  const ends = [...values, ...things].map((one) => `-${encodeURIComponent(one)}`);
  const end = ends.find((one) => one !== '-' && id.endsWith(one));
  return end === undefined ? id : `${id.slice(0, -end.length)}-*`;
}

function attributeOf(text: string, name: string): string | undefined {
  const [, value] = new RegExp(` ${name}="([^"]*)"`).exec(` ${text}`) ?? [];
  return value === undefined ? undefined : unescaped(value);
}

/** What a browser sends of a field that was not changed. */
function asShown(inner: string, name: string, type: string, value: string): Fields {
  if (type !== 'checkbox') {
    const [, content] =
      new RegExp(`<textarea[^>]* name="${name}"[^>]*>\\n?([\\s\\S]*?)</textarea>`).exec(inner) ?? [];
    return { [name]: content === undefined ? value : unescaped(content) };
  }
  const boxes = inner.matchAll(/<input [^>]*type="checkbox"[^>]*>/g);
  const checked = [...boxes].find(
    ([box]) =>
      box.includes(` name="${name}"`) && box.includes(` value="${value}"`) && box.includes(' checked'),
  );
  return checked === undefined ? {} : { [name]: value };
}

function selectedOf(inner: string, name: string): string {
  const [, options = ''] =
    new RegExp(`<select[^>]* name="${name}"[^>]*>([\\s\\S]*?)</select>`).exec(inner) ?? [];
  const [, value = ''] =
    /<option value="([^"]*)" selected/.exec(options) ?? /<option value="([^"]*)"/.exec(options) ?? [];
  return unescaped(value);
}

function typedInto({ values }: World, name: string, page: Shown): string {
  const [, secret] = /<code id="totp-secret">([^<]*)</.exec(page.html) ?? [];
  if (name === 'code' && secret !== undefined) return codeOf(secret);
  return values[name] ?? VALUES[name] ?? assert.fail(`what is typed into the field ${name} of ${page.url}?`);
}

/** A code of an authenticator app. A code counts only if no later one was used. @param steps from now */
export function codeOf(secret: string, steps = 0): string {
  const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) });
  return totp.generate({ timestamp: Date.now() + steps * 30_000 });
}

function answerOf({ authenticator, url }: World, page: Shown): Fields {
  const { options, fields } = passkeyFormOf(page);
  const isNew = 'user' in options;
  const own = authenticator ?? new Authenticator(url);
  return {
    passkey: isNew ? own.create(options) : own.get(options),
    passkey_challenge: fields.passkey_challenge ?? '',
  };
}

/**
 * Links to other pages of the site. Of the forms and questions of a page, which all work alike, one of each kind is
 * enough. Links of events are not in it, because every visit finds others.
 */
function linksOn(page: Page): readonly { readonly kind: string; readonly url: string }[] {
  const lasting = page.html.replaceAll(/<table class="data" aria-label="Audit trail">[\s\S]*?<\/table>/g, '');
  const links = [...lasting.matchAll(/<a ([^>]*)href="([^"]*)"/g)];
  return links.flatMap(([, attributes = '', link = '']) => {
    const { origin, pathname, searchParams, href } = new URL(unescaped(link), page.url);
    if (origin !== new URL(page.url).origin || searchParams.has('ui_language')) return [];
    const asked = attributes.includes(' ending') ? 'ask=question' : 'ask=form';
    const names = [...searchParams.keys()].map((name) => (name === 'ask' ? asked : name));
    return [{ kind: `> ${pathname} ${names.sort()}`, url: href }];
  });
}

/** Presses every button that can be found, each for a new user. */
export async function crawl(
  entrances: readonly Entrance[],
  press: (press: Press) => Promise<void>,
): Promise<readonly Press[]> {
  const pressed: Press[] = [];
  for (const entrance of entrances) {
    const { only, longestWay = 0 } = entrance;
    const seen = new Set<string>();
    const ways: (readonly string[])[] = [[]];
    const isFound = () => only?.every((kind) => seen.has(kind)) === true;
    for (let way = ways.shift(); way !== undefined && !isFound(); way = ways.shift()) {
      const world = await entrance.open();
      const page = await follow(world, way);
      for (const { kind, isOfPasskey } of buttonsOf(page, world)) {
        if (seen.has(kind) || NEVER_PRESSED.includes(kind)) continue;
        seen.add(kind);
        const isWanted = only?.includes(kind) ?? !pressed.some((earlier) => earlier.kind === kind);
        const one = { entrance, way, kind, isOfPasskey };
        if (isWanted) pressed.push(one);
        if (isWanted) await press(one);
        if (way.length < longestWay) ways.push([...way, kind]);
      }
      for (const { kind } of linksOn(page)) {
        if (seen.has(kind) || way.length >= longestWay) continue;
        seen.add(kind);
        ways.push([...way, kind]);
      }
    }
    for (const kind of only ?? []) assert.ok(seen.has(kind), `${entrance.name}: no ${kind}`);
  }
  return pressed;
}
