// What the console says about files: imports of users, and configurations to apply, in German.
import type * as en from '../en/files.ts';

export const FILES: typeof en.FILES = {
  file: 'Datei',
  limit: (mebibytes) =>
    `Höchstens ${mebibytes} MiB. Für eine größere Datei nehmen Sie den Befehl. Der Server liest die Datei und bewahrt sie höchstens 30 Minuten verschlüsselt auf.`,
  again: 'Andere Datei wählen',
  changed:
    'Seit dem Plan, den Sie bestätigt haben, hat sich etwas geändert. Es wurde nichts getan. Das ist der neue Plan.',
  line: (line) => `Zeile ${line}`,
  more: (count) => `Und ${count} weitere.`,
  problems: {
    too_large:
      'Die Datei ist größer, als die Konsole annimmt. Nehmen Sie den Befehl auf dem Rechner des Servers.',
    no_file: 'Wählen Sie eine Datei, die nicht leer ist.',
    expired: 'Die Datei ist nicht mehr da. Wählen Sie sie noch einmal.',
    firebase:
      'Die Parameter der Hashes brauchen base64_signer_key, base64_salt_separator, rounds und mem_cost, wie die Konsole von Firebase sie zeigt.',
  },
  import: {
    lead: 'Übernehmen Sie Benutzer aus einem Export dieses oder eines anderen Programms. Die Konsole zeigt zuerst, was geschehen würde.',
    format: 'Format der Datei',
    formats: {
      grantd: 'grantd: ein JSON-Objekt je Zeile',
      csv: 'Eine Tabelle mit Kopfzeile (CSV oder JSON)',
      aspnet: 'ASP.NET-Identity',
      auth0: 'Auth0 (Export)',
      authelia: 'Authelia: die Datei users_database.yml',
      'better-auth': 'better-auth (Tabellen)',
      django: 'Django: Ausgabe von dumpdata',
      firebase: 'Firebase: Ausgabe von auth:export',
      gitea: 'Gitea und Forgejo',
      keycloak: 'Keycloak: Export eines Realms',
      kratos: 'Ory Kratos (Identitäten)',
      nextcloud: 'Nextcloud (Tabellen)',
      wordpress: 'WordPress: Ausgabe von wp user list',
    },
    choices: {
      update: 'Benutzer ändern, die es gibt, wenn sich ihre Zeile geändert hat',
      create_groups: 'Gruppen anlegen, die es noch nicht gibt',
      roles_as_groups: 'Aus den Rollen des anderen Programms Gruppen machen',
      emails_verified: 'Das andere Programm hat alle E-Mail-Adressen bestätigt',
      drop_unusable_hashes: 'Benutzer mit unbrauchbarem Passwort-Hash ohne Passwort übernehmen',
      allow_administrators: 'Zeilen dürfen Administratoren hinzufügen und ändern',
    },
    firebase: 'Hashes von Firebase',
    firebaseHash: 'Die Parameter der Hashes, wie die Konsole von Firebase sie zeigt',
    check: 'Datei prüfen',
    plan: 'Was der Import tun würde',
    planText: 'Noch hat sich nichts geändert. Importieren Sie die Datei, wenn Sie das erwarten.',
    nothing: 'Der Import würde keinen Benutzer anlegen und keinen ändern.',
    run: 'Diese Benutzer importieren',
    done: 'Der Import ist fertig',
    doneText:
      'Behalten Sie den Bericht über das, was weggelassen wurde. Er ist auf der Seite „Benutzer importieren“ einen Tag lang verfügbar.',
    doneWhole: 'Es wurde nichts weggelassen.',
    lastImport: 'Ihr letzter Import, bei dem etwas weggelassen wurde, war',
    report: 'Bericht herunterladen',
    leftOut: 'Weggelassen',
    refused: 'Abgelehnte Zeilen',
    outcomes: {
      imported: 'Angelegt',
      updated: 'Geändert',
      unchanged: 'Unverändert',
      skipped: 'Übersprungen, weil es keine Benutzer sind',
      exists: 'Abgelehnt, weil es den Benutzer mit anderen Daten gibt',
      failed: 'Aus einem anderen Grund abgelehnt',
    },
  },
  apply: {
    lead: 'Richten Sie Gruppen, Anwendungen, APIs und Texte von Berechtigungen aus einer YAML- oder JSON-Datei ein. Die Konsole zeigt zuerst, was sich ändern würde.',
    prune: 'Auch entfernen, was es auf dem Server gibt und in einem Abschnitt der Datei fehlt',
    plan: 'Änderungen zeigen',
    refused: 'Es wurde nichts geändert. Die Datei muss berichtigt werden:',
    secrets: 'Geheimnisse von Anwendungen',
    secretsText:
      'Die Datei verweist auf Geheimnisse, die nur der Rechner des Befehls hat. Geben Sie das Geheimnis jeder Anwendung ein.',
    secretsWrong:
      'Es wurde nichts geändert. Diese Geheimnisse sind nicht verwendbar. Die Datei und die anderen Geheimnisse sind noch da.',
    planned: 'Was die Datei ändern würde',
    plannedText: 'Noch hat sich nichts geändert. Wenden Sie die Datei an, wenn Sie das erwarten.',
    removes: 'Noch hat sich nichts geändert. Die Token entfernter Anwendungen gelten sofort nicht mehr.',
    nothing: 'Alles ist so wie in der Datei.',
    run: 'Diese Änderungen vornehmen',
    done: 'Die Datei ist angewendet',
    doneText: 'Der Server ist jetzt so wie in der Datei.',
    unchanged: (count) => `Unverändert: ${count}`,
    actions: { add: 'Anlegen:', change: 'Ändern:', remove: 'Entfernen:' },
    kinds: { group: 'Gruppe', client: 'Anwendung', scope: 'Berechtigung' },
  },
};
