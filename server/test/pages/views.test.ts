import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { CHARTS_SCRIPT, figuresOf } from '../../src/console/charts.ts';
import { FRAME_SCRIPT } from '../../src/console/frame.ts';
import { PRINT_SCRIPT } from '../../src/pages/account/factors_page.ts';
import { consentPage } from '../../src/pages/consent/consent_page.ts';
import { applicationMark, colorOfHue, contrast, isColor, textOn } from '../../src/pages/drawing/brand.ts';
import { COPY_SCRIPT } from '../../src/pages/drawing/copying.ts';
import { REVEAL_SCRIPT } from '../../src/pages/drawing/fields.ts';
import type { Page } from '../../src/pages/drawing/layout.ts';
import { contentSecurityPolicy, documentOf, SEND_SCRIPT, styleOf } from '../../src/pages/drawing/layout.ts';
import { PASSKEY_SCRIPT } from '../../src/pages/drawing/passkey_form.ts';
import { type Language, languages, textsIn } from '../../src/texts/texts.ts';
import { CONSOLE_SAMPLES, STRANGER, samplePages } from './sample_pages.ts';

const HOSTILE = `"'><b id=hostile onclick=x>&`;
const ESCAPED = '&quot;&#39;&gt;&lt;b id=hostile onclick=x&gt;&amp;';

/** The scripts of pages. */
const SCRIPTS = [REVEAL_SCRIPT, PASSKEY_SCRIPT, CHARTS_SCRIPT, COPY_SCRIPT, PRINT_SCRIPT, FRAME_SCRIPT];

/** The chart library, which this server also has. */
const LIBRARY = /<script src="(\/console\/uplot\.js\?v=[\w-]{16})"><\/script>/;

/** The page without the scripts that its policy allows. */
function withoutScripts(html: string, { scripts = [], fetches = false }: Page): string {
  for (const script of scripts) assert.ok(SCRIPTS.includes(script));
  const withoutLibrary = fetches ? html.replace(LIBRARY, '') : html;
  return [...scripts, SEND_SCRIPT].reduce(
    (rest, script) => rest.replace(`<script>${script}</script>`, ''),
    withoutLibrary,
  );
}

const draw = async (page: Page) => String(await documentOf(page));

async function drawn(name: string, language: Language = 'en'): Promise<string> {
  const page = samplePages(language).get(name);
  assert.ok(page, name);
  return draw(page);
}

const all = (html: string, pattern: RegExp) => [...html.matchAll(pattern)].map(([, first = '']) => first);

test('the main button of the security page adds the missing factor, and changes the password otherwise', async () => {
  const main = (html: string) => all(html, /<button id="([^"]+)" type="submit"[^>]* class="primary"/g);
  assert.deepEqual(main(await drawn('account_security_factor_needed')), ['add-passkey']);
  assert.deepEqual(main(await drawn('account_security_factors')), ['change-password']);
});

test('the page of a user, client or group has its name, its state and all acts at the top', async () => {
  for (const [name, heading, primary, acts] of [
    ['console_user', 'bob', 'unlock', ['ask-edit', 'ask-set_password', 'ask-disable', 'ask-remove']],
    ['console_client', 'Photos', 'enable', ['ask-edit', 'ask-rotate_secret', 'ask-revoke', 'ask-remove']],
    ['console_group_of_users', 'staff', 'ask-join', ['ask-edit', 'ask-remove']],
  ] as const) {
    const html = await drawn(name);
    const [top = ''] = html.split('<div class="columns">');
    assert.match(top, new RegExp(`<h1><bdi[^>]*>${heading}</bdi></h1>`), name);
    assert.deepEqual(
      all(top, /<(?:a|button) id="([^"]+)"[^>]* class="(?:button )?primary"/g),
      [primary],
      name,
    );
    assert.match(top, /<a id="events" class="button" href="\/console\/audit\?/, name);
    const [, menu = ''] = top.split('<details class="menu">');
    for (const act of acts) assert.ok(menu.includes(`id="${act}"`), `${name}: ${act}`);
  }
  assert.match(await drawn('console_user'), /<span class="badge wait">Locked<\/span>/);
  const client = await drawn('console_client');
  assert.match(client, /<title>Photos – Console – /);
  assert.match(client, /<span class="copied"><code class="identifier" title="web">web<\/code>/);
});

test('a token that was revoked shows that the one of its pair has ended with it', async () => {
  const pairIn = (html: string) =>
    /<div class="box (\w*)"><span>Access token<\/span><small>(.*?)<\/small>/.exec(html)?.slice(1);
  assert.deepEqual(pairIn(await drawn('console_token_dead')), ['', 'issued with it']);
  assert.deepEqual(pairIn(await drawn('console_token_ended')), ['dead', 'issued with it: inactive']);
});

test('an email that failed says why in the language of the page, and quotes the mail server', async () => {
  for (const [language, why] of [
    ['en', 'the mail server refused the sender or the recipient'],
    ['de', 'der Mailserver hat Absender oder Empfänger abgelehnt'],
  ] as const)
    assert.ok(
      (await drawn('console_mails', language)).includes(
        `<code>mail.example.com:587</code>: ${why}: <q><bdi>550 No such user</bdi></q>`,
      ),
      language,
    );
});

test('the peak of a chart is that of any whole minute, and does not change with the next sample', () => {
  const [one] = CONSOLE_SAMPLES;
  assert.ok(one);
  const samples = Array.from({ length: 60 }, (_, at) => ({
    ...one,
    atMs: at * 10_000,
    requests: { token: at >= 20 && at < 26 ? 10 : 0 },
  }));
  for (let end = 26; end <= 60; end += 1) {
    const [requests] = figuresOf(samples.slice(0, end), textsIn('en')).charts;
    assert.deepEqual(requests?.series[1]?.cells.slice(1), ['60', '60'], `after ${end} samples`);
  }
});

test('a list whose search stopped says so instead of that nothing was found, and leads on', async () => {
  for (const [language, texts] of [
    ['en', ['The search stopped after 12,000 users. There may be more.', '>Continue the search</a>']],
    ['de', ['Die Suche hat nach 12.000 Benutzern angehalten. Es kann weitere geben.', '>Weiter suchen</a>']],
  ] as const) {
    const html = await drawn('console_users_searched', language);
    for (const text of texts) assert.ok(html.includes(text), text);
    assert.match(html, /<a id="next" class="button" href="\/console\/users\?state=disabled&amp;cursor=b">/);
    assert.doesNotMatch(html, /Nothing found|Nichts gefunden/);
  }
});

test('a service without access has no button, and the hour of its last use', async () => {
  for (const [language, texts] of [
    ['en', ['last used on 9 March 2026 between 21:00 and 22:00 UTC', 'Has no access any more.']],
    [
      'de',
      ['zuletzt verwendet am 9. März 2026 zwischen 21:00 und 22:00 Uhr UTC', 'Hat keinen Zugriff mehr.'],
    ],
  ] as const)
    for (const name of ['account', 'account_applications']) {
      const html = await drawn(name, language);
      const [entry = ''] = all(html, /(<h3>[^\n]*Photo printer[\s\S]*?)<\/li>/g);
      for (const text of texts) assert.ok(entry.includes(text), text);
      assert.doesNotMatch(html, /end-access-printer/);
      assert.match(html, /end-access-assistant/);
    }
});

test('the console shows the tokens before and after an exchanged one, and which of them live', async () => {
  const html = await drawn('console_token_exchanged');
  const related = all(html, /<div>(Access token <code>.*?)<\/div>/g).map((row) =>
    row.replaceAll(/<[^>]*>/g, ''),
  );
  assert.deepEqual(related, [
    'Access token Yk0S3u7rC2u5u1Wq8cHn4A (photos/web): active',
    'Access token b5r0sYqmJ8Y2nDq6nL6kJw: inactive no_record',
    'Access token oX2hU3a7kRr2bQm0lVt9xQ (prints): inactive ancestor_ended',
  ]);
  const boxes = all(html, /<div class="box ([^"]*"><span>.*?)<\/small>/g).map((box) =>
    box.replaceAll(/<[^>]*>/g, ' '),
  );
  assert.deepEqual(
    boxes.slice(-4).map((box) => box.replaceAll(/\s+/g, ' ')),
    [
      '"> Access token photos/web: active',
      'dead"> Access token b5r0sYqmJ8Y2nDq6nL6kJw: inactive',
      'this dead"> Access token this token: inactive',
      'dead"> Obtained with it 1, 0 of them active',
    ],
  );
});

test('the console shows the host of the document of a client, and when it was last valid', async () => {
  const html = await drawn('console_client_by_document');
  assert.match(html, /class="badge[^>]*>By document</);
  assert.match(html, /<dt>Host of its document<\/dt><dd><bdi class="name">editor\.example<\/bdi>/);
  assert.match(html, /<dt>Document last valid <[^>]*>document_valid_at<\/\w+><\/dt><dd><time /);
  assert.doesNotMatch(await drawn('console_client'), /last valid/);
});

for (const language of languages()) {
  describe(`pages in ${language}`, () => {
    for (const [name, page] of samplePages(language)) {
      test(`${name} is a document with a language, a title, one headline and no level left out`, async () => {
        const html = await draw(page);
        assert.match(html, new RegExp(`^<!doctype html>\n<html lang="${language}">`));
        assert.equal(all(html, /<title>([^<]+)<\/title>/g).length, 1);
        const levels = all(html, /<h([1-6])[ >]/g).map(Number);
        assert.equal(levels.filter((level) => level === 1).length, 1);
        assert.equal(levels[0], 1);
        for (const [at, level] of levels.entries())
          assert.ok(level <= (levels[at - 1] ?? 0) + 1, `${levels}`);
        assert.doesNotMatch(withoutScripts(html, page), /undefined|\[object|NaN|Invalid Date|=&gt;/);
      });

      test(`${name} runs nothing but the scripts of the server, fetches nothing from outside and has no style of its own`, async () => {
        const html = await draw(page);
        assert.doesNotMatch(
          withoutScripts(html, page),
          /<script|<iframe|<object|<base|<meta http-equiv|javascript:/i,
        );
        assert.doesNotMatch(html, /<[^>]*\s(style|on[a-z]+)=/i);
        for (const source of all(withoutScripts(html, page), /\ssrc="([^"]*)"/g))
          assert.match(source, /^data:image\//);
        assert.doesNotMatch(styleOf(page), /url\(|@import/);
      });

      test(`${name} has each id once, and each label and description belongs to one`, async () => {
        const html = await draw(page);
        const ids = all(html, /\sid="([^"]*)"/g);
        assert.deepEqual(ids, [...new Set(ids)]);
        for (const id of ids) assert.match(id, /^[^\s]+$/);
        for (const named of all(html, /\s(?:for|aria-describedby|aria-labelledby|aria-controls)="([^"]*)"/g))
          for (const id of named.split(' ')) assert.ok(ids.includes(id), id);
        const fields = all(html, /<(?:input|select|textarea) id="([^"]*)"/g);
        assert.deepEqual(all(html, /<label for="([^"]*)"/g), fields);
      });
    }

    test('escape every text from outside', async () => {
      for (const [name, page] of samplePages(language, () => HOSTILE)) {
        const html = await draw(page);
        assert.ok(html.includes(ESCAPED), name);
        assert.ok(!html.includes('<b id=hostile'), name);
        assert.equal(html.replaceAll(ESCAPED, '').includes(HOSTILE.slice(0, 3)), false, name);
      }
    });
  });
}

test('an unchecked application is called unchecked on every page that names it', async () => {
  const name = `<bdi class="name">${STRANGER.name}</bdi>`;
  const note = `<strong>Unchecked application.</strong> ${name} registered itself here.`;
  const badge = `${name} <span class="badge unchecked">unchecked</span>`;
  const found = new Set<string>();
  for (const [page, shown] of samplePages('en', undefined, STRANGER)) {
    const html = await draw(shown);
    if (!html.includes(STRANGER.name)) continue;
    assert.ok(html.includes(note) || html.includes(badge), page);
    found.add(page);
  }
  for (const page of [
    ...['sign_in', 'sign_in_again', 'second_code', 'choose_account', 'consent', 'denied', 'logout'],
    ...['signed_out_pending', 'account', 'account_applications', 'account_end_access'],
    'account_ended_unchecked',
  ])
    assert.ok(found.has(page), page);
});

describe('a page', () => {
  test('allows its own style sheet by hash, and pictures of its own', async () => {
    for (const page of samplePages('en').values()) {
      const [style = ''] = all(await draw(page), /<style>([\s\S]*?)<\/style>/g);
      const hash = createHash('sha256').update(style).digest('base64');
      const hashes = all(await draw(page), /<script>([\s\S]*?)<\/script>/g).map(
        (script) => ` 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
      );
      const own = page.fetches ? " 'self'" : '';
      assert.equal(
        contentSecurityPolicy(styleOf(page), { ...page, formMayLeave: false }),
        `default-src 'none'; ${hashes.length > 0 ? `script-src${own}${hashes.join('')}; ` : ''}${page.fetches ? "connect-src 'self'; " : ''}style-src 'sha256-${hash}'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
      );
    }
  });

  test('takes a colour from outside only as #rrggbb', () => {
    const [page] = [...samplePages('en').values()];
    assert.ok(page);
    const { color: _, ...plain } = page;
    const withColor = (color: string) => styleOf({ ...plain, color });
    assert.equal(withColor('red;}*{display:none'), styleOf(plain));
    assert.equal(withColor('#fff'), styleOf(plain));
    assert.notEqual(withColor('#FFDD00'), styleOf(plain));
  });

  test('shows no picture from another place, but a letter', async () => {
    for (const logo of [
      'https://tracker.example/logo.png',
      '//tracker.example/logo.png',
      '/\\tracker.example',
      'data:text/html,x',
    ]) {
      const [page] = [...samplePages('en').values()];
      assert.ok(page);
      const html = await draw({ ...page, operator: { name: 'émile', logo } });
      assert.ok(!html.includes('tracker.example') && !html.includes('data:text'), logo);
    }
    const [mark = ''] = all(
      await drawn('signed_out'),
      /<img class="mark" src="data:image\/svg\+xml,([^"]*)"/g,
    );
    assert.match(decodeURIComponent(mark), /<text [^>]*>LE<\/text>/);
  });

  test('says in its title what is wrong before what it is for', async () => {
    assert.match(await drawn('sign_in'), /<title>Sign in – login\.example\.com<\/title>/);
    assert.match(await drawn('sign_in_wrong'), /<title>Problem: Sign in – /);
    assert.match(await drawn('problem_not_found', 'de'), /<title>Problem: Seite nicht gefunden – /);
  });
});

describe('a monogram', () => {
  const markOf = async (name: string) => String(await applicationMark({ name }, { name: 'Operator' }));

  test('applications with one initial, or the same initials, look different', async () => {
    const names = ['Photos', 'Phones', 'Payroll', 'Piano', 'Pet Hotel', 'Public Health'];
    const marks = await Promise.all(names.map(markOf));
    assert.equal(new Set(marks).size, names.length);
    const letters = marks.map((mark) => /%3E([^%<]*)%3C%2Ftext/.exec(mark)?.[1]);
    assert.deepEqual(letters, ['PH', 'PH', 'PA', 'PI', 'PH', 'PH']);
    const colors = marks.map((mark) => /%23([0-9a-f]{6})/.exec(mark)?.[1]);
    assert.equal(new Set(colors).size, names.length);
  });

  test('can be read on every colour that a name may give', () => {
    for (let hue = 0; hue < 360; hue++) {
      const color = colorOfHue(hue);
      assert.ok(isColor(color), color);
      assert.ok(contrast(color, textOn(color)) >= 4.5, color);
    }
  });
});

describe('ids by which users’ tools and tests find elements', () => {
  const idsOf = (html: string) =>
    all(html, /<(?:a|button|input) [^>]*?\bid="([^"]*)"|<(?:a|button|input) id="([^"]*)"/g).filter(
      (id) => !id.startsWith('language-'),
    );
  const cases: Readonly<Record<string, readonly string[]>> = {
    sign_in: ['username', 'password', 'password-reveal', 'login-submit', 'login-cancel'],
    sign_in_account: ['username', 'password', 'password-reveal', 'login-submit'],
    sign_in_unchecked: ['username', 'password', 'password-reveal', 'login-submit', 'login-cancel'],
    sign_in_again: [
      'change-person',
      'username',
      'password',
      'password-reveal',
      'login-submit',
      'login-cancel',
    ],
    choose_account: ['account-continue', 'account-other'],
    consent: ['change-person', 'consent-allow', 'consent-deny'],
    logout: ['logout-yes', 'logout-no'],
    signed_out_pending: ['sign-in-again'],
    signed_out: ['sign-in-again'],
    still_signed_in: ['to-account'],
    leaving: ['leave', 'to-home'],
    leaving_by_form: ['leave', 'to-home'],
    signed_out_leaving: ['leave', 'sign-in-again'],
    problem_request_invalid: ['copy-request-number', 'to-home', 'to-account'],
    problem_request_expired: ['copy-request-number', 'to-application', 'to-home', 'to-account'],
    problem_form_foreign: ['copy-request-number', 'try-again', 'to-home', 'to-account'],
    problem_link_invalid: ['copy-request-number', 'new-link', 'to-home', 'to-account'],
    account: [
      'sign-out',
      'change-email',
      'end-access-photos',
      'end-access-portal%207',
      'end-access-notes',
      'end-access-assistant',
      'end-session-s1',
      'end-session-s2',
      'end-session-s3',
      'end-other-sessions',
    ],
    account_empty: ['sign-out', 'end-session-s1'],
    sign_in_all_ways: [
      'username',
      'password',
      'password-reveal',
      'forgot-password',
      'login-submit',
      'sign-up',
      'login-cancel',
    ],
    account_security: [
      'sign-out',
      'current-password',
      'current-password-reveal',
      'forgot-password',
      'new-password',
      'new-password-reveal',
      'change-password',
      'passkey-name',
      'add-passkey',
      'security-key-name',
      'add-security-key',
      'add-totp',
      'all-sessions',
    ],
    account_security_factors: [
      'sign-out',
      'current-password',
      'current-password-reveal',
      'new-password',
      'new-password-reveal',
      'change-password',
      'remove-passkey-k1',
      'remove-passkey-k2',
      'passkey-name',
      'add-passkey',
      'remove-passkey-k3',
      'security-key-name',
      'add-security-key',
      'remove-totp',
      'new-recovery-codes',
      'all-sessions',
    ],
    account_totp: ['sign-out', 'code', 'confirm-totp'],
    account_recovery_codes: ['sign-out', 'copy-codes', 'download-codes', 'print-codes', 'codes-saved'],
    sign_in_passkey: [
      'username',
      'password',
      'password-reveal',
      'forgot-password',
      'login-submit',
      'passkey-submit',
      'login-cancel',
    ],
    second_code: [
      'change-person',
      'code',
      'second-submit',
      'recovery-code',
      'recovery-submit',
      'login-cancel',
    ],
    second_all: [
      'change-person',
      'passkey-submit',
      'code',
      'second-submit',
      'recovery-code',
      'recovery-submit',
      'login-cancel',
    ],
    second_passkey: ['change-person', 'passkey-submit', 'login-cancel'],
    second_passkey_lost: [
      'change-person',
      'passkey-submit',
      'recovery-code',
      'recovery-submit',
      'login-cancel',
    ],
    account_email: ['sign-out', 'email', 'current-password', 'current-password-reveal', 'send-link'],
    account_email_confirm: ['sign-out', 'confirm-email', 'confirm-email-no'],
    account_data: [
      'sign-out',
      'export-data',
      'current-password',
      'current-password-reveal',
      'confirm',
      'delete-account',
    ],
    forgot: ['username', 'forgot-submit', 'to-sign-in'],
    sign_up: ['email', 'sign-up-submit', 'to-sign-in'],
    link_reset: ['new-password', 'new-password-reveal', 'link-submit'],
    link_reset_elsewhere: ['username', 'new-password', 'new-password-reveal', 'link-submit'],
    link_done: ['to-sign-in'],
    account_sessions: [
      'sign-out',
      'end-session-s1',
      'end-session-s3',
      'end-session-s2',
      'end-other-sessions',
    ],
    account_applications: [
      ...[
        'sign-out',
        'end-access-photos',
        'end-access-notes',
        'end-access-assistant',
        'end-access-portal%207',
      ],
    ],
    account_end_access: ['sign-out', 'end-access-yes', 'end-access-no'],
  };
  for (const [name, ids] of Object.entries(cases)) {
    test(`${name}: ${ids.join(', ')}`, async () => {
      assert.deepEqual(idsOf(await drawn(name)), ids);
    });
  }
});

describe('the sign-in form', () => {
  test('is one that password managers know', async () => {
    const html = await drawn('sign_in');
    assert.match(html, /<input id="username" name="username" value="" autocomplete="username" [^>]*required/);
    assert.match(
      html,
      /<input id="password" name="password" type="password" autocomplete="current-password" /,
    );
  });

  test('begins in the first field that is empty', async () => {
    assert.match(await drawn('sign_in'), /<input id="username"[^>]* autofocus>/);
    assert.match(await drawn('sign_in_wrong'), /<input id="password"[^>]* autofocus>/);
  });

  test('ties the problem to its fields', async () => {
    const html = await drawn('sign_in_wrong');
    assert.match(html, /<p role="alert" id="problem"/);
    assert.match(html, /<input id="password"[^>]* aria-describedby="problem" aria-invalid="true"/);
  });

  test('says how long to wait, rounded up', async () => {
    assert.match(await drawn('sign_in_wait'), /Too many attempts\. Try again in 5 minutes\./);
    assert.match(await drawn('sign_in_wait', 'de'), /Versuchen Sie es in 5 Minuten noch einmal\./);
  });
});

describe('consent', () => {
  const setting = { language: 'en', operator: { name: 'x' } } as const;
  const view = {
    action: '/consent',
    formToken: 't',
    application: { name: 'Photos' },
    person: { name: 'Alice' },
    changePerson: '/login',
    access: { scopes: ['offline_access', 'email', 'calendar:read', 'openid'] },
  };

  test('says scopes in plain words, how long at the end, and those it does not know as they are', async () => {
    const html = await draw(consentPage(view, setting));
    assert.deepEqual(all(html, /<\/svg><span>([^<]*)<\/span>/g), [
      'Know who you are',
      'See your email address',
      'Keep this access while you are away',
    ]);
    assert.deepEqual(all(html, /<code>([^<]*)<\/code>/g), ['calendar:read']);
    assert.match(html, /<li class="offline">/);
  });

  test('says of an application that registered itself, and of no other, that it is unchecked', async () => {
    const html = await draw(
      consentPage({ ...view, application: { ...view.application, isUnchecked: true } }, setting),
    );
    assert.match(
      html.replaceAll(/<\/?bdi[^>]*>/g, ''),
      /<p id="registered-itself" class="caution">.*Photos registered itself here\. x has not checked who is behind it\.<\/span><\/p>/,
    );
    assert.doesNotMatch(await draw(consentPage(view, setting)), /registered/);
  });

  test('does not take names of objects for scopes that it knows', async () => {
    const access = { scopes: ['toString', 'constructor', '__proto__'] };
    const html = await draw(consentPage({ ...view, access }, setting));
    assert.deepEqual(all(html, /<code>([^<]*)<\/code>/g), ['toString', 'constructor', '__proto__']);
  });

  test('links to the application’s policy and terms on the web, and to nothing else', async () => {
    const application = {
      name: 'Photos',
      policyUri: 'javascript:alert(1)',
      tosUri: 'https://photos.example/terms',
      clientUri: 'data:text/html,x',
    };
    const html = await draw(consentPage({ ...view, application }, setting));
    assert.deepEqual(all(html, /<a href="([^"]*)" target="_blank" rel="noopener noreferrer">/g), [
      'https://photos.example/terms',
    ]);
    assert.doesNotMatch(html, /javascript:|text\/html,x/);
  });
});

test('a list of tokens that was not searched to its end says so', async () => {
  for (const [language, text] of [
    ['en', /The next page searches on\./],
    ['de', /Die nächste Seite sucht weiter\./],
  ] as const) {
    const page = samplePages(language).get('console_tokens_further');
    assert.match(String(page && (await documentOf(page))), text);
    const none = samplePages(language).get('console_tokens_none');
    assert.doesNotMatch(String(none && (await documentOf(none))), text);
  }
});

test('code to paste imports packages alone', async () => {
  const pages = await Promise.all(
    [...samplePages('en').values()].map(async (page) => String(await documentOf(page))),
  );
  const codes = pages.flatMap((html) =>
    [...html.matchAll(/<code id="try-\w+">([^<]*)/g)].map(([, code = '']) => code),
  );
  const imported = codes.flatMap((code) =>
    [...code.matchAll(/^import .* from (.*);$/gm)].map(([, from]) => from),
  );
  assert.ok(imported.length > 0);
  for (const from of imported) assert.match(from ?? '', /^&#39;[a-z@][\w/-]*&#39;$/);
});
