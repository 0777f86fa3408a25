// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  DE,
  EN,
  languageFor,
  localizedMember,
  OWN_CATALOGUES,
  useCatalogues,
} from '../../src/texts/texts.ts';

describe('the language of a page', () => {
  const cases: readonly (readonly [string, readonly string[], string | undefined, string])[] = [
    ['is English where nobody says anything', [], undefined, 'en'],
    ['is what the application asks for, before what the browser prefers', ['de'], 'en', 'de'],
    ['is the first of the application’s that there is', ['fr-CA', 'de', 'en'], undefined, 'de'],
    ['is found by its primary tag, in any case', ['DE-at'], undefined, 'de'],
    ['is the browser’s where the application asks for one that there is not', ['fr'], 'de-CH', 'de'],
    ['is found by the primary tag of a tag of several parts', [], 'de-CH-1901, en-US@posix;q=x, *', 'de'],
    ['is the one of the greatest weight', [], 'en;q=0.7, de;q=0.8', 'de'],
    ['is the first of those with one weight', [], 'fr, de, en', 'de'],
    ['is none of weight 0', [], 'de;q=0, fr', 'en'],
    ['is the default for *', [], '*', 'en'],
    ['is not taken from * before a tag of less weight', [], '*, de;q=0.5', 'de'],
    ['survives weights that are none', [], 'de;q=high, en;q=0.1', 'en'],
    ['survives white space and case', [], ' DE ; Q=0.9 ,en;q=0.2', 'de'],
    ['survives nonsense', ['', '--', 'constructor'], ',;q=;,__proto__', 'en'],
    ['is another one than one of weight 0', [], 'en;q=0, *', 'de'],
    ['is the default if no language has another weight than 0', [], 'en;q=0, de;q=0', 'en'],
    ['is found by a locale with an underscore', ['de_AT.UTF-8'], undefined, 'de'],
    ['is not a longer word that begins like it', ['deutsch', 'enm'], 'den', 'en'],
  ];
  for (const [title, uiLocales, acceptLanguage, language] of cases) {
    test(`§3.1.2.1 ${title}`, () => {
      assert.equal(languageFor(uiLocales, acceptLanguage), language);
    });
  }

  test('is looked for in the first 50 tags only', () => {
    const many = Array.from({ length: 50 }, () => 'fr');
    assert.equal(languageFor([...many, 'de'], undefined), 'en');
    assert.equal(languageFor([], [...many, 'de'].join(',')), 'en');
  });
});

test('RFC 4647 §3.4 a tag loses subtags at its end until a catalogue has it', () => {
  useCatalogues(new Map([...OWN_CATALOGUES, ['zh', EN], ['zh-Hant', DE]]));
  try {
    for (const [tag, language] of [
      ['zh-Hant-TW', 'zh-Hant'],
      ['ZH-HANT', 'zh-Hant'],
      ['zh-Hans-CN', 'zh'],
      ['zh-Hantu', 'zh'],
      ['zh', 'zh'],
    ] as const)
      assert.equal(languageFor([], tag), language, tag);
  } finally {
    useCatalogues(OWN_CATALOGUES);
  }
});

describe('RFC 7591 §2.2 a member of a client in a language', () => {
  const metadata = {
    client_name: 'Photos',
    'client_name#de-CH': 'Fötteli',
    'client_name#de': 'Fotos',
    'policy_uri#fr': 'https://photos.example/fr',
    'tos_uri#EN-gb': 'https://photos.example/en',
  };
  for (const [title, member, language, value] of [
    ['is the one tagged with it', 'client_name', 'de', 'Fotos'],
    ['is the one without a tag where none is tagged with it', 'client_name', 'en', 'Photos'],
    ['is the one tagged with a variety of it, in any case', 'tos_uri', 'en', 'https://photos.example/en'],
    ['is absent where there is one in another language only', 'policy_uri', 'de', undefined],
    ['is absent where there is none', 'logo_uri', 'de', undefined],
  ] as const) {
    test(`RFC 7591 §2.2 ${title}`, () => assert.equal(localizedMember(metadata, member, language), value));
  }
});
