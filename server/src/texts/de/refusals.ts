import type { MAIL_FAILURES as MAIL_WORDS } from '../../data/mails.ts';
import type * as en from '../en/refusals.ts';
import { FORMS } from './acts.ts';

/** Why an email could not be sent. */
export const MAIL_FAILURES: Readonly<Record<keyof typeof MAIL_WORDS, string>> = {
  auth: 'der Mailserver hat Benutzername oder Passwort abgelehnt',
  tls: 'keine Verbindung mit TLS möglich, und ohne TLS sendet grantd nur auf diesem Rechner',
  envelope: 'der Mailserver hat Absender oder Empfänger abgelehnt',
  message: 'der Mailserver hat die E-Mail abgelehnt',
  dns: 'der Name des Hosts ließ sich nicht auflösen',
  connection: 'keine Verbindung möglich',
  timeout: 'der Mailserver hat nicht rechtzeitig geantwortet',
  protocol: 'der Server spricht kein SMTP',
  other: 'die E-Mail ließ sich nicht senden',
  other_secret: 'sie wurde mit einem Geheimnis des Servers verschlüsselt, das dieser Prozess nicht hat',
  no_password: 'der Benutzer meldet sich bei einem Anbieter an und hat hier kein Passwort',
};

export const REFUSALS: typeof en.REFUSALS = {
  file_busy: (draft, path) =>
    `${draft} ist schon da: Ein anderer Befehl ändert gerade ${path} oder wurde unterbrochen. Löschen Sie die Datei, wenn kein Befehl läuft`,
  file_missing: (path) => `Die Datei ${path} fehlt`,
  file_denied: (path) =>
    `Der Server darf die Datei ${path} nicht schreiben: Prüfen Sie Eigentümer und Rechte der Datei und ihres Ordners`,
  file_without_space: (path) => `Die Datei ${path} lässt sich nicht schreiben, weil der Datenträger voll ist`,
  file_unwritable: (path, error) => `Die Datei ${path} lässt sich nicht schreiben (${error})`,
  wrong: (expected, placeholder = '') =>
    KINDS[placeholder]?.(numbersIn(expected)) ??
    (placeholder.includes('|')
      ? `Erwartet wird einer der Werte ${placeholder.split('|').join(', ')}`
      : 'Dieser Wert passt nicht'),
  one_of: (names) => `Erwartet wird einer der Werte ${names}`,
  profile: (_, profile) => `Das Profil ${profile} lässt das nicht zu`,
  needs: (what) => `Dafür fehlt ${orIn(what)}`,
  unsupported: (name) => `${name} bietet dieser Server nicht an`,
  language_tag: () => 'Erwartet wird eine Sprache wie de, bei einer Angabe, die Benutzer lesen',
  language_tags: (most) => `Erwartet werden höchstens ${most} Angaben mit einer Sprache`,
  too_long: (most) => `Alle Angaben zusammen dürfen höchstens ${most} Zeichen haben`,
  too_short: (least) => `Erwartet werden mindestens ${least} Bytes`,
  grant_needs: (grant, what) => `${grant} geht nur zusammen mit ${orIn(what)}`,
  confidential: (grant) =>
    `${grant} ist nur für vertrauliche Anwendungen, die sich ausweisen (RFC 6749 Abschnitt 4.4)`,
  no_grant: (open) => `Keiner davon ist für diese Anwendung offen. Möglich sind ${open}`,
  no_code: () => 'Erwartet wird code mit dem Grant authorization_code, sonst eine leere Liste',
  pkce: () => 'Eine öffentliche Anwendung braucht PKCE (RFC 9700 Abschnitt 2.1.1)',
  lacks: (method) => `Für ${method} fehlt noch: ${LACKING[method] ?? 'eine andere Angabe'}`,
  algorithms: (method, names) => `Für ${method} gibt es ${names}`,
  goes_with: (methods) => `Das geht nur mit ${orIn(methods)}`,
  both_keys: () => 'Erwartet wird jwks oder jwks_uri, nicht beides',
  key_for: (algorithm) => `In jwks fehlt ein Schlüssel für ${algorithm}`,
  certificates: () => 'Dieser Server kann Zertifikate von Anwendungen nicht lesen',
  unstable_uri: () =>
    'Erwartet wird eine URI, die Programme nicht umschreiben, zum Beispiel ohne /../ im Pfad',
  no_uri: (grant) => `Für ${grant} ist mindestens eine Adresse nötig`,
  exposed_uri: () =>
    'Erwartet wird https, oder http nur auf dem eigenen Rechner. Für die Entwicklung erlaubt insecure_redirect_uris unverschlüsseltes http',
  no_fetch: () => 'Dieser Server ruft keine Adressen von Anwendungen ab',
  not_fetched: () => 'Dieser Server ruft diese Adresse nicht ab',
  sector: () =>
    'Das ist nötig, außer alle Redirect-URIs haben denselben Host mit https, oder keine hat https',
  sector_list: () => 'An dieser Adresse muss eine JSON-Liste stehen, die jede Redirect-URI nennt',
  unfetched: () => 'Das Dokument lässt sich nicht abrufen',
  must_keep: () => 'Eine Anwendung mit paarweisen Kennungen muss sie und ihren Host behalten',
  own_issuer: () => 'Erwartet werden andere Server als dieser',
  signs_in_as: () => 'Wegen der paarweisen Kennungen ist signs_in_as nötig',
  no_user: (name) => `Den Benutzer ${name} gibt es nicht`,
  no_subject: (sub) => `Einen Benutzer mit der Kennung ${sub} gibt es nicht`,
  user_gone: (name) => `Den Benutzer ${name} gibt es nicht mehr`,
  no_group: (name) => `Die Gruppe ${name} gibt es nicht`,
  group_gone: (name) => `Die Gruppe ${name} wurde gerade entfernt`,
  no_client: (id) => `Die Anwendung ${id} gibt es nicht`,
  client_gone: (id) => `Die Anwendung ${id} wurde gerade entfernt`,
  no_scope_texts: (scope, api) => `${scopeOf(scope, api)} hat keine Texte`,
  no_session: (name, id) => `${name} hat keine Sitzung ${id}`,
  no_factor: (name, id) => `${name} hat keinen Faktor ${id}`,
  no_link: (name, id) => `${name} hat keine Verknüpfung ${id}`,
  not_of_user: () => 'Das hat der Benutzer nicht oder nicht mehr',
  no_consent: (name, client) => `${name} hat der Anwendung ${client} keine Einwilligung gegeben`,
  no_claim: (name, claim) => `${name} hat keine Angabe ${claim}`,
  no_mail: (id) =>
    `Es gibt keine E-Mail ${id}, die gescheitert ist oder die frühestens in zwei Minuten noch einmal versucht wird`,
  no_key: (algorithm) =>
    `Es gibt keinen Schlüssel für ${algorithm}: Weder der Server noch eine Anwendung hat dieses Verfahren benutzt`,
  no_event: (number) => `Das Ereignis ${number} gibt es nicht`,
  not_denied: (rule) => `${rule} ist nicht ausgeschlossen`,
  user_exists: (name) =>
    `Den Benutzer ${name} gibt es schon, oder einen, dessen Name sich nur in Groß- und Kleinschreibung, Breite oder ähnlichen Zeichen unterscheidet`,
  group_exists: (name) =>
    `Die Gruppe ${name} gibt es schon, oder eine, deren Name sich nur in Groß- und Kleinschreibung, Breite oder ähnlichen Zeichen unterscheidet`,
  client_exists: (id) => `Die Anwendung ${id} gibt es schon`,
  scope_texts_exist: (scope, api) => `${scopeOf(scope, api)} hat schon Texte`,
  administrator_not_disabled: () =>
    'Ein Administrator lässt sich nicht deaktivieren: Nehmen Sie ihn zuerst aus der Gruppe der Administratoren',
  administrators_stay: () => 'Die Gruppe der Administratoren lässt sich nicht entfernen',
  not_oneself: () => 'Administratoren können sich nicht selbst entfernen: Das muss ein anderer tun',
  no_longer_administrator: () => 'Sie sind nicht mehr Administrator',
  last_administrator: (name, group) =>
    `${name} ist der letzte Administrator, der sich anmelden kann: Nehmen Sie zuerst einen anderen in die Gruppe ${group} auf`,
  became_administrator: () =>
    'Der Benutzer ist gerade Administrator geworden: Nehmen Sie ihn zuerst aus der Gruppe der Administratoren',
  changed_by_others: (name) => `${name} wird laufend von anderen geändert. Nichts wurde gespeichert`,
  not_an_api: (id) => `${id} ist keine API`,
  no_api: (resource) => `Keine Anwendung hat die URI ${resource} als API`,
  client_for_group: (client, group) => `Die Anwendung ${client} ist für die Gruppe ${group}`,
  client_of_personal_tokens: (id) =>
    `${id} ist die Anwendung der persönlichen Zugriffstoken. Nur Optionen des Servers ändern sie`,
  client_without_secret: (id) =>
    `${id} hat kein Geheimnis, denn es ist eine öffentliche Anwendung oder weist sich mit Schlüsseln aus`,
  only_one_secret: () => 'Es gibt nur ein Geheimnis, und es ist in Gebrauch',
  secrets_changed: () => 'Die Geheimnisse haben sich gerade geändert',
  other_keys_sign: () => 'Inzwischen signieren andere Schlüssel',
  next_keys_unknown: () =>
    'Vielleicht kennen Anwendungen die nächsten Schlüssel noch nicht, weil sie die Liste der Schlüssel eine Weile behalten',
  invited_elsewhere: (name) => `${name} wurde mit einer anderen Adresse eingeladen`,
  signs_in_at_provider: (name) =>
    `${name} meldet sich bei einem Anbieter an. Darum gibt es kein Passwort zu wählen`,
  signs_in_at_directory: (name) =>
    `${name} meldet sich mit dem Passwort des Verzeichnisses an. Darum gibt es keines zu wählen`,
  user_disabled: (name) => `${name} ist deaktiviert`,
  no_verified_address: (name) =>
    `${name} hat keine bestätigte E-Mail-Adresse. Ein Link könnte einen anderen erreichen`,
  too_many_links: (name, most) => `${name} hat in einer Stunde ${most} E-Mails mit einem Link erhalten`,
  mail_not_sent: (_, server, kind, said) => {
    const why = MAIL_FAILURES[kind as keyof typeof MAIL_WORDS] ?? MAIL_FAILURES.other;
    return `Die E-Mail wurde nicht verschickt. ${server}: ${why}${said && `: „${said}“`}`;
  },
  document_unfetched: () =>
    'Ein Dokument der Anwendung lässt sich nicht abrufen. Versuchen Sie es später noch einmal',
  secrets_in_use: (_, clients, keys, apps, pairwise, trail) =>
    `Davon hängen noch ab: ${dependents(clients, keys, apps, pairwise, trail)}. Anwendungen wechseln zum neuen Geheimnis, wenn sie sich ausweisen, Schlüssel und Authenticator-Apps, wenn der Server startet. Geben Sie den übrigen ein neues Geheimnis, oder erzwingen Sie es: Dann gehen sie nicht mehr`,
  read_again: () => 'Das hat sich inzwischen geändert. Öffnen Sie es noch einmal',
  state_changed: () => 'Seit dem Plan hat sich etwas geändert. Nichts wurde angewendet',
  file_syntax: () => 'Das ist weder gültiges YAML noch JSON',
  one_document: () => 'Erwartet wird ein einziges Dokument, ohne ein zweites ---',
  keys_repeated: () => 'Jeder Name darf nur einmal vorkommen',
  file_long: (most) => `Erwartet werden höchstens ${most} Zeichen`,
  names_needed: () => 'Erwartet werden Namen mit Werten',
  names_or_none: () => 'Erwartet werden Namen mit Werten, oder {} für keine',
  unknown_name: () => 'Diesen Namen gibt es hier nicht',
  misspelled_name: (similar) => `Diesen Namen gibt es hier nicht. Meinen Sie ${similar}?`,
  merge_keys: () =>
    'Diesen Namen gibt es hier nicht, denn YAML 1.2 kennt kein <<. Schreiben Sie die Angaben aus',
  providers_elsewhere: () =>
    'Identitätsanbieter gehören zur Konfiguration des Servers (--providers), nicht in diese Datei',
  policy_elsewhere: () =>
    'Die Richtlinie des Servers gehört zu seiner Konfiguration (--sign-in-policy). Gruppen und Anwendungen haben sign_in_policy',
  users_elsewhere: () => 'Benutzer gehören nicht in diese Datei. Importieren Sie sie',
  value_needed: () => 'Erwartet wird ein Wert. Für die Vorgabe lassen Sie die Angabe weg',
  true_or_false: () => 'Erwartet wird true oder false',
  api_needed: () => 'Das geht nur bei einer API, also mit resource',
  text_needed: () =>
    'Erwartet wird ein Text, in Anführungszeichen, wenn es eine Zahl oder true oder false ist',
  stored_name: (name) => `Erwartet wird der Name, wie er gespeichert ist: ${name}`,
  usernames_needed: (most) => `Erwartet wird eine Liste mit höchstens ${most} Benutzernamen`,
  secret_reference: () => 'Erwartet wird { env: VARIABLE } oder { file: PFAD }',
  secret_reference_alone: () =>
    'Erwartet wird { env: VARIABLE } oder { file: PFAD }, weil die Datei keine Geheimnisse enthält',
  secret_missing: () => 'Es fehlt das Geheimnis, auf das sich die Datei bezieht',
  secret_unreferred: () => 'Die Datei bezieht sich bei dieser Anwendung auf kein Geheimnis',
  secret_unneeded: () => 'Eine Anwendung, die sich so ausweist, hat kein Geheimnis',
  secret_needed: () =>
    'Erwartet wird secret: { env: VARIABLE } oder { file: PFAD }, weil sich die Anwendung mit einem Geheimnis ausweist (eine öffentliche hat token_endpoint_auth_method: none)',
  too_many_names: (most, got) =>
    `Erwartet werden zusammen höchstens ${most} Gruppen, Anwendungen und Texte von Berechtigungen, nicht ${got}`,
  lookalike_group: (name) => `Es gibt schon die Gruppe ${name}, deren Name genauso aussieht`,
  no_enabled_api: (resource) => `Keine aktive Anwendung hat die resource ${resource}`,
  self_registered: () => 'Diese Anwendung hat sich selbst registriert. Ändern Sie sie auf ihrer Seite',
  document_client: () => 'Diese Anwendung hat ein Metadaten-Dokument. Ändern Sie sie auf ihrer Seite',
  no_administrator_stays: () => 'Es bliebe kein Administrator, der sich anmelden kann',
  admin_group_stays: (name) => `Die Gruppe der Administratoren, ${name}, lässt sich nicht entfernen`,
  scope_needed: (scope) => `Dafür fehlt die Berechtigung ${scope}`,
  every_scope_needed: () =>
    'Der Benutzer ist gerade Administrator geworden: Dafür sind alle Berechtigungen nötig',
  own_sign_in: () =>
    'Wie Sie sich selbst anmelden, ändern Sie auf den Seiten Ihres Kontos (/account/security)',
  schema_rule: (_, keyword, rule) => RULES[keyword]?.(rule) ?? 'Dieser Wert passt nicht',
  uri_rule: (_, rule) => new Map(Object.entries(FORMS.patterns)).get(rule) ?? 'Diese URI passt nicht',
  id_of_admin_api: (id) => `${id} ist die ID der Admin-API dieses Servers`,
  id_of_personal_tokens: (id) => `${id} ist die ID der persönlichen Zugriffstoken dieses Servers`,
  id_of_user: (id) =>
    `Ein Benutzer hat oder hatte die Kennung ${id}. APIs könnten die Anwendung für ihn halten`,
  name_form: (name) =>
    `Erwartet werden sichtbare Zeichen in gewöhnlicher Form, die sich nicht mit anderen verwechseln lassen, nicht ${name}`,
  claim_form: (value) => `Diese Angabe muss eine andere Form haben, nicht ${value}`,
  policy_unreachable: () => 'Diese Regel kann keine Anmeldung an diesem Server erfüllen',
  not_configured: () => 'Das erlaubt die Konfiguration des Servers nicht',
  not_for_admin_api: () =>
    'Die Admin-API ist nur für Anwendungen, die ein Betreiber angelegt hat. Sind sie für Benutzer, brauchen sie eine Gruppe von Administratoren. Keine andere API darf ihre URI oder Berechtigungen haben',
  client_id_form: () => 'Erwartet werden höchstens 200 sichtbare ASCII-Zeichen',
  secret_form: (least) => `Erwartet werden mindestens ${least} ASCII-Zeichen`,
  password_short: (least) => `Erwartet werden mindestens ${least} Zeichen`,
  password_hash: () => 'Das ist der Hash eines Passworts. Damit könnte sich der Benutzer nicht anmelden',
  email_form: (value) => `Erwartet wird eine Adresse wie bob@example.com, nicht ${value}`,
  phone_form: (value) => `Erwartet wird eine Nummer wie +441865000000, nicht ${value}`,
  date_form: (value) =>
    `Erwartet wird ein Datum wie 1990-01-31, ein Jahr wie 1990 oder 0000-01-31 ohne das Jahr, nicht ${value}`,
  url_form: (value) => `Erwartet wird eine URL wie https://example.com/ada, nicht ${value}`,
  zone_form: (value) => `Erwartet wird eine Zeitzone wie Europe/Berlin, nicht ${value}`,
  number_form: (value) => `Erwartet werden Zahlen bis 9007199254740991 oder Text, nicht ${value}`,
  locale_form: (value) => `Erwartet wird ein Sprachkürzel wie de-DE, nicht ${value}`,
  group_comma: () => 'Erwartet wird kein Komma, weil Optionen die Namen von Gruppen mit Kommas trennen',
  description_form: (most) => `Erwartet werden höchstens ${most} sichtbare Zeichen`,
  claim_of_username: () => 'Das ist der Benutzername: Ändern Sie ihn selbst',
  claim_of_server: () => 'Diese Angabe macht der Server, damit sich Anwendungen darauf verlassen können',
  claim_sub: () => 'Die Kennung ist zufällig und nicht wählbar',
  future_time: () => 'Der Zeitpunkt darf nicht in der Zukunft liegen',
  no_time: () => 'Erwartet wird ein Zeitpunkt wie 2026-01-31T12:00:00Z',
  document_rule: () =>
    'Erwartet wird die https-Adresse eines Dokuments, ein Host ohne Port, oder *. und ein Host',
  one_line: () => 'Erwartet wird eine Zeile',
  no_nul: () => 'Das Zeichen NUL ist nicht erlaubt',
  cursor_form: () => 'Diese Seite der Liste gibt es nicht. Beginnen Sie vorn',
  cursor_next: () => 'Diese Liste lässt sich nur vorwärts lesen. Beginnen Sie vorn',
  head_form: (value) => `Erwartet wird ein Kopf, wie ihn grantd audit verify nennt, nicht ${value}`,
  event_type: (value) => `Die Art ${value} von Ereignissen gibt es nicht`,
  range_form: (values, value) => `Erwartet wird einer der Werte ${values}, nicht ${value}`,
  time_form: (value) => `Erwartet wird ein Zeitpunkt wie 2026-01-31 12:00, nicht ${value}`,
  token_identifier: () => 'Erwartet wird die Kennung eines Tokens',
  several_clients: (ids) =>
    `Mehrere Anwendungen haben diesen Namen. Geben Sie eine ihrer Client-IDs ein: ${ids}`,
  no_such_username: () => 'Einen Benutzer mit diesem Namen gibt es nicht',
  language_unknown: (languages, value) =>
    `Erwartet wird eine dieser Sprachen: ${languages.split(' or ').join(', ')}, nicht ${value}`,
  scope_form: () => 'Erwartet wird eine Berechtigung ohne Leerzeichen und Anführungszeichen',
  scope_text_name: (name) =>
    `${name}: Erwartet wird name oder description, allein oder mit einer Sprache wie name#de`,
  scope_text_form: (name, most) => `${name}: Erwartet wird eine Zeile mit höchstens ${most} Zeichen`,
  scope_text_missing: () => 'Es fehlt ein Name, der für alle Sprachen gilt',
  claims_long: (most) => `Erwartet werden höchstens ${most} Zeichen JSON`,
  claims_prototype: () => 'Die Angabe __proto__ ist nicht erlaubt',
  claim_groups: () =>
    'Anwendungen sähen diese Angabe anstelle der Gruppen des Benutzers: Nehmen Sie ihn in Gruppen auf',
  groups_of_invited: () => 'Bei einer Einladung geht das noch nicht: Nehmen Sie den Benutzer später auf',
  mail_unconfigured: () => 'Ohne diese Option verschickt der Server keine E-Mails',
  no_policy: () => 'Dafür muss die Option personalTokens gesetzt sein',
  no_condition: () => 'Nennen Sie mindestens eine Bedingung',
  secret_in_file: () =>
    'Lassen Sie das weg, denn das Geheimnis steht in einer Datei, die der Server selbst ändert',
  trusted_pair: () => 'trusted_issuer und trusted_sub sind nur zusammen möglich',
  trusted_option: () => 'Dafür muss die Option trustedIssuers des Servers gesetzt sein',
  counted_for_one: () => 'Mit sub und client_id zusammen ist das nicht möglich',
  required: () => 'Hier fehlt ein Wert',
};

/** By the keyword of a schema. */
const RULES: Readonly<Record<string, (rule: string) => string>> = {
  required: (name) => `Hier fehlt ${name}`,
  enum: (values) => `Erwartet wird einer der Werte ${values.replaceAll(',', ', ')}`,
  minimum: (least) => `Erwartet wird mindestens ${least}`,
  maximum: (most) => `Erwartet wird höchstens ${most}`,
  minLength: (least) =>
    least === '1'
      ? 'Erwartet wird ein Text, der nicht leer ist'
      : `Erwartet werden mindestens ${least} Zeichen`,
  maxLength: (most) => `Erwartet werden höchstens ${most} Zeichen`,
  minItems: (least) => `Erwartet werden mindestens ${least} Werte`,
  maxItems: (most) => `Erwartet werden höchstens ${most} Werte`,
  uniqueItems: () => 'Jeder Wert darf nur einmal vorkommen',
  additionalProperties: () => 'Diese Angabe gibt es nicht',
};

function scopeOf(scope: string, api: string): string {
  return api === '' ? `Die Berechtigung ${scope}` : `Die Berechtigung ${scope} von ${api}`;
}

/** Names in a sentence of the library. */
function orIn(names: string): string {
  return names.split(' or ').join(' oder ');
}

function numbersIn(text: string): readonly string[] {
  return [...text.matchAll(/\d+/g)].map(([number]) => number);
}

/** What a method of authentication needs besides. */
const LACKING: Readonly<Record<string, string>> = {
  private_key_jwt: 'jwks oder jwks_uri',
  self_signed_tls_client_auth: 'jwks_uri, oder jwks mit dem Zertifikat (x5c)',
  tls_client_auth: 'genau ein Name des Zertifikats (tls_client_auth_…), in der richtigen Form',
};

/** Values of client metadata, by the placeholder of their kind. The limit of a value comes after the one of its list. */
const KINDS: Readonly<Record<string, (limits: readonly string[]) => string>> = {
  TEXT: (limits) => `Erwartet werden sichtbare Zeichen, ${mostOf(limits)}`,
  URL: (limits) =>
    `Erwartet wird eine Adresse mit https:// oder http://, ohne Zugangsdaten und ohne #, ${mostOf(limits)}`,
  URI: () =>
    'Erwartet wird eine vollständige URI ohne # und Platzhalter, mit höchstens 2000 Zeichen. Eine Liste darf nicht zu lang sein',
  NAME: () => 'Erwartet wird ein DNS-Name',
  ADDRESS: () => 'Erwartet wird eine IP-Adresse',
  EMAIL: () => 'Erwartet wird eine E-Mail-Adresse',
  '#RRGGBB': () => 'Erwartet wird eine Farbe wie #2f6f4f',
  SCOPE: () =>
    'Erwartet werden Berechtigungen ohne Leerzeichen und Anführungszeichen darin, und für APIs keine von OpenID Connect',
  SECONDS: ([least, most]) => `Erwartet werden ganze Sekunden, von ${least} bis ${most}`,
  FILE: () => 'Dieses JSON hat nicht die Form, die hier nötig ist',
};

function mostOf(limits: readonly string[]): string {
  const value = `höchstens ${limits.at(-1)} Zeichen`;
  return limits.length > 1 ? `${value}, und höchstens ${limits[0]} Werte` : value;
}

/** What still needs a secret of the server. */
function dependents(clients: string, keys: string, apps: string, pairwise: string, trail: string): string {
  return [
    clients === '' ? '' : `die Geheimnisse von ${clients}`,
    keys === '0' ? '' : `Schlüssel zum Signieren (${keys})`,
    pairwise === '' ? '' : 'das Geheimnis der paarweisen Kennungen',
    apps === '0' ? '' : `Authenticator-Apps (${apps})`,
    trail === '' ? '' : 'das Protokoll',
  ]
    .filter((part) => part !== '')
    .join(', ');
}
