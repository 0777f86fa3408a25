import type * as en from '../en/warnings.ts';

export const WARNINGS: typeof en.WARNINGS = {
  groups_hidden: (name) =>
    `Anwendungen sehen die Gruppen von ${name} nicht, weil eine Angabe groups gespeichert ist. Entfernen Sie diese Angabe`,
  administrator_added: (name, group) =>
    `${name} ist jetzt Administrator, denn Mitglieder der Gruppe ${group} können auf diesem Server alles ändern`,
  administrator_removed: (name, group) =>
    `${name} ist nicht mehr Administrator, denn ${group} ist die Gruppe der Administratoren`,
  admin_group_removed: () =>
    'Das war die Gruppe der Administratoren. Ohne sie startet der Server nicht, wenn er sie als adminGroup kennt',
  admin_group_unknown: () =>
    'Die Gruppe der Administratoren ist unbekannt. Deshalb ist offen, ob Benutzer in sie aufgenommen werden',
  no_administrator_left: (group) =>
    `Kein Administrator kann sich noch anmelden. Nehmen Sie einen anderen Benutzer in die Gruppe ${group} auf`,
  mail_waits: () =>
    'Die E-Mail wartet, bis auf dieser Datenbank ein Server läuft, der E-Mails verschickt (smtpUrl)',
  no_scope: () => 'Diese Anwendung kann keine Berechtigung erhalten, weil sie für keine registriert ist',
  keys_unused: (id) =>
    `${id} weist sich mit einem Geheimnis aus, nicht mit den eigenen Schlüsseln. Für diese wählen Sie das Verfahren private_key_jwt`,
  name_unreadable: (id) =>
    `Benutzer könnten den Namen von ${id} verwechseln: Er hat unsichtbare Zeichen, Buchstaben mehrerer Schriften oder zu viele Zeichen über einem Buchstaben`,
  pkce_waived: (id) =>
    `${id} darf PKCE weglassen. Das erlaubt Angriffe mit untergeschobenen Codes (RFC 9700 Abschnitt 2.1.1). Sobald die Anwendung PKCE benutzt, nehmen Sie das zurück (insecure_allow_missing_pkce)`,
  no_trusted_issuer: (id, grant, variable, flag) =>
    `${id} kann ${grant} nicht benutzen, weil kein vertrauter Aussteller konfiguriert ist (${flag} oder ${variable})`,
  not_among_clients: (id, grant, variable) =>
    `${id} kann ${grant} nicht benutzen, weil kein vertrauter Aussteller (${variable}) diese Anwendung nennt`,
  scope_of_others: (id, scope, owners, wanted) =>
    `${id} kann die Berechtigung ${scope} nicht erhalten, denn sie gehört zu ${owners.split(' ').join(' und ')}. Damit das geht, muss die Anwendung diese APIs benutzen dürfen: ${wanted.split(' ').join(', ')}`,
  scope_unknown: (id, scope) =>
    `Keine API dieses Servers hat die Berechtigung ${scope} von ${id}, und kein Text beschreibt sie. Prüfen Sie die Schreibweise`,
  scope_with_separator: (id, scope) =>
    `Keine API dieses Servers hat die Berechtigung ${scope} von ${id}, und kein Text beschreibt sie. Trennen Sie Berechtigungen mit Leerzeichen`,
  tokens_of_others_revoked: (id, users) =>
    users === '1'
      ? `Die Token eines Benutzers, der ${id} nicht mehr benutzen darf, wurden widerrufen`
      : `Die Token von ${users} Benutzern, die ${id} nicht mehr benutzen dürfen, wurden widerrufen`,
  tokens_with_other_sub_revoked: (id) =>
    `Die Token von ${id} wurden widerrufen, weil die Anwendung ihre Benutzer von jetzt an unter anderen Kennungen (sub) kennt`,
  registration_by_token_off: () =>
    'Der Server nimmt dieses Token nur an, wenn sich Anwendungen mit einem Token registrieren dürfen (registration: token)',
  audit_head: (head) =>
    `Kopf der Kette: ${head}. Damit vergleicht später der Befehl grantd audit verify --expect`,
  head_not_authentic: () => 'Der Kopf der Kette wurde nicht mit dem Geheimnis des Servers geschrieben',
  head_missing: () =>
    'Noch schützt keine Kette die Ereignisse: Ein Server beginnt sie, wenn er zum ersten Mal läuft. Ist hier schon einer gelaufen, wurde die Kette entfernt',
  rows_changed: (from, to) =>
    `Ereignisse ${from} bis ${to}: Einige wurden geändert, entfernt, hinzugefügt oder verschoben`,
  index_changed: (from, to) =>
    `Ereignisse ${from} bis ${to}: Ihr Index wurde geändert. Eine Suche findet sie vielleicht nicht`,
  rows_before_beginning: (rows) => `${rows} Ereignisse wurden vor dem ersten hinzugefügt`,
  expected_removed: (event, last) =>
    `Das Ereignis ${event} des erwarteten Kopfes wurde wegen seines Alters entfernt, wie alle bis ${last}: Vergleichen Sie mit einem späteren Kopf`,
  not_as_expected: (event) => `Die Kette setzt den erwarteten Kopf beim Ereignis ${event} nicht fort`,
  mail_accepted: (server, tls, answer) => `${server}, ${TLS[tls] ?? tls}, Antwort: ${answer}`,
  secret_place: (place) => `Das Geheimnis legt fest: ${place.replace(/^the file /, '')}`,
};

/** How the connection to a mail server is protected. */
const TLS: Readonly<Record<string, string>> = {
  'TLS from the start': 'TLS von Anfang an',
  'STARTTLS if offered': 'STARTTLS, falls angeboten',
};
