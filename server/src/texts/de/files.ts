// What the console says about files: imports of users, and configurations to apply, in German.
import { html } from 'hono/html';
import type * as en from '../en/files.ts';

/** In what a user differs from a line. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  subject: 'Kennung',
  username: 'Benutzername',
  claim: 'Claims',
  group: 'Gruppen',
  state: 'Zustand',
  link: 'Verknüpfungen',
  'entry in the directory': 'Eintrag im Verzeichnis',
  password: 'Passwort',
};

export const FILES: typeof en.FILES = {
  faults: {
    no_json: () => 'Erwartet wird JSON',
    no_object: () => 'Erwartet wird ein JSON-Objekt wie {"username":"carol"}',
    long: (most) => `Erwartet werden höchstens ${most} Zeichen`,
    element: (most) => `Erwartet wird JSON mit höchstens ${most} Zeichen`,
    unknown_member: (name, known) =>
      `${name}: Das ist unbekannt. Möglich sind ${known.replace(' or ', ' und ')}`,
    prototype: () => '__proto__: Diesen Namen darf keine Angabe haben',
    no_username: () => 'username: Erwartet wird ein Text',
    username: () => 'username: So kann kein Benutzer heißen',
    subject: () => 'subject: Erwartet werden 1 bis 255 sichtbare ASCII-Zeichen, am Anfang kein -',
    claims: () => 'claims: Erwartet wird ein Objekt wie {"name":"Carol"}',
    long_claims: (most) => `claims: Erwartet werden höchstens ${most} Zeichen JSON`,
    claim_sub: () => 'claims: sub: Die Kennung gehört in subject',
    groups: (most) => `groups: Erwartet wird eine Liste mit höchstens ${most} Namen`,
    flag: (name) => `${name}: Erwartet wird true oder false`,
    links: (most) =>
      `links: Erwartet wird eine Liste mit höchstens ${most} Objekten wie {"provider":"google","issuer":"https://accounts.google.com","sub":"1234"}`,
    directory_id: (most) =>
      `directory_id: Erwartet wird die Kennung eines Eintrags mit höchstens ${most} Zeichen`,
    created_at: () => 'created_at: Erwartet wird eine Zeit wie 2024-05-31T12:00:00Z',
    totp_secret: () => 'totp_secret: Erwartet werden 16 bis 64 Bytes in Base32, ohne Füllzeichen',
    hash_beside_directory: () =>
      'directory_id: Das Passwort liegt im Verzeichnis. Erwartet wird kein password_hash',
    hash_beside_invitation: () =>
      'invite: Der Benutzer würde ein Passwort wählen. Erwartet wird kein password_hash',
    password_hash: () =>
      'password_hash: Diesen Hash kann der Server nicht prüfen. Seine Form oder seine Kosten sind andere',
    no_model: (model) => `${model} ist kein Modell von Benutzern mit Passwort`,
    service_account: () => 'Das ist ein Dienstkonto. Fügen Sie dafür eine Anwendung hinzu',
    reserved_name: () => 'Das ist eine Organisation oder ein reservierter Name',
    firebase_hash: () => 'passwordHash: Dafür fehlen die Parameter der Hashes (--firebase-hash-config)',
    several_passwords: () => 'credentials: Erwartet wird höchstens ein Passwort',
    algorithm: (known, algorithm) =>
      `credentials: Erwartet wird argon2, ${known} als Algorithmus, nicht ${algorithm}`,
    argon2_version: (version) => `credentials: Erwartet wird Version 1.3 von argon2, nicht ${version}`,
    lines: (most) =>
      `Erwartet werden höchstens ${most} Zeilen. Senden Sie die übrigen in einer weiteren Anfrage`,
    claim_groups: () =>
      'claims: groups: Anwendungen würden diesen Claim statt der Gruppen des Benutzers sehen',
    groups_scope: () => 'groups: Das Token braucht die Berechtigung grantd:groups:write',
    administrator_scopes: () => 'Um einen Administrator zu ändern, braucht das Token alle Berechtigungen',
    address_scopes: () =>
      'Um einem Benutzer die bestätigte Adresse eines Administrators zu geben, braucht das Token alle Berechtigungen',
    own_user: () => 'Ein Import ändert nicht den Benutzer, der ihn ausführt',
    ends_administrator: () =>
      'Ein Import deaktiviert keine Administratoren und nimmt sie nicht aus ihrer Gruppe',
    in_admin_group: (group) =>
      `Der Benutzer ist in ${group}, der Gruppe der Administratoren (--allow-administrators erlaubt das)`,
    admin_group: (group) =>
      `groups: ${group} ist die Gruppe der Administratoren (--allow-administrators erlaubt das)`,
    subject_of_client: () =>
      'subject: Eine Anwendung hat diese Kennung. APIs könnten den Benutzer für die Anwendung halten',
    group_name: (name) => `groups: ${name}: So kann keine Gruppe heißen`,
    group_comma: (name) =>
      `groups: ${name}: Erwartet wird kein Komma, weil Optionen die Namen von Gruppen mit Kommas trennen`,
    no_group: (name) => `groups: Die Gruppe ${name} gibt es nicht (--create-groups fügt sie hinzu)`,
    taken: () =>
      'Die Kennung gehört einem anderen oder entfernten Benutzer, oder der Name wurde gerade vergeben',
    differs: (what) =>
      `Den Benutzer gibt es schon, aber anders: ${DIFFERENCES[what] ?? what} (--update ändert ihn)`,
    subject_stays: () => 'subject: Ein Benutzer behält seine Kennung',
    entry_taken: () => 'directory_id: Der Eintrag gehört einem anderen Benutzer',
    changed_meanwhile: () => 'Der Benutzer wurde gerade geändert. Versuchen Sie es noch einmal',
    not_changed: () => 'Der Benutzer oder die Datei lässt sich gerade nicht verarbeiten',
    own_claim: (name) => `claims: ${name}: weggelassen. Diesen Claim bestimmt der Server`,
    claim_left_out: (name) => `claims: ${name}: weggelassen. Der Wert hat die falsche Form`,
    unusual_name: () => 'username: Neue Benutzer könnten nicht so heißen',
    not_invited: () => 'invite: Es gibt keine E-Mail-Adresse für einen Link. Setzen Sie ein Passwort',
    not_imported: (name) => `${name}: nicht übernommen`,
    link_left_out: (provider) =>
      `links (${provider}): nicht übernommen, weil der Aussteller unbekannt ist. Der Benutzer verbindet das Konto neu, auf der Seite seines Kontos`,
    links_left_out: () =>
      'links: nicht übernommen. Lesen Sie die Identitäten auch mit include_credential=oidc',
    link_taken: (label, provider) =>
      `links (${label} bei ${provider}): nicht übernommen, weil ein anderer Benutzer diese Verknüpfung hat`,
    roles_left_out: (roles) => `roles (${roles}): nicht übernommen. --roles-as-groups macht Gruppen daraus`,
    groups_left_out: (groups) =>
      `groups (${groups}): nicht übernommen. Exportieren Sie mit --natural-foreign`,
    time_left_out: () => 'created_at: nicht übernommen. Erwartet wird eine Zeit',
    hash_left_out: () => 'password_hash: nicht übernommen. Diesen Hash kann der Server nicht prüfen',
    password_elsewhere: () => 'login_type: Das Passwort liegt anderswo und wird nicht übernommen',
    temporary_password: () => 'password: Es war vorläufig. Der Benutzer wählt eines über eine Einladung',
    factors_left_out: (name) =>
      `${name}: Zweite Faktoren werden nicht übernommen. Der Benutzer fügt sie neu hinzu`,
    credential_left_out: (type) => `credentials: ${type}: nicht übernommen. Der Benutzer fügt es neu hinzu`,
    app_left_out: (facts, digits, seconds) =>
      `credentials: otp (${facts}): nicht übernommen. Der Server kennt totp mit HmacSHA1, ${digits} Ziffern und ${seconds} s`,
    second_app: () =>
      'credentials: otp: nicht übernommen. Ein Benutzer hat eine Authenticator-App, und die erste ist übernommen',
    app_secret: () => 'credentials: otp: nicht übernommen. Das Geheimnis ist zu kurz oder zu lang',
    app_of_existing: () =>
      'totp_secret: nicht übernommen, weil es den Benutzer schon gibt. Er fügt die Authenticator-App neu hinzu',
    actions_left_out: (actions) => `requiredActions (${actions}): nicht übernommen`,
    attribute_left_out: (name) => `attributes: ${name}: nicht übernommen, weil grantd diesen Claim bestimmt`,
    entry_unknown: () => 'federationLink: Der Eintrag im Verzeichnis ist unbekannt (grantd directory link)',
    lookalike: () =>
      'username: Ein anderer Benutzer hat einen Namen, der genauso aussieht. Nur die genaue Schreibweise führt zu diesem. Benennen Sie einen um',
    no_way_in: () =>
      'Anmeldung: Übernommen wird nichts, womit sich der Benutzer anmelden kann. Setzen Sie ein Passwort',
    file_empty: () => 'Die Datei ist leer',
    file_bracket: () => 'Die Datei ist kein JSON: Eine Klammer schließt, die nicht offen ist',
    file_cut: () => 'Die Datei endet mitten im JSON-Dokument. Exportieren Sie noch einmal',
    file_list: (member) => `Die Datei enthält keine JSON-Liste und keine Liste ${member}`,
    file_quote: () => 'Die Datei endet in einem Feld in Anführungszeichen: Ein Anführungszeichen fehlt',
    file_json: (format) => `Erwartet wird JSON, wie ${format} es exportiert`,
    file_columns: () => 'Erwartet werden die Namen der Spalten in der ersten Zeile',
    file_yaml: () => 'Erwartet wird YAML wie in users_database.yml',
    file_users: () => 'Erwartet wird die Angabe users wie in users_database.yml',
    file_most: (most) => `Erwartet werden höchstens ${most} Benutzer (grantd user import liest mehr)`,
  },
  file: 'Datei',
  limit: (mebibytes) =>
    `Höchstens ${mebibytes} MiB. Für eine größere Datei nehmen Sie den Befehl. Der Server liest die Datei und bewahrt sie höchstens 30 Minuten verschlüsselt auf.`,
  again: 'Andere Datei wählen',
  changed:
    'Seit dem Plan, den Sie bestätigt haben, hat sich etwas geändert. Es wurde nichts getan. Das ist der neue Plan.',
  line: (line) => `Zeile ${line}`,
  place: (line, column) => `Zeile ${line}, Spalte ${column}:`,
  administrators: { become: 'Neue Administratoren', stop: 'Nicht mehr Administratoren' },
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
    added: 'Neue Benutzer',
    howTo: (command, section) => html`So entsteht eine solche Datei: ${command}, Abschnitt ${section}.`,
    long: 'Bei so vielen Benutzern kann der Import eine Minute dauern. Lassen Sie diese Seite offen: Die nächste sagt, was geschehen ist.',
    nothing: 'Der Import würde keinen Benutzer anlegen und keinen ändern.',
    otherFormat: 'Die Datei hat vielleicht ein anderes Format. Wählen Sie unten ihr Format.',
    otherChoices: 'Diese Datei mit anderen Angaben prüfen',
    replan: 'Datei noch einmal prüfen',
    run: 'Diese Benutzer importieren',
    done: 'Der Import ist fertig',
    doneText:
      'Behalten Sie den Bericht über das, was weggelassen wurde. Er ist auf der Seite „Benutzer importieren“ einen Tag lang verfügbar.',
    doneWhole: 'Es wurde nichts weggelassen.',
    lastImport: 'Ihr letzter Import, bei dem etwas weggelassen wurde, war',
    report: 'Bericht herunterladen',
    leftOut: 'Weggelassen',
    refused: 'Abgelehnte Zeilen',
    eachLine: 'Zeile für Zeile',
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
    ends: 'Noch hat sich nichts geändert. Die Änderungen können Zugriff beenden. Prüfen Sie die Zahlen, bevor Sie die Datei anwenden.',
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
