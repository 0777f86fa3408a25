import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { browserText, isPhone } from '../../src/pages/drawing/browser_names.ts';
import { Formats } from '../../src/texts/formats/formats.ts';
import { languages, textsIn } from '../../src/texts/texts.ts';

/** Every text by its path; functions are called with an example. */
async function textsByPath(catalogue: unknown, path = ''): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(catalogue as Readonly<Record<string, unknown>>)) {
    const here = `${path}${name}`;
    if (typeof value === 'string') found.set(here, value);
    else if (typeof value === 'function') found.set(here, String(await value('2', '2', '2', '2')));
    else if (typeof value === 'object' && !(value instanceof Formats)) {
      for (const [inner, text] of await textsByPath(value, `${here}.`)) found.set(inner, text);
    }
  }
  return found;
}

/** Words that are the same in both languages. */
const SAME: ReadonlySet<string> = new Set([
  ...['problemTitle', 'consent.website', 'home.title', 'passkeys.title', 'passkeys.defaultName'],
  ...['devices.code', 'console.pageGroups.server', 'console.columns.name', 'console.browser'],
  ...['console.filterValues.factor.passkey', 'console.badges.administrator', 'console.token'],
  ...['console.clientUses.api.name', 'console.clientUses.agent.name'],
]);

describe('catalogues', () => {
  for (const language of languages().filter((one) => one !== 'en')) {
    test(`${language} says everything that en says, and in its own words`, async () => {
      const [here, english] = [await textsByPath(textsIn(language)), await textsByPath(textsIn('en'))];
      assert.deepEqual([...here.keys()].sort(), [...english.keys()].sort());
      for (const [path, text] of here) {
        assert.notEqual(text.trim(), '', path);
        if (!SAME.has(path)) assert.notEqual(text, english.get(path), path);
      }
    });
  }

  test('no two fields have the same label', () => {
    for (const { labels, console: words } of languages().map(textsIn)) {
      const all = [...Object.values(labels), words.clientType];
      assert.deepEqual(
        all.filter((label, at) => all.indexOf(label) !== at),
        [],
      );
    }
  });

  test('each names its own language', () => {
    for (const language of languages()) assert.equal(textsIn(language).language, language);
  });
});

describe('numbers and times', () => {
  const NOW_MS = Date.UTC(2026, 2, 12, 14, 5);
  const said = (passedSeconds: number) =>
    languages().map((language) => textsIn(language).formats.past(NOW_MS - passedSeconds * 1000, NOW_MS));

  test('past times are relative for a week, then dates', () => {
    assert.deepEqual(said(0), ['just now', 'gerade eben']);
    assert.deepEqual(said(-5), ['just now', 'gerade eben']);
    assert.deepEqual(said(60), ['1 minute ago', 'vor 1 Minute']);
    assert.deepEqual(said(7199), ['1 hour ago', 'vor 1 Stunde']);
    assert.deepEqual(said(86_400), ['yesterday', 'gestern']);
    assert.deepEqual(said(6 * 86_400), ['6 days ago', 'vor 6 Tagen']);
    assert.deepEqual(said(7 * 86_400), ['on 5 March 2026', 'am 5. März 2026']);
  });

  test('distances go both ways, and end after a week', () => {
    const distant = (seconds: number) => textsIn('en').formats.distance(NOW_MS + seconds * 1000, NOW_MS);
    for (const [seconds, text] of [
      [0, 'just now'],
      [-59, 'just now'],
      [-119, '1 minute ago'],
      [1, 'in 1 minute'],
      [61, 'in 2 minutes'],
      [7199, 'in 1 hour'],
      [-7199, '1 hour ago'],
      [86_400, 'tomorrow'],
      [-86_400, 'yesterday'],
      [7 * 86_400 - 1, 'in 6 days'],
      [7 * 86_400, undefined],
      [-7 * 86_400, undefined],
    ] as const)
      assert.equal(distant(seconds), text, String(seconds));
  });

  test('a waiting time is never rounded down', () => {
    const waits = (seconds: number) =>
      languages().map((language) => textsIn(language).formats.duration(seconds));
    assert.deepEqual(waits(0), ['1 second', '1 Sekunde']);
    assert.deepEqual(waits(59.1), ['1 minute', '1 Minute']);
    assert.deepEqual(waits(61), ['2 minutes', '2 Minuten']);
    assert.deepEqual(waits(3541), ['1 hour', '1 Stunde']);
    assert.deepEqual(waits(3601), ['2 hours', '2 Stunden']);
    assert.deepEqual(waits(47 * 3600), ['47 hours', '47 Stunden']);
    assert.deepEqual(waits(47 * 3600 + 1), ['2 days', '2 Tage']);
    assert.deepEqual(waits(7 * 86_400), ['7 days', '7 Tage']);
  });

  test('a number and its words agree', () => {
    const ended = (count: number) =>
      languages().map((language) => textsIn(language).account.notices.other_sessions_ended(count));
    assert.deepEqual(ended(1), ['1 other browser is signed out.', '1 anderer Browser ist abgemeldet.']);
    assert.deepEqual(ended(3), ['3 other browsers are signed out.', '3 andere Browser sind abgemeldet.']);
  });
});

describe('a browser in words', () => {
  const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0';
  for (const [userAgent, english, german, phone] of [
    [
      'Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0',
      'Firefox on Linux',
      'Firefox unter Linux',
      false,
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36`,
      'Chrome on Windows',
      'Chrome unter Windows',
      false,
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36 Edg/138.0.0.0`,
      'Edge on Windows',
      'Edge unter Windows',
      false,
    ],
    [
      `Mozilla/5.0 (Linux; Android 15; K) ${CHROME} Mobile Safari/537.36`,
      'Chrome on Android',
      'Chrome unter Android',
      true,
    ],
    [
      'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
      'Samsung Internet on Android',
      'Samsung Internet unter Android',
      true,
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
      'Safari on iPhone',
      'Safari auf dem iPhone',
      true,
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
      'Safari on macOS',
      'Safari unter macOS',
      false,
    ],
    ['curl/8.14.1 (Linux)', 'Unknown browser on Linux', 'Unbekannter Browser unter Linux', false],
    ['curl/8.14.1', 'Unknown browser', 'Unbekannter Browser', false],
    [undefined, 'Unknown browser', 'Unbekannter Browser', false],
  ] as const) {
    test(`${english}: ${userAgent?.slice(-40)}`, () => {
      assert.equal(browserText(userAgent, textsIn('en')), english);
      assert.equal(browserText(userAgent, textsIn('de')), german);
      assert.equal(isPhone(userAgent), phone);
    });
  }
});
