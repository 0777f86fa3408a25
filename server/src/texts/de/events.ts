// What each event of the audit trail says, in German.
import { html } from 'hono/html';
import type * as en from '../en/events.ts';
import { FORMATS as formats } from './formats.ts';

export const EVENTS: typeof en.EVENTS = {
  sentences: {
    client_added: (actor, client, from) => html`${actor} hat${from} die Anwendung ${client} angelegt`,
    client_changed: (actor, client, from) => html`${actor} hat${from} die Anwendung ${client} geändert`,
    client_secret_rotated: (actor, client, from) =>
      html`${actor} hat${from} die Geheimnisse der Anwendung ${client} geändert`,
    client_removed: (actor, client, from) => html`${actor} hat${from} die Anwendung ${client} entfernt`,
    client_disabled: (actor, client, from) => html`${actor} hat${from} die Anwendung ${client} deaktiviert`,
    client_enabled: (actor, client, from) => html`${actor} hat${from} die Anwendung ${client} aktiviert`,
    client_revoked: (actor, client, from) =>
      html`${actor} hat${from} alle Token der Anwendung ${client} widerrufen`,
    server_secret_rotated: (actor, secret, from) =>
      html`${actor} hat${from} ${secret} zum neuen Geheimnis des Servers gemacht`,
    server_secret_dropped: (actor, secret, from) =>
      html`${actor} hat${from} das Geheimnis ${secret} des Servers verworfen`,
    key_rotated: (actor, key, from) => html`${actor} hat${from} den Signaturschlüssel ${key} gewechselt`,
    person_added: (actor, user, from) => html`${actor} hat${from} den Benutzer ${user} angelegt`,
    person_changed: (actor, user, from) => html`${actor} hat${from} die Daten von ${user} geändert`,
    person_password_set: (actor, user, from) => html`${actor} hat${from} das Passwort von ${user} gesetzt`,
    person_removed: (actor, user, from) => html`${actor} hat${from} den Benutzer ${user} entfernt`,
    person_linked: (actor, user, from, provider) =>
      html`${actor} hat${from} ${user} mit einem Konto bei ${provider} verbunden`,
    person_unlinked: (actor, user, from, provider) =>
      html`${actor} hat${from} ${user} von einem Konto bei ${provider} getrennt`,
    person_factor_added: (actor, user, from, factor) =>
      html`${actor} hat${from} ${factor} von ${user} hinzugefügt`,
    person_factor_removed: (actor, user, from, factor) =>
      html`${actor} hat${from} ${factor} von ${user} entfernt`,
    person_factors_reset: (actor, user, from) =>
      html`${actor} hat${from} alle Faktoren und Wiederherstellungscodes von ${user} entfernt`,
    person_factors_confirmed: (actor, user, from) =>
      html`${actor} hat${from} die neuen Faktoren von ${user} bestätigt`,
    person_unlocked: (actor, user, from) => html`${actor} hat${from} ${user} entsperrt`,
    person_recovery_codes_made: (actor, user, from) =>
      html`${actor} hat${from} neue Wiederherstellungscodes für ${user} erzeugt`,
    person_recovery_code_used: (actor, user, from) =>
      html`${actor} hat${from} einen Wiederherstellungscode von ${user} benutzt`,
    personal_token_made: (actor, user, from) =>
      html`${actor} hat${from} ein persönliches Zugriffstoken für ${user} erzeugt`,
    people_imported: (actor, user, from) => html`${actor} hat${from} den Benutzer ${user} importiert`,
    group_added: (actor, group, from) => html`${actor} hat${from} die Gruppe ${group} angelegt`,
    group_changed: (actor, group, from) => html`${actor} hat${from} die Gruppe ${group} geändert`,
    group_removed: (actor, group, from) => html`${actor} hat${from} die Gruppe ${group} entfernt`,
    group_member_added: (actor, user, from, group) =>
      html`${actor} hat${from} ${user} in die Gruppe ${group} aufgenommen`,
    group_member_removed: (actor, user, from, group) =>
      html`${actor} hat${from} ${user} aus der Gruppe ${group} entfernt`,
    administrator_made: (actor, user, from, group) =>
      html`${actor} hat${from} ${user} zum Administrator ernannt (Gruppe ${group})`,
    administrator_removed: (actor, user, from, group) =>
      html`${actor} hat${from} ${user} als Administrator abgesetzt (Gruppe ${group})`,
    documents_denied: (actor, rule, from) =>
      html`${actor} hat${from} die Metadaten-Dokumente von ${rule} ausgeschlossen`,
    documents_allowed: (actor, rule, from) =>
      html`${actor} hat${from} die Metadaten-Dokumente von ${rule} wieder zugelassen`,
    scope_texts_changed: (actor, scope, from) =>
      html`${actor} hat${from} die Texte der Berechtigung ${scope} geändert`,
    signed_in: (_, user, from, ways) => html`${user} hat sich${from}${ways} angemeldet`,
    sign_in_failed: (_, user, from, client) =>
      html`Eine Anmeldung von ${user}${client}${from} ist fehlgeschlagen`,
    session_ended: (actor, whose, from, why) => html`${actor} hat${from} eine Sitzung${whose} beendet${why}`,
    session_revoked: (actor, whose, from, why) =>
      html`${actor} hat${from} die Token einer Sitzung${whose} widerrufen${why}`,
    consent_given: (_, user, from, client) =>
      html`${user} hat${from} der Anwendung ${client} Zugriff erlaubt`,
    consent_withdrawn: (actor, user, from, client) =>
      html`${actor} hat${from} die Einwilligung von ${user} für die Anwendung ${client} zurückgenommen`,
    password_link_requested: (actor, user, from) =>
      html`${actor} hat${from} ${user} einen Link für ein neues Passwort schicken lassen`,
    mailed_link_made: (actor, whose, from, purpose) =>
      html`${actor} hat${from} einen Link per E-Mail${whose} schicken lassen${purpose}`,
    mailed_link_used: (actor, whose, from, purpose) =>
      html`${actor} hat${from} einen Link aus einer E-Mail${whose} benutzt${purpose}`,
    mail_retried: (actor, mail, from) =>
      html`${actor} hat${from} noch einmal versucht, die E-Mail ${mail} zu schicken`,
    pairwise_secret_made: (actor, _, from) =>
      html`${actor} hat${from} das Geheimnis für paarweise Kennungen erzeugt`,
    configuration_loaded: (actor, _, from, when) =>
      html`${actor} hat${from} die Konfiguration${when} geladen`,
    audit_restarted: (actor, _, from) =>
      html`${actor} hat${from} eine neue Kette von Prüfsummen über das Protokoll begonnen`,
    subject_disabled: (actor, user, from) => html`${actor} hat${from} den Benutzer ${user} deaktiviert`,
    subject_enabled: (actor, user, from) => html`${actor} hat${from} den Benutzer ${user} aktiviert`,
    subject_revoked: (actor, user, from, why) =>
      html`${actor} hat${from} alle Token des Benutzers ${user} widerrufen${why}`,
    grant_revoked: (actor, whose, from, why) => html`${actor} hat${from} ${whose} beendet${why}`,
    token_revoked: (actor, whose, from) => html`${actor} hat${from} ein Token${whose} widerrufen`,
    family_revoked: (actor, whose, from, why) =>
      html`${actor} hat${from} ein Erneuerungstoken${whose} und seine Nachfolger widerrufen${why}`,
    exchanges_revoked: (actor, whose, from) => html`${actor} hat${from} getauschte Token${whose} widerrufen`,
    code_revoked: (actor, whose, from, why) =>
      html`${actor} hat${from} einen Autorisierungscode${whose} und seine Token widerrufen${why}`,
    issued_before_revoked: (actor, when, from) =>
      html`${actor} hat${from} alle Token widerrufen, die vor ${when} ausgestellt wurden`,
    token_issued: (actor, whose, from, how) => html`${actor} hat${from} Token${whose}${how} erhalten`,
    identity_assertion_issued: (actor, whose, from, server) =>
      html`${actor} hat${from} einen Identitätsnachweis${whose} zur Vorlage bei ${server} erhalten`,
    code_issued: (actor, whose, from) => html`${actor} hat${from} einen Autorisierungscode${whose} erhalten`,
  },
  ownSentences: {
    client_added: (client, _, from) => html`Die Anwendung ${client} hat sich${from} selbst registriert`,
    client_changed: (client, _, from) => html`Die Anwendung ${client} hat${from} ihre Registrierung geändert`,
    client_removed: (client, _, from) => html`Die Anwendung ${client} hat${from} ihre Registrierung entfernt`,
    person_added: (user, _, from) => html`${user} hat sich${from} registriert`,
    person_changed: (user, _, from) => html`${user} hat${from} die eigenen Daten geändert`,
    person_password_set: (user, _, from) => html`${user} hat${from} ein neues Passwort gesetzt`,
    person_removed: (user, _, from) => html`${user} hat${from} das eigene Konto entfernt`,
    person_linked: (user, _, from, provider) => html`${user} hat${from} ein Konto bei ${provider} verbunden`,
    person_unlinked: (user, _, from, provider) => html`${user} hat${from} ein Konto bei ${provider} getrennt`,
    person_factor_added: (user, _, from, factor) => html`${user} hat${from} ${factor} hinzugefügt`,
    person_factor_removed: (user, _, from, factor) => html`${user} hat${from} ${factor} entfernt`,
    person_recovery_codes_made: (user, _, from) =>
      html`${user} hat${from} neue Wiederherstellungscodes erzeugt`,
    person_recovery_code_used: (user, _, from) =>
      html`${user} hat${from} einen Wiederherstellungscode benutzt`,
    personal_token_made: (user, _, from) => html`${user} hat${from} ein persönliches Zugriffstoken erzeugt`,
    consent_withdrawn: (user, _, from, client) =>
      html`${user} hat${from} die eigene Einwilligung für die Anwendung ${client} zurückgenommen`,
    session_ended: (user, _, from) => html`${user} hat sich${from} abgemeldet`,
    session_revoked: (user, _, from) =>
      html`${user} hat${from} mit einer Abmeldung die Token einer Sitzung widerrufen`,
  },
  acted: (actor, what, from) => html`${actor} hat${from} ${what}`,
  also: (what) => `Außerdem: ${what}.`,
  counts: {
    administrator_made: formats.counted('1 Administrator ernannt', '# Administratoren ernannt'),
    administrator_removed: formats.counted('1 Administrator abgesetzt', '# Administratoren abgesetzt'),
    signed_in: formats.counted('sich einmal angemeldet', 'sich #-mal angemeldet'),
    sign_in_failed: formats.counted('1 Anmeldung vergeblich versucht', '# Anmeldungen vergeblich versucht'),
    session_ended: formats.counted('1 Sitzung beendet', '# Sitzungen beendet'),
    session_revoked: formats.counted(
      'die Token von 1 Sitzung widerrufen',
      'die Token von # Sitzungen widerrufen',
    ),
    person_added: formats.counted('1 Benutzer angelegt', '# Benutzer angelegt'),
    people_imported: formats.counted('1 Benutzer importiert', '# Benutzer importiert'),
    person_changed: formats.counted('1 Benutzer geändert', '# Benutzer geändert'),
    person_password_set: formats.counted('1 Passwort gesetzt', '# Passwörter gesetzt'),
    person_linked: formats.counted(
      '1 Konto bei einem Anbieter verbunden',
      '# Konten bei Anbietern verbunden',
    ),
    person_unlinked: formats.counted(
      '1 Konto bei einem Anbieter getrennt',
      '# Konten bei Anbietern getrennt',
    ),
    person_unlocked: formats.counted('1 Benutzer entsperrt', '# Benutzer entsperrt'),
    subject_disabled: formats.counted('1 Benutzer deaktiviert', '# Benutzer deaktiviert'),
    subject_enabled: formats.counted('1 Benutzer aktiviert', '# Benutzer aktiviert'),
    subject_revoked: formats.counted(
      'alle Token von 1 Benutzer widerrufen',
      'alle Token von # Benutzern widerrufen',
    ),
    person_removed: formats.counted('1 Benutzer entfernt', '# Benutzer entfernt'),
    person_factor_added: formats.counted('1 Faktor hinzugefügt', '# Faktoren hinzugefügt'),
    person_factor_removed: formats.counted('1 Faktor entfernt', '# Faktoren entfernt'),
    person_factors_reset: formats.counted(
      'alle Faktoren von 1 Benutzer entfernt',
      'alle Faktoren von # Benutzern entfernt',
    ),
    person_factors_confirmed: formats.counted(
      'die neuen Faktoren von 1 Benutzer bestätigt',
      'die neuen Faktoren von # Benutzern bestätigt',
    ),
    person_recovery_codes_made: formats.counted(
      'die Wiederherstellungscodes von 1 Benutzer erzeugt',
      'die Wiederherstellungscodes von # Benutzern erzeugt',
    ),
    person_recovery_code_used: formats.counted(
      '1 Wiederherstellungscode benutzt',
      '# Wiederherstellungscodes benutzt',
    ),
    personal_token_made: formats.counted(
      '1 persönliches Zugriffstoken erzeugt',
      '# persönliche Zugriffstoken erzeugt',
    ),
    password_link_requested: formats.counted(
      '1 Link für ein Passwort schicken lassen',
      '# Links für Passwörter schicken lassen',
    ),
    mailed_link_made: formats.counted(
      '1 Link per E-Mail schicken lassen',
      '# Links per E-Mail schicken lassen',
    ),
    mailed_link_used: formats.counted('1 Link aus einer E-Mail benutzt', '# Links aus E-Mails benutzt'),
    mail_retried: formats.counted(
      '1 E-Mail noch einmal zu schicken versucht',
      '# E-Mails noch einmal zu schicken versucht',
    ),
    group_added: formats.counted('1 Gruppe angelegt', '# Gruppen angelegt'),
    group_changed: formats.counted('1 Gruppe geändert', '# Gruppen geändert'),
    group_removed: formats.counted('1 Gruppe entfernt', '# Gruppen entfernt'),
    group_member_added: formats.counted(
      '1 Mitglied in eine Gruppe aufgenommen',
      '# Mitglieder in Gruppen aufgenommen',
    ),
    group_member_removed: formats.counted(
      '1 Mitglied aus einer Gruppe entfernt',
      '# Mitglieder aus Gruppen entfernt',
    ),
    client_added: formats.counted('1 Anwendung angelegt', '# Anwendungen angelegt'),
    client_changed: formats.counted('1 Anwendung geändert', '# Anwendungen geändert'),
    client_secret_rotated: formats.counted(
      'die Geheimnisse von 1 Anwendung geändert',
      'die Geheimnisse von # Anwendungen geändert',
    ),
    client_disabled: formats.counted('1 Anwendung deaktiviert', '# Anwendungen deaktiviert'),
    client_enabled: formats.counted('1 Anwendung aktiviert', '# Anwendungen aktiviert'),
    client_revoked: formats.counted(
      'alle Token von 1 Anwendung widerrufen',
      'alle Token von # Anwendungen widerrufen',
    ),
    client_removed: formats.counted('1 Anwendung entfernt', '# Anwendungen entfernt'),
    scope_texts_changed: formats.counted(
      'die Texte von 1 Berechtigung geändert',
      'die Texte von # Berechtigungen geändert',
    ),
    documents_denied: formats.counted(
      'die Metadaten-Dokumente von 1 Adresse ausgeschlossen',
      'die Metadaten-Dokumente von # Adressen ausgeschlossen',
    ),
    documents_allowed: formats.counted(
      'die Metadaten-Dokumente von 1 Adresse wieder zugelassen',
      'die Metadaten-Dokumente von # Adressen wieder zugelassen',
    ),
    consent_given: formats.counted('1 Anwendung Zugriff erlaubt', '# Anwendungen Zugriff erlaubt'),
    consent_withdrawn: formats.counted('1 Einwilligung zurückgenommen', '# Einwilligungen zurückgenommen'),
    code_issued: formats.counted('1 Autorisierungscode erhalten', '# Autorisierungscodes erhalten'),
    token_issued: formats.counted('einmal Token erhalten', '#-mal Token erhalten'),
    identity_assertion_issued: formats.counted(
      '1 Identitätsnachweis erhalten',
      '# Identitätsnachweise erhalten',
    ),
    token_revoked: formats.counted('1 Token widerrufen', '# Token widerrufen'),
    family_revoked: formats.counted(
      '1 Erneuerungstoken und seine Nachfolger widerrufen',
      '# Erneuerungstoken und deren Nachfolger widerrufen',
    ),
    grant_revoked: formats.counted('1 Zugriff beendet', '# Zugriffe beendet'),
    exchanges_revoked: formats.counted(
      'die getauschten Token von 1 Token widerrufen',
      'die getauschten Token von # Token widerrufen',
    ),
    code_revoked: formats.counted('1 Autorisierungscode widerrufen', '# Autorisierungscodes widerrufen'),
    issued_before_revoked: formats.counted(
      'alle Token vor einem Zeitpunkt widerrufen',
      'alle Token vor # Zeitpunkten widerrufen',
    ),
    configuration_loaded: formats.counted('die Konfiguration geladen', '#-mal die Konfiguration geladen'),
    key_rotated: formats.counted('1 Signaturschlüssel gewechselt', '# Signaturschlüssel gewechselt'),
    server_secret_rotated: formats.counted(
      'das Geheimnis des Servers gewechselt',
      '#-mal das Geheimnis des Servers gewechselt',
    ),
    server_secret_dropped: formats.counted(
      '1 Geheimnis des Servers verworfen',
      '# Geheimnisse des Servers verworfen',
    ),
    pairwise_secret_made: formats.counted(
      'das Geheimnis für paarweise Kennungen erzeugt',
      '# Geheimnisse für paarweise Kennungen erzeugt',
    ),
    audit_restarted: formats.counted(
      'eine neue Kette von Prüfsummen begonnen',
      '# neue Ketten von Prüfsummen begonnen',
    ),
  },
  types: {
    signed_in: 'Angemeldet',
    sign_in_failed: 'Anmeldung fehlgeschlagen',
    session_ended: 'Sitzung beendet',
    session_revoked: 'Token einer Sitzung widerrufen',
    person_added: 'Benutzer angelegt',
    people_imported: 'Benutzer importiert',
    person_changed: 'Benutzer geändert',
    person_password_set: 'Passwort gesetzt',
    person_linked: 'Konto bei einem Anbieter verbunden',
    person_unlinked: 'Konto bei einem Anbieter getrennt',
    person_unlocked: 'Benutzer entsperrt',
    subject_disabled: 'Benutzer deaktiviert',
    subject_enabled: 'Benutzer aktiviert',
    subject_revoked: 'Alle Token eines Benutzers widerrufen',
    person_removed: 'Benutzer entfernt',
    person_factor_added: 'Faktor hinzugefügt',
    person_factor_removed: 'Faktor entfernt',
    person_factors_reset: 'Faktoren zurückgesetzt',
    person_factors_confirmed: 'Faktoren bestätigt',
    person_recovery_codes_made: 'Wiederherstellungscodes erzeugt',
    person_recovery_code_used: 'Wiederherstellungscode benutzt',
    personal_token_made: 'Persönliches Zugriffstoken erzeugt',
    password_link_requested: 'Link für ein Passwort angefordert',
    mailed_link_made: 'Link per E-Mail geschickt',
    mailed_link_used: 'Link aus einer E-Mail benutzt',
    mail_retried: 'E-Mail noch einmal versucht',
    group_added: 'Gruppe angelegt',
    group_changed: 'Gruppe geändert',
    group_removed: 'Gruppe entfernt',
    group_member_added: 'Mitglied aufgenommen',
    group_member_removed: 'Mitglied entfernt',
    client_added: 'Anwendung angelegt',
    client_changed: 'Anwendung geändert',
    client_secret_rotated: 'Geheimnisse einer Anwendung geändert',
    client_disabled: 'Anwendung deaktiviert',
    client_enabled: 'Anwendung aktiviert',
    client_revoked: 'Alle Token einer Anwendung widerrufen',
    client_removed: 'Anwendung entfernt',
    scope_texts_changed: 'Texte einer Berechtigung geändert',
    documents_denied: 'Metadaten-Dokumente ausgeschlossen',
    documents_allowed: 'Metadaten-Dokumente wieder zugelassen',
    consent_given: 'Einwilligung gegeben',
    consent_withdrawn: 'Einwilligung zurückgenommen',
    code_issued: 'Autorisierungscode ausgestellt',
    token_issued: 'Token ausgestellt',
    identity_assertion_issued: 'Identitätsnachweis ausgestellt',
    token_revoked: 'Token widerrufen',
    family_revoked: 'Erneuerungstoken und Nachfolger widerrufen',
    grant_revoked: 'Zugriff beendet',
    exchanges_revoked: 'Getauschte Token widerrufen',
    code_revoked: 'Autorisierungscode widerrufen',
    issued_before_revoked: 'Token vor einem Zeitpunkt widerrufen',
    configuration_loaded: 'Konfiguration geladen',
    key_rotated: 'Signaturschlüssel gewechselt',
    server_secret_rotated: 'Geheimnis des Servers gewechselt',
    server_secret_dropped: 'Geheimnis des Servers verworfen',
    pairwise_secret_made: 'Geheimnis für paarweise Kennungen erzeugt',
    audit_restarted: 'Protokoll: neue Kette',
  },
  typeGroups: {
    signIns: 'Anmeldungen und Sitzungen',
    users: 'Benutzer',
    factors: 'Faktoren',
    mails: 'E-Mails',
    groups: 'Gruppen',
    clients: 'Anwendungen',
    tokens: 'Zugriffe und Token',
    server: 'Dieser Server',
  },
  actors: {
    cli: 'Ein Befehl auf dem Server',
    server: 'Der Server',
    anonymous: 'Ein Besucher',
    registration: 'Eine Registrierung',
    api: (client) => html`Die Anwendung ${client} der Admin-API`,
    userOfApi: (user, client) => html`${user}, mit ${client},`,
    client: (client) => html`Die Anwendung ${client}`,
  },
  unknownUser: 'einem unbekannten Benutzer',
  from: (address) => html` von ${address} aus`,
  ofClient: (client) => html` von ${client}`,
  grant: (id) => html`den Zugriff ${id}`,
  accessOf: (client) => html`den Zugriff von ${client}`,
  because: {
    refresh_token_reused: ' wegen der erneuten Benutzung eines alten Erneuerungstokens',
    code_reused: ' wegen der erneuten Benutzung des Codes',
    consent_withdrawn: ', weil die Einwilligung zurückgenommen wurde',
    groups_changed: ', weil die Anwendung jetzt für andere Gruppen ist',
    beyond_policy: ', weil die Optionen das persönliche Zugriffstoken nicht mehr erlauben',
    password_set: ', weil sich das Passwort geändert hat',
    factors_reset: ', weil alle Faktoren entfernt wurden',
    factor_removed: ', weil ein Faktor entfernt wurde',
    provider_unlinked: ', weil das Konto bei einem Anbieter getrennt wurde',
    provider_logout: ', weil der Anbieter seine Sitzung beendet hat',
    person_disabled: ', weil der Benutzer deaktiviert wurde',
    person_removed: ', weil der Benutzer entfernt wurde',
    person_imported: ', weil ein Import das Passwort geändert oder den Benutzer deaktiviert hat',
    directory_linked: ', weil jetzt das Passwort des Verzeichnisses gilt',
  },
  leftGroup: (user, group) => html`, weil ${user} nicht mehr in ${group} ist`,
  forUser: (user) => html` für ${user}`,
  ofUser: (user) => html` von ${user}`,
  atClient: (client) => html` für ${client}`,
  signedInWith: (ways) => html` mit ${ways}`,
  ways: {
    pwd: 'einem Passwort',
    email: 'einem Code per E-Mail',
    otp: 'einem Code',
    pop: 'einem Passkey',
    fed: 'einem Anbieter',
    recovery: 'einem Wiederherstellungscode',
  },
  factors: {
    passkey: 'einen Passkey',
    security_key: 'einen Sicherheitsschlüssel',
    authenticator_app: 'eine Authenticator-App',
    recovery_codes: 'die Wiederherstellungscodes',
    other: 'einen Faktor',
  },
  purposes: {
    reset: 'für ein neues Passwort',
    password: 'für ein neues Passwort, im Auftrag eines Administrators',
    code: 'mit einem Code zur Anmeldung',
    invite: 'eine Einladung',
    verify: 'zur Bestätigung einer E-Mail-Adresse',
    sign_up: 'zum Abschluss einer Registrierung',
  },
  configuration: { start: 'bei seinem Start', reload: 'noch einmal' },
  bases: {
    client: 'mit eigenen Zugangsdaten',
    authorization_code: 'mit einem Autorisierungscode',
    refresh_token: 'mit einem Erneuerungstoken',
    token_exchange: 'für ein Token eines Aufrufers',
    exchangeThrough: (client) => html`für ein Token eines Aufrufers von ${client}`,
    jwtOf: (issuer) => html`für ein JWT von ${issuer}`,
  },
};
