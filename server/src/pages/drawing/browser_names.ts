import type { Texts } from '../../texts/texts.ts';

/** Browsers also name older browsers, so the first match decides. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\/|\bOPiOS\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bChrome\/|\bCriOS\/|\bChromium\//, 'Chrome'],
  [/\bVersion\/\S+ .*\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const PHONES: readonly string[] = ['iPhone', 'Android'];

/** No real browser sends a longer header. */
const MAX_USER_AGENT = 1024;

/** `Firefox on Linux`: helps users to tell their browsers apart. */
export function browserText(userAgent: string | undefined, texts: Texts): string {
  const [browser, system] = [find(BROWSERS, userAgent), find(SYSTEMS, userAgent)];
  if (browser === undefined) {
    return system === undefined ? texts.browsers.unknown : texts.browsers.unknownOn(system);
  }
  return system === undefined ? browser : texts.browsers.onSystem(browser, system);
}

export function isPhone(userAgent: string | undefined): boolean {
  return PHONES.includes(find(SYSTEMS, userAgent) ?? '');
}

function find(table: readonly (readonly [RegExp, string])[], userAgent = ''): string | undefined {
  const text = userAgent.slice(0, MAX_USER_AGENT);
  return table.find(([pattern]) => pattern.test(text))?.[1];
}
