// What the console says about the sign-in of a user, in German.
import { html } from 'hono/html';
import type * as en from '../en/support.ts';

export const SUPPORT: typeof en.SUPPORT = {
  title: (name) => `So meldet sich ${name} an`,
  link: 'So meldet sich dieser Benutzer an',
  lead: 'Was der Benutzer jetzt sähe. Dafür meldet sich niemand als dieser Benutzer an.',
  can: (name) => html`${name} kann sich anmelden.`,
  cannot: (name) => html`${name} kann sich nicht anmelden.`,
  forClient: 'Für eine Anwendung (Name oder ID)',
  show: 'Anzeigen',
  obstacles: {
    disabled: 'Der Benutzer ist deaktiviert.',
    locked: 'Es gab zu viele falsche Versuche. Deshalb lehnt der Server manche Schritte eine Weile ab.',
    no_way: 'Der Benutzer hat keinen Weg zur Anmeldung, den dieser Server annimmt.',
    client_disabled: 'Die Anwendung ist deaktiviert.',
    not_in_groups: 'Die Anwendung ist für bestimmte Gruppen, und der Benutzer ist in keiner davon.',
    factor_needed:
      'Der Benutzer muss zuerst einen Faktor hinzufügen. Der Server bietet es bei der Anmeldung an.',
  },
  advice: {
    disabled: 'Aktivieren Sie den Benutzer.',
    locked: 'Entsperren Sie den Benutzer, oder warten Sie.',
    no_way:
      'Setzen Sie ein Passwort, laden Sie den Benutzer noch einmal ein, oder lassen Sie ihn einen Link aus einer E-Mail benutzen.',
    client_disabled: 'Aktivieren Sie die Anwendung.',
    not_in_groups: 'Nehmen Sie den Benutzer in eine der Gruppen auf.',
    factor_needed: 'Sie müssen nichts tun. Die Seiten führen den Benutzer hindurch.',
  },
  lockedFrom: (places, end) => html`Gesperrt von ${places} aus bis ${end}`,
  locks: 'Gesperrt',
  lock: (step, places, end) =>
    html`${step}: von ${places} aus, bis ${end}, nach zu vielen falschen Versuchen. Andere Orte sind nicht betroffen.`,
  places: (count, shown) => (count === 1 ? 'einem Ort' : `${shown} Orten`),
  lockedSteps: { password: 'Das Passwort', code: 'Einmalcodes', mailed_link: 'Links aus E-Mails' },
  ways: 'Wege zur Anmeldung',
  wayNames: {
    password: 'Passwort',
    email_code: 'Code per E-Mail',
    directory: 'Passwort des Verzeichnisses',
    passkey: 'Ein Passkey',
    provider: 'Anbieter',
  },
  closed: {
    no_password: 'Der Benutzer hat keines.',
    no_verified_address: 'Der Benutzer hat keine bestätigte E-Mail-Adresse.',
    address_of_provider:
      'Danach fragt der Server nicht, denn der Name ist eine Adresse, deren Benutzer sich bei einem Anbieter anmelden.',
    not_configured: 'Das ist auf diesem Server nicht eingerichtet.',
    not_linked: 'Dort hat der Benutzer noch kein Konto.',
  },
  next: {
    nothing: 'Reicht für die Anmeldung.',
    second_factor: 'Danach folgt ein zweiter Faktor.',
    new_factor: 'Danach muss der Benutzer einen Faktor hinzufügen.',
    refused: 'Danach lehnt der Server ab, weil kein Faktor des Benutzers jetzt die Richtlinie erfüllt.',
  },
  factors: 'Zweite Faktoren',
  noFactors: 'Keine.',
  passkeys: (count, shown) => (count === 1 ? 'ein Passkey' : `${shown} Passkeys`),
  securityKeys: (count, shown) =>
    count === 1 ? 'ein Sicherheitsschlüssel' : `${shown} Sicherheitsschlüssel`,
  app: 'eine Authenticator-App',
  codes: (count, shown) => (count === 1 ? 'ein Wiederherstellungscode' : `${shown} Wiederherstellungscodes`),
  countFrom: (when) => html`Sie zählen ganz ${when}.`,
  policy: 'Was eine Anmeldung braucht',
  policyOf: {
    server: 'Vorgabe des Servers',
    group: (name) => `Gruppe ${name}`,
    client: (name) => `Anwendung ${name}`,
  },
  policyNames: {
    password: 'Ein Passwort reicht',
    second_factor_if_enrolled: 'Zweiter Faktor, wenn der Benutzer einen hat',
    second_factor: 'Zweiter Faktor',
    phishing_resistant: 'Ein Passkey',
  },
  email: 'E-Mail-Adresse',
  verified: 'bestätigt',
  unverified: 'nicht bestätigt, deshalb bekommt der Benutzer keine E-Mails zum Konto',
  attempts: 'Letzte Anmeldungen und Versuche',
  attemptsText:
    'Ablehnungen ohne Prüfung, etwa nach zu vielen Versuchen, und Ablehnungen einer Anwendung stehen nur im Log.',
  noAttempts: 'Keine in den letzten 30 Tagen.',
  signedInWith: (ways) => `Angemeldet mit ${ways}`,
  signedIn: 'Angemeldet',
  refusedAt: {
    password: 'Abgelehnt beim Passwort',
    email_code: 'Abgelehnt beim Code aus der E-Mail',
    directory: 'Abgelehnt vom Verzeichnis',
    passkey: 'Abgelehnt beim Passkey',
    security_key: 'Abgelehnt beim Sicherheitsschlüssel',
    code: 'Abgelehnt beim Code',
    provider: 'Abgelehnt nach dem Anbieter',
    other: 'Abgelehnt',
  },
  request: 'Ereignisse der Anfrage',
};
