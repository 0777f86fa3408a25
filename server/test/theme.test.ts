// § refers to WCAG 2.2.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { ConfigurationRefused } from '../src/config/refused.ts';
import { SCHEMES } from '../src/pages/drawing/brand.ts';
import { readCatalogues } from '../src/pages/drawing/languages.ts';
import { readOperator } from '../src/pages/drawing/operator.ts';
import { schemaOfTheme } from '../src/pages/drawing/theme.ts';
import { isCounted } from '../src/texts/formats/formats.ts';
import { languageFrom, type TextTree, textsWith, treeOf } from '../src/texts/templates.ts';
import { DE, EN } from '../src/texts/texts.ts';
import { Browser, hiddenFields } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1"/></svg>';
const FONT = Buffer.from('wOF2 and more');

const THEME = {
  logo: 'logo.svg',
  colors: { light: { brand: '#7a1f5c', ground: '#FAFAFA' }, dark: { brand: '#e08ac3' } },
  radius: 4,
  font: { stack: 'humanist', file: 'acme.woff2' },
  texts: {
    en: { signIn: { title: 'Hello & <welcome>', toContinueTo: 'on your way to {1}' } },
    de: { signIn: { title: 'Willkommen' } },
  },
  links: { help: 'https://acme.example/help?a=1&b=2', privacy: 'https://acme.example/privacy' },
};

const workbench = new Workbench();
after(() => workbench.clear());

function folderWith(theme: unknown): string {
  const folder = workbench.folder();
  writeFileSync(join(folder, 'logo.svg'), SVG);
  writeFileSync(join(folder, 'acme.woff2'), FONT);
  writeFileSync(join(folder, 'theme.yaml'), typeof theme === 'string' ? theme : stringify(theme));
  return folder;
}

/** As a server reads the theme when it starts. */
async function read(folder: string, settings: object = {}) {
  const configuration = {
    settings: { theme: join(folder, 'theme.yaml'), ...settings },
    sourceOf: (name: string) => `--${name}`,
  } as never;
  const operator = await readOperator(configuration, {});
  return { operator, catalogues: await readCatalogues(configuration, {}, operator.theme) };
}

describe('a theme', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(folderWith(THEME), ['--demo', '--theme', 'theme.yaml']);
  });

  test('changes colours, corners, font, texts and links of every page', async () => {
    const login = await new Browser(server.url).get(authorizationUrl(server.url, newPkce()));
    const { html, headers } = login;
    assert.match(html, /:root\{[^}]*--ground:#FAFAFA;[^}]*--brand:#7a1f5c;/);
    assert.match(html, /prefers-color-scheme:dark\)\{:root\{[^}]*--brand:#e08ac3;/);
    assert.match(html, /:root\{--radius:4px;--font:operator, Seravek, /);
    assert.match(html, /<h1>Hello &amp; &lt;welcome&gt;<\/h1>/);
    assert.match(html, /on your way to <bdi class="name">/);
    assert.match(html, /<a id="page-help" href="https:\/\/acme\.example\/help\?a=1&amp;b=2" target="_blank"/);
    assert.match(html, /<a id="page-privacy" href="https:\/\/acme\.example\/privacy"/);
    assert.match(html, /<img class="mark logo" src="\/logo" alt="">/);
    assert.match(headers.get('content-security-policy') ?? '', /; font-src 'self'; /);
    const german = authorizationUrl(server.url, newPkce(), { ui_locales: 'de' });
    assert.match((await new Browser(server.url).get(german)).html, /<h1>Willkommen<\/h1>/);
  });

  test('has its font and logo on this server', async () => {
    for (const [path, type, content] of [
      ['/font', 'font/woff2', FONT],
      ['/logo', 'image/svg+xml', Buffer.from(SVG)],
    ] as const) {
      const response = await fetch(`${server.url}${path}`);
      assert.equal(response.headers.get('content-type'), type);
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), content);
    }
  });

  test('leaves the colour of an application alone', async () => {
    const { operator } = await read(folderWith(THEME));
    assert.equal(operator.color, '#7a1f5c');
    await grantdPrints(server.folder, ['client', 'update', 'demo-web', '--brand-color', '#005500']);
    const browser = new Browser(server.url);
    const login = await browser.get(authorizationUrl(server.url, newPkce()));
    const fields = { ...hiddenFields(login), username: 'alice', password: 'wonderland' };
    assert.match((await browser.post(login.url, fields)).html, /--brand:#005500;/);
  });
});

describe('a refused theme names the member', () => {
  const { colors } = THEME;
  const refusals: readonly (readonly [title: string, theme: unknown, expected: RegExp])[] = [
    ['no YAML', 'a: [', /theme\.yaml: expected YAML or JSON$/],
    ['another form', '- a', /expected an object$/],
    ['an unknown member', { color: {} }, /: color: there is no such member\. Did you mean colors\?$/],
    ['an unknown scheme', { colors: { night: {} } }, /: colors\.night: there is no such member/],
    ['an unknown colour', { colors: { light: { txt: '#000000' } } }, /: colors\.light\.txt: /],
    ['a colour by name', { colors: { dark: { text: 'red' } } }, /: colors\.dark\.text: expected a colour/],
    [
      'grey text on grey',
      { colors: { light: { muted: '#aaaaaa' } } },
      /: colors\.light: muted \(#aaaaaa\) on surface \(#ffffff\) has a contrast of 2\.32, expected at least 4\.5/,
    ],
    [
      'links that nobody sees in the dark',
      { colors: { dark: { accent: '#223344' } } },
      /: colors\.dark: accent \(#223344\) on surface \(#1b1c1f\)/,
    ],
    [
      'faint borders',
      { colors: { ...colors, light: { edge: '#dddddd' } } },
      /: colors\.light: edge \(#dddddd\) on surface \(#ffffff\) .*at least 3 /,
    ],
    ['a huge radius', { radius: 25 }, /: radius: expected a number from 0 to 24$/],
    ['an unknown stack', { font: { stack: 'comic' } }, /: font\.stack: expected one of system, /],
    [
      'a font that is none',
      { font: { file: 'logo.svg' } },
      /: font\.file: expected a font as WOFF2 or WOFF$/,
    ],
    [
      'a missing font',
      { font: { file: 'absent.woff2' } },
      /: font\.file: expected a readable file of at most 512 KiB/,
    ],
    ['a picture that is none', { logo: 'theme.yaml' }, /: logo: expected a picture whose content/],
    [
      'a link without TLS',
      { links: { help: 'http://acme.example' } },
      /: links\.help: expected an https URL$/,
    ],
    ['a link that is a script', { links: { privacy: 'javascript:alert(1)' } }, /: links\.privacy: expected/],
    [
      'an unknown language',
      { texts: { fr: {} } },
      /texts\.fr: there are no texts in this language\. Known: en, de$/,
    ],
    [
      'an unknown text',
      { texts: { en: { signIn: { titel: 'x' } } } },
      /texts\.en: signIn\.titel: there is no such text\. Did you mean title\?$/,
    ],
    [
      'a missing placeholder',
      { texts: { de: { signIn: { toContinueTo: 'weiter' } } } },
      /texts\.de: signIn\.toContinueTo: expected the placeholder \{1\}$/,
    ],
    [
      'an unknown placeholder',
      { texts: { en: { signIn: { tryAgainIn: '{1} {2}' } } } },
      /signIn\.tryAgainIn: unknown placeholder \{2\}$/,
    ],
    [
      'a placeholder without a value',
      { texts: { en: { signIn: { title: 'Hello {1}' } } } },
      /signIn\.title: expected no placeholder$/,
    ],
  ];
  for (const [title, theme, expected] of refusals)
    test(`§1.4.3 ${title}`, async () => {
      await assert.rejects(read(folderWith(theme)), (error: unknown) => {
        assert.ok(error instanceof ConfigurationRefused, String(error));
        assert.match(error.message, /^--theme: /);
        assert.match(error.message, expected);
        return true;
      });
    });

  test('and serve and config check end with 2', async () => {
    const folder = folderWith({ radius: '4' });
    for (const command of [
      ['serve', '--port', '0'],
      ['config', 'check'],
    ]) {
      const { code, stderr } = await grantd(folder, [...command, '--theme', 'theme.yaml']);
      assert.deepEqual([code, /--theme: theme\.yaml: radius: expected a number/.test(stderr)], [2, true]);
    }
  });

  test('a logo or colour in two places is refused', async () => {
    const folder = folderWith(THEME);
    await assert.rejects(
      read(folder, { operatorLogo: join(folder, 'logo.svg') }),
      /has a logo, so --operator-logo/,
    );
    await assert.rejects(
      read(folder, { operatorColor: '#112233' }),
      /has a brand colour, so --operator-color/,
    );
  });
});

describe('a language in one file', () => {
  /** The English texts, as a translation that says everything. */
  function french(change: (tree: Record<string, unknown>) => void = () => {}): Record<string, unknown> {
    const tree = structuredClone(treeOf(EN)) as Record<string, unknown>;
    (tree.signIn as Record<string, string>).title = 'Connexion';
    change(tree);
    return tree;
  }

  function folderOf(files: Readonly<Record<string, unknown>>): string {
    const folder = join(workbench.folder(), 'texts');
    mkdirSync(folder);
    for (const [name, tree] of Object.entries(files)) writeFileSync(join(folder, name), stringify(tree));
    return folder;
  }

  const problemsOf = async (files: Readonly<Record<string, unknown>>) => {
    const configuration = {
      settings: { languages: folderOf(files) },
      sourceOf: () => '--languages',
    } as never;
    return readCatalogues(configuration, {}).then(
      () => undefined,
      (error: Error) => error.message,
    );
  };

  test('grantd texts prints what the file needs, and the printed file says the same', async () => {
    for (const [language, texts] of [
      ['en', EN],
      ['de', DE],
    ] as const) {
      const tree = parse(await grantdPrints(workbench.folder(), ['texts', language]));
      assert.deepEqual(tree, treeOf(texts));
      assert.doesNotMatch(JSON.stringify(tree), /NaN|undefined|<[a-z/]/);
      const outcome = languageFrom(tree, language);
      assert.ok('texts' in outcome, JSON.stringify(outcome));
      await sayTheSame(outcome.texts, texts);
    }
  });

  /** Compares every text of two catalogues, with values and with each number. */
  async function sayTheSame(one: unknown, other: unknown, path = ''): Promise<void> {
    for (const [name, value] of Object.entries(other as Readonly<Record<string, unknown>>)) {
      const here = `${path}${name}`;
      const mine = (one as Readonly<Record<string, unknown>>)[name];
      if (here === 'formats') continue;
      if (typeof value === 'function') {
        assert.ok(typeof mine === 'function', here);
        for (const values of isCounted(value) ? [[1], [2], [7777]] : [['<b>', 'two', 'three', 'four']])
          assert.equal(String(await mine(...values)), String(await value(...values)), here);
      } else if (typeof value === 'object' && value !== null) await sayTheSame(mine, value, `${here}.`);
      else assert.equal(mine, value, here);
    }
  }

  test('a file that lacks a text, or has one of no use, is refused with its name', async () => {
    for (const [change, expected] of [
      [
        (tree: TextTree) => Reflect.deleteProperty(tree.consent as object, 'deny'),
        /: consent\.deny: is missing$/,
      ],
      [
        (tree: TextTree) => Reflect.deleteProperty(tree, 'denied'),
        /: denied\.title: is missing; denied\.text: /,
      ],
      [
        (tree: TextTree) => Reflect.deleteProperty(tree, 'formats'),
        /: formats\.justNow: is missing; formats\.on/,
      ],
      [
        (tree: TextTree) => Reflect.set(tree.signIn as object, 'cancel', ' '),
        /signIn\.cancel: expected a text/,
      ],
      [
        (tree: TextTree) => Reflect.set(tree.signIn as object, 'cancel', 'a\nb'),
        /signIn\.cancel: .*line breaks/,
      ],
      [
        (tree: TextTree) => Reflect.set(tree, 'signin', {}),
        /: signin: there is no such text\. Did you mean signIn/,
      ],
    ] as const)
      assert.match(String(await problemsOf({ 'fr.yaml': french(change as never) })), expected);
    assert.match(String(await problemsOf({ 'fr.yaml': {} })), /; and \d+ more$/);
    assert.match(
      String(await problemsOf({ 'french.yaml': french() })),
      /french\.yaml: expected a file .* such as fr/,
    );
    assert.match(String(await problemsOf({})), /expected 1 to 50 files such as fr\.yaml, got 0$/);
    assert.equal(await problemsOf({ 'fr.json': french((tree) => delete tree.console) }), undefined);
  });

  test('numbers have the words of their plural category', () => {
    const forms = { one: '{1} plik', few: '{1} pliki', many: '{1} plików', other: '{1} pliku' };
    const polish = languageFrom(
      french((tree) => {
        for (const [section, name] of [
          ['factors', 'recoveryText'],
          ['account', 'more'],
          ['account', 'earlierSignIns'],
        ] as const)
          Reflect.set(tree[section] as object, name, forms);
        const { notices } = tree.account as { notices: object };
        Reflect.set(notices, 'other_sessions_ended', forms);
        // Optional, and it counts too.
        Reflect.deleteProperty(tree, 'console');
      }),
      'pl',
    );
    assert.ok('texts' in polish, JSON.stringify(polish));
    const { more } = polish.texts.account;
    assert.deepEqual([1, 2, 5, 22].map(more), ['1 plik', '2 pliki', '5 plików', '22 pliki']);
    const lacking = textsWith(polish.texts, { account: { more: { one: '{1}', other: '{1}' } } });
    assert.deepEqual(lacking, {
      problems: [
        { path: 'account.more.few', problem: 'is missing' },
        { path: 'account.more.many', problem: 'is missing' },
      ],
    });
  });

  test('users switch to it on each page, and it is remembered', async () => {
    const folder = folderOf({ 'fr.yaml': french() });
    const server = await workbench.start(await workbench.home(), ['--demo', '--languages', folder]);
    const title = ({ html }: { html: string }) => /<h1>([^<]*)<\/h1>/.exec(html)?.[1];
    const url = (parameters = {}) => authorizationUrl(server.url, newPkce(), parameters);
    const browser = new Browser(server.url);
    const login = await browser.get(url());
    assert.match(login.html, /<html lang="en">/);
    const [, href = ''] =
      /<a id="language-fr" href="([^"]*)" lang="fr" [^>]*>Français<\/a>/.exec(login.html) ?? [];
    assert.match(login.html, /<a id="language-de" [^>]*>Deutsch<\/a>/);
    const switched = await browser.get(new URL(href.replaceAll('&amp;', '&'), login.url).href);
    assert.deepEqual([title(switched), switched.url], ['Connexion', login.url]);
    assert.equal(title(await browser.get(url())), 'Connexion');
    assert.equal(
      title(await browser.get(url({ ui_locales: 'de' }))),
      'Connexion',
      'the user has just chosen',
    );

    // OpenID Connect Core §3.1.2.1 Later, the wish of an application counts more.
    const [choice = '', ms = ''] = browser.cookies.get('grantd_language')?.split('.') ?? [];
    browser.cookies.set('grantd_language', `${choice}.${Number(ms) - 31 * 60 * 1000}`);
    assert.equal(title(await browser.get(url({ ui_locales: 'de' }))), 'Anmelden');
    assert.equal(title(await browser.get(url())), 'Connexion');
    browser.cookies.set('grantd_language', 'xx.1');
    assert.equal(title(await browser.get(url())), 'Sign in');
    browser.cookies.set('grantd_language', '__proto__');
    assert.equal(title(await browser.get(url())), 'Sign in');

    // The parameter leads nowhere else, and a page never repeats what anyone has put into its URL.
    const response = await fetch(`${server.url}//evil.example/?ui_language=fr`, { redirect: 'manual' });
    assert.equal(new URL(response.headers.get('location') ?? '', `${server.url}/x`).origin, server.url);
    const foreign = await new Browser(server.url).get(url({ client_id: 'unknown', state: 'evil' }));
    assert.doesNotMatch(foreign.html, /evil|id="language-/);
    assert.equal((await fetch(`${server.url}/?ui_language=xx`, { redirect: 'manual' })).status, 200);
    await server.stop();
  });
});

test('the example of the documentation is a theme, and the server knows each member of the JSON Schema', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/branding.md'), 'utf8');
  const [, example = ''] = /```yaml\n( +# yaml-language-server[\s\S]*?)```/.exec(page) ?? [];
  const theme = parse(example) as Readonly<Record<string, object>>;
  const files = { logo: 'logo.svg', font: { stack: 'serif', file: 'acme.woff2' } };
  await read(folderWith({ ...theme, ...files }));
  const { properties } = schemaOfTheme() as { readonly properties: Readonly<Record<string, Schema>> };
  assert.deepEqual(
    Object.keys(theme).filter((name) => !Object.hasOwn(properties, name)),
    [],
  );
  const colors = Object.keys(properties.colors?.properties?.light?.properties ?? {});
  const { light } = SCHEMES;
  assert.equal(colors.length, Object.keys(light).length + 2);
  const whole = Object.fromEntries(
    colors.map((name) => [
      name,
      ({ ...light, brand: '#222222', accent: '#222222' } as Record<string, string>)[name],
    ]),
  );
  const { operator } = await read(folderWith({ ...theme, ...files, colors: { light: whole }, $schema: 'x' }));
  assert.deepEqual(operator.theme?.colors?.light, whole);
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}
