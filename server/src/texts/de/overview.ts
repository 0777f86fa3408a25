// What the overview of the console says about the state of the server, in German.
import type * as en from '../en/overview.ts';
import { FORMATS } from './formats.ts';

const plural = FORMATS.counted.bind(FORMATS);

export const OVERVIEW: typeof en.OVERVIEW = {
  title: 'Was jetzt nicht stimmt',
  nothing: 'Alles in Ordnung.',
  lookedAt: (topics) => `Angesehen: ${topics}.`,
  topics: {
    database: 'die Datenbank',
    clock: 'die Uhr',
    requests: 'Anfragen und Anmeldungen der letzten Minuten',
    mails: 'die E-Mails',
    registrations: 'die Zahl registrierter Anwendungen',
    certificate: 'das TLS-Zertifikat',
    backups: 'die Sicherungen',
  },
  troubles: {
    not_ready: plural('Die Datenbank antwortet nicht.', 'Die Datenbank antwortet nicht.'),
    clock_wrong: plural('Die Uhr geht um 1 Sekunde falsch.', 'Die Uhr geht um # Sekunden falsch.'),
    storage_faults: plural(
      'In den letzten 5 Minuten ist 1 Zugriff auf die Datenbank fehlgeschlagen.',
      'In den letzten 5 Minuten sind # Zugriffe auf die Datenbank fehlgeschlagen.',
    ),
    faults: plural(
      'In den letzten 5 Minuten ist 1 Anfrage an einer Störung gescheitert (5xx).',
      'In den letzten 5 Minuten sind # Anfragen an Störungen gescheitert (5xx).',
    ),
    refusals: plural(
      'In den letzten 5 Minuten wurde 1 Anfrage abgelehnt, mehr als üblich.',
      'In den letzten 5 Minuten wurden # Anfragen abgelehnt, mehr als üblich.',
    ),
    sign_ins: plural(
      'In den letzten 5 Minuten ist 1 Anmeldung fehlgeschlagen, mehr als üblich.',
      'In den letzten 5 Minuten sind # Anmeldungen fehlgeschlagen, mehr als üblich.',
    ),
    limits: plural(
      'In den letzten 5 Minuten hat eine Grenze 1 Anfrage aufgehalten.',
      'In den letzten 5 Minuten haben Grenzen # Anfragen aufgehalten.',
    ),
    mails: plural('1 E-Mail konnte nicht verschickt werden.', '# E-Mails konnten nicht verschickt werden.'),
    registrations: plural(
      '1 Anwendung hat sich selbst registriert, fast so viele wie erlaubt.',
      '# Anwendungen haben sich selbst registriert, fast so viele wie erlaubt.',
    ),
    certificate_ended: plural('Das TLS-Zertifikat ist abgelaufen.', 'Das TLS-Zertifikat ist abgelaufen.'),
    certificate: plural('Das TLS-Zertifikat läuft in 1 Tag ab.', 'Das TLS-Zertifikat läuft in # Tagen ab.'),
    no_backup: plural('Im Ordner ist keine Sicherung.', 'Im Ordner ist keine Sicherung.'),
    backup: plural('Die neueste Sicherung ist 1 Tag alt.', 'Die neueste Sicherung ist # Tage alt.'),
  },
  changed: 'Geändert seit gestern',
  unchanged: 'Niemand hat etwas geändert.',
  changedText: 'Änderungen durch die Verwaltung und durch den Server selbst.',
  allEvents: 'Alle Ereignisse seit gestern',
  refusals: 'Häufigste Ablehnungen',
  noRefusals: 'Keine.',
  refusalCount: 'Abgelehnt',
  refusalReason: 'Warum',
  span: (duration) => `Die letzten ${duration}`,
};
