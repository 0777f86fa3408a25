import type * as en from '../en/refusals.ts';

export const REFUSALS: typeof en.REFUSALS = {
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
  no_link: (name, id) => `${name} hat kein verbundenes Konto ${id}`,
  not_of_user: () => 'Das hat der Benutzer nicht oder nicht mehr',
  no_consent: (name, client) => `${name} hat der Anwendung ${client} keine Einwilligung gegeben`,
  no_claim: (name, claim) => `${name} hat keine Angabe ${claim}`,
  no_mail: (id) =>
    `Es gibt keine E-Mail ${id}, die gescheitert ist oder die frühestens in zwei Minuten noch einmal versucht wird`,
  no_key: (algorithm) =>
    `Es gibt keinen Schlüssel für ${algorithm}: Weder der Server noch eine Anwendung hat dieses Verfahren benutzt`,
  no_event: (number) => `Das Ereignis ${number} gibt es nicht`,
  not_denied: (rule) => `${rule} ist nicht gesperrt`,
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
  mail_not_sent: (why) => `Die E-Mail wurde nicht verschickt. Der Server sagt: ${why}`,
  schema_rule: (_, keyword, rule) => RULES[keyword]?.(rule) ?? 'Dieser Wert passt nicht',
  redirect_uri_exposed: (uri) =>
    `Erwartet wird https, oder http nur auf dem eigenen Rechner, nicht ${uri}. Für die Entwicklung erlaubt insecure_redirect_uris unverschlüsseltes http`,
  redirect_uri_missing: (grant) => `Für ${grant} ist mindestens eine Adresse nötig`,
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
  description_form: (most) => `Erwartet werden höchstens ${most} sichtbare Zeichen`,
  claim_of_username: () => 'Das ist der Benutzername: Ändern Sie ihn selbst',
  claim_of_server: () => 'Diese Angabe macht der Server, damit sich Anwendungen darauf verlassen können',
  claim_sub: () => 'Die Kennung ist zufällig und nicht wählbar',
  future_time: () => 'Der Zeitpunkt darf nicht in der Zukunft liegen',
  no_time: () => 'Erwartet wird ein Zeitpunkt wie 2026-01-31T12:00:00Z',
  document_rule: () =>
    'Erwartet wird die https-Adresse eines Dokuments, ein Host ohne Port, oder *. und ein Host',
  one_line: () => 'Erwartet wird eine Zeile',
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
