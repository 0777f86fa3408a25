import { html } from 'hono/html';
import type * as en from '../en/acts.ts';

const DENIAL =
  'Anwendungen, deren Client-ID ein solches Dokument nennt, werden entfernt, alle ihre Token werden ungültig, und der Server nimmt das Dokument nicht mehr an.';

const MAKES_ADMINISTRATORS =
  'Administratoren können in dieser Konsole ab sofort alles: Benutzer, Anwendungen und Schlüssel ändern und andere Benutzer zu Administratoren machen.';
const ENDS_ADMINISTRATORS =
  'Der Benutzer kann diese Konsole nicht mehr öffnen und verliert die Anwendungen, die er nur als Mitglied benutzen darf. Seine Token für diese Anwendungen gelten sofort nicht mehr.';

export const ACTS: typeof en.ACTS = {
  groups: {
    add: { title: () => 'Gruppe hinzufügen', yes: 'Gruppe hinzufügen' },
    edit: { title: (name) => `${name} ändern`, yes: 'Gruppe ändern' },
    remove: {
      title: (name) => `Gruppe ${name} entfernen?`,
      text: 'Alle Mitgliedschaften enden. Das lässt sich nicht rückgängig machen. Es geht nicht, solange eine Anwendung für die Gruppe ist.',
      yes: 'Gruppe entfernen',
    },
    join: { title: (name) => `Mitglied zu ${name} hinzufügen`, yes: 'Mitglied hinzufügen' },
    join_administrators: {
      title: (_, user) => `${user} zum Administrator machen?`,
      text: MAKES_ADMINISTRATORS,
      yes: 'Zum Administrator machen',
    },
    leave_administrators: {
      title: (_, user) => `${user} aus der Gruppe der Administratoren entfernen?`,
      text: ENDS_ADMINISTRATORS,
      yes: 'Administrator entfernen',
    },
    leave: {
      title: (name, user) => `${user} aus der Gruppe ${name} entfernen?`,
      text: 'Der Benutzer verliert die Anwendungen, die er nur als Mitglied benutzen darf. Seine Token für diese Anwendungen gelten sofort nicht mehr.',
      yes: 'Entfernen',
    },
  },
  users: {
    join_several: {
      title: (what) => `Administratorrechte geben: ${what}?`,
      text: 'Als Mitglieder dieser Gruppe werden sie Administratoren: Ab sofort können sie in dieser Konsole alles tun.',
      yes: 'Administratorrechte geben',
    },
    leave_several: {
      title: (what) => `Administratorrechte entziehen: ${what}?`,
      text: 'Sie sind nicht mehr Administratoren und können diese Konsole nicht öffnen. Sie verlieren auch die Anwendungen, die sie nur als Mitglieder benutzen dürfen.',
      yes: 'Administratorrechte entziehen',
    },
    add: { title: () => 'Benutzer hinzufügen', yes: 'Benutzer hinzufügen' },
    add_administrator: {
      title: (_, user) => `${user} als Administrator hinzufügen?`,
      text: MAKES_ADMINISTRATORS,
      yes: 'Administrator hinzufügen',
    },
    invite: {
      title: () => 'Benutzer einladen',
      text: 'Der Benutzer erhält eine E-Mail mit einem Link, um ein Passwort zu wählen.',
      yes: 'Benutzer einladen',
    },
    edit: {
      title: (name) => `${name} ändern`,
      text: 'Anwendungen sehen die Änderung mit ihrer nächsten Anfrage an UserInfo.',
      yes: 'Benutzer ändern',
    },
    password_link: {
      title: (name) => `${name} einen Link für ein neues Passwort schicken?`,
      text: 'Der Link funktioniert einmal, 24 Stunden lang. Frühere Links für ein Passwort funktionieren nicht mehr. Das Passwort bleibt, bis der Benutzer ein neues wählt. Dann enden alle Sitzungen und Token.',
      yes: 'Link für ein Passwort schicken',
    },
    set_password: {
      title: (name) => `Passwort von ${name} festlegen`,
      text: 'Alle Sitzungen des Benutzers enden, und alle Token gelten sofort nicht mehr.',
      yes: 'Passwort festlegen',
    },
    disable: {
      title: (name) => `${name} deaktivieren?`,
      text: 'Der Benutzer kann sich nicht mehr anmelden. Alle Sitzungen enden, und alle Token gelten sofort nicht mehr.',
      yes: 'Deaktivieren',
    },
    enable: { title: (name) => `${name} aktivieren`, yes: 'Aktivieren' },
    end_sessions: {
      title: (name) => `Alle Sitzungen von ${name} beenden?`,
      text: 'Der Benutzer wird in jedem Browser abgemeldet. Token dieser Sitzungen gelten sofort nicht mehr. Token für die Zeit der Abwesenheit gelten weiter.',
      yes: 'Sitzungen beenden',
    },
    end_session: {
      title: (name, browser) => `Sitzung von ${name} (${browser}) beenden?`,
      text: 'Der Benutzer wird in diesem Browser abgemeldet. Token dieser Sitzung gelten sofort nicht mehr. Token für die Zeit der Abwesenheit gelten weiter.',
      yes: 'Sitzung beenden',
    },
    end_access: {
      title: (name) => `Alle Zugriffe von ${name} beenden?`,
      text: 'Alle Sitzungen enden, und alle Token gelten sofort nicht mehr, auch die für die Zeit der Abwesenheit. Der Benutzer kann sich wieder anmelden.',
      yes: 'Alle Zugriffe beenden',
    },
    end_grant: {
      title: (name, application) => `Von ${name} erteilten Zugriff von ${application} beenden?`,
      text: 'Alle Token dieses Zugriffs gelten sofort nicht mehr. Der Benutzer kann den Zugriff wieder erteilen.',
      yes: 'Beenden',
    },
    end_client: {
      title: (name, application) => `Zugriff von ${application} auf Daten von ${name} beenden?`,
      text: 'Alle Token, die die Anwendung für den Benutzer hat, gelten sofort nicht mehr. Ihre Token für andere Benutzer bleiben gültig.',
      yes: 'Zugriff beenden',
    },
    end_application: {
      title: (name, application) => `Zugriff von ${application} auf Daten von ${name} beenden?`,
      text: 'Alle Token, die die Anwendung für den Benutzer hat, gelten sofort nicht mehr, und die Einwilligung wird zurückgenommen. Die Anwendung muss den Benutzer wieder fragen. Ihre Token für andere Benutzer bleiben gültig.',
      yes: 'Zugriff beenden',
    },
    withdraw_consent: {
      title: (name, application) => `Einwilligung von ${name} für ${application} zurücknehmen?`,
      text: 'Die Anwendung muss den Benutzer wieder fragen, bevor sie Zugriff bekommt.',
      yes: 'Einwilligung zurücknehmen',
    },
    reset_factors: {
      title: (name) => `Alle zweiten Faktoren von ${name} entfernen?`,
      text: 'Passkeys, Authenticator-App und Wiederherstellungscodes werden entfernt. Alle Sitzungen enden, und alle Token gelten sofort nicht mehr. Der Benutzer braucht danach nur das Passwort, um sich anzumelden und neue Faktoren hinzuzufügen.',
      yes: 'Zweite Faktoren entfernen',
    },
    remove_factor: {
      title: (name, factor) => `Faktor von ${name} entfernen (${factor})?`,
      text: 'Alle Sitzungen enden, und alle Token gelten sofort nicht mehr. Mit dem letzten anderen Faktor entfallen auch die Wiederherstellungscodes. Ohne Faktor braucht der Benutzer nur das Passwort, um sich anzumelden.',
      yes: 'Faktor entfernen',
    },
    confirm_factors: {
      title: (name) => `Die neuen Faktoren von ${name} sofort gelten lassen?`,
      text: 'Der Benutzer hat Faktoren mit einem Wiederherstellungscode geändert, deshalb wartet die Änderung. Vergewissern Sie sich zuerst, dass es der Benutzer war.',
      yes: 'Gelten lassen',
    },
    unlink: {
      title: (name, provider) => `Verknüpfung von ${name} mit ${provider} entfernen?`,
      text: 'Der Benutzer kann sich mit diesem Konto nicht mehr anmelden. Die Sitzungen, die darüber begonnen haben, enden.',
      yes: 'Verknüpfung entfernen',
    },
    unlock: { title: (name) => `${name} entsperren`, yes: 'Entsperren' },
    join: { title: (name) => `${name} zu einer Gruppe hinzufügen`, yes: 'Zu einer Gruppe hinzufügen' },
    join_administrators: {
      title: (name) => `${name} zum Administrator machen?`,
      text: MAKES_ADMINISTRATORS,
      yes: 'Zum Administrator machen',
    },
    leave_administrators: {
      title: (name) => `${name} aus der Gruppe der Administratoren entfernen?`,
      text: ENDS_ADMINISTRATORS,
      yes: 'Administrator entfernen',
    },
    leave: {
      title: (name, group) => `${name} aus der Gruppe ${group} entfernen?`,
      text: 'Der Benutzer verliert die Anwendungen, die er nur als Mitglied benutzen darf. Seine Token für diese Anwendungen gelten sofort nicht mehr.',
      yes: 'Aus der Gruppe entfernen',
    },
    remove: {
      title: (name) => `${name} entfernen?`,
      text: 'Die Daten des Benutzers werden endgültig gelöscht. Alle Sitzungen enden, und alle Token gelten sofort nicht mehr.',
      yes: 'Benutzer entfernen',
    },
  },
  clients: {
    add_web: {
      title: () => 'Webanwendung hinzufügen',
      text: 'Sie läuft auf einem Server, der ein Geheimnis bewahren kann.',
      yes: 'Webanwendung hinzufügen',
    },
    add_spa: {
      title: () => 'Single-Page-Anwendung hinzufügen',
      text: 'Sie läuft im Browser und hat deshalb kein Geheimnis.',
      yes: 'Hinzufügen',
    },
    try_spa: {
      title: () => 'Single-Page-Anwendung hinzufügen',
      text: 'Das Ausprobieren fügt diese Konsole ihren Redirect-URIs hinzu.',
      yes: 'Hinzufügen und ausprobieren',
    },
    add_native: {
      title: () => 'Native Anwendung hinzufügen',
      text: 'Sie läuft auf dem Gerät des Benutzers und hat deshalb kein Geheimnis.',
      yes: 'Native Anwendung hinzufügen',
    },
    add_machine: {
      title: () => 'Dienst hinzufügen',
      text: 'Er ruft APIs für sich selbst auf, ohne Benutzer.',
      yes: 'Dienst hinzufügen',
    },
    add_api: {
      title: () => 'API hinzufügen',
      text: 'Sie nimmt Zugriffstoken an und fragt diesen Server, ob sie gelten.',
      yes: 'API hinzufügen',
    },
    add_agent: {
      title: () => 'Agenten hinzufügen',
      text: 'Er handelt für Benutzer, mit Token, die er eintauscht. Benutzer sehen, dass er ein Agent ist. Der Server braucht die Option tokenExchange.',
      yes: 'Agenten hinzufügen',
    },
    edit: {
      title: (name) => `${name} ändern`,
      text: 'Token der Anwendung gelten weiter, außer denen von Benutzern, die sie nicht mehr benutzen dürfen.',
      yes: 'Anwendung ändern',
    },
    allow_trial: {
      title: (name) => `Der Konsole die Anmeldung mit ${name} erlauben`,
      text: 'Eine Seite der Konsole wird eine Redirect-URI der Anwendung. Die Seite ist nur für Administratoren und nimmt nur Anmeldungen an, die sie dort begonnen haben.',
      yes: 'Anmeldung aus der Konsole erlauben',
    },
    end_trial: {
      title: (name) => `Der Konsole die Anmeldung mit ${name} nicht mehr erlauben`,
      text: 'Die Seite der Konsole ist dann keine Redirect-URI der Anwendung mehr.',
      yes: 'Anmeldung aus der Konsole nicht mehr erlauben',
    },
    rotate_secret: {
      title: (name) => `Neues Geheimnis für ${name}`,
      text: 'Die nächste Seite zeigt das neue Geheimnis einmal. Das alte gilt noch einen Tag. Wenn es bekannt geworden ist, geben Sie 0 ein, und wählen Sie danach auf der Seite der Anwendung „Alle Token widerrufen“: Ihre Token gelten sonst weiter. Eine Anwendung hat höchstens zwei gültige Geheimnisse, ein noch älteres endet deshalb sofort.',
      yes: 'Geheimnis erneuern',
    },
    disable: {
      title: (name) => `${name} deaktivieren?`,
      text: 'Die Anwendung bekommt keine Token mehr, und alle ihre Token gelten sofort nicht mehr.',
      yes: 'Deaktivieren',
    },
    enable: { title: (name) => `${name} aktivieren`, yes: 'Aktivieren' },
    revoke: {
      title: (name) => `Alle Token von ${name} widerrufen?`,
      text: 'Alle Token der Anwendung gelten sofort nicht mehr. Die Anwendung kann neue bekommen.',
      yes: 'Alle Token widerrufen',
    },
    remove: {
      title: (name) => `${name} entfernen?`,
      text: 'Die Anwendung wird endgültig gelöscht, und alle ihre Token gelten sofort nicht mehr.',
      yes: 'Anwendung entfernen',
    },
    registration_token: {
      title: () => 'Registrierungstoken erstellen',
      text: 'Damit registrieren sich Anwendungen selbst, wenn der Server die Option registration: token hat. Die nächste Seite zeigt es einmal.',
      yes: 'Registrierungstoken erstellen',
    },
    remove_unused: {
      title: () => 'Unbenutzte Anwendungen entfernen',
      text: 'Diese Anwendungen haben sich selbst registriert und wurden seit 30 Tagen nicht benutzt. Solche, die inzwischen benutzt werden, bleiben.',
      yes: 'Unbenutzte Anwendungen entfernen',
    },
    deny: {
      title: () => 'Metadaten-Dokument oder Host ausschließen',
      text: DENIAL,
      yes: 'Dokument oder Host ausschließen',
    },
    deny_document: {
      title: (name) => `Das Dokument ${name} ausschließen`,
      text: DENIAL,
      yes: 'Dieses Dokument ausschließen',
    },
    deny_host: {
      title: (name) => `Alle Dokumente des Hosts von ${name} ausschließen`,
      text: DENIAL,
      yes: 'Diesen Host ausschließen',
    },
    allow: {
      title: (name) => `${name} wieder zulassen`,
      text: 'Dokumente, die die Optionen des Servers nicht zulassen, bleiben ausgeschlossen. Was durch den Ausschluss endete, bleibt beendet.',
      yes: 'Wieder zulassen',
    },
  },
  scopes: {
    add: {
      title: () => 'Berechtigung beschreiben',
      text: 'Die Seite der Einwilligung zeigt Benutzern dann diese Texte statt des Namens der Berechtigung.',
      yes: 'Berechtigung beschreiben',
    },
    edit: { title: (name) => `Texte von ${name} ändern`, yes: 'Texte ändern' },
    remove: {
      title: (name, api) => `Texte von ${name}${api && ` der Anwendung ${api}`} entfernen?`,
      text: 'Benutzer sehen dann nur den Namen der Berechtigung. Anwendungen können sie weiter benutzen.',
      yes: 'Texte entfernen',
    },
  },
  tokens: {
    revoke_before: {
      title: () => 'Alle Token aus der Zeit davor widerrufen',
      text: 'Jedes Token jeder Anwendung, das vor diesem Zeitpunkt ausgestellt wurde, gilt sofort nicht mehr.',
      yes: 'Alte Token widerrufen',
    },
    revoke_trusted: {
      title: () => 'Eine Kennung eines vertrauten Ausstellers beenden',
      text: 'Alles endet, was Anwendungen mit JWTs des Ausstellers über diese Kennung bekommen haben. Früher ausgestellte JWTs werden abgelehnt.',
      yes: 'Kennung eines Ausstellers beenden',
    },
    end_personal: {
      title: () => 'Persönliche Zugriffstoken beenden',
      text: 'Token, auf die alle Angaben zutreffen, gelten sofort nicht mehr. Die nächste Seite zeigt, welche das sind.',
      yes: 'Persönliche Zugriffstoken beenden',
    },
  },
  mails: {
    retry: { title: () => 'Jetzt versuchen', yes: 'Jetzt versuchen' },
    test: {
      title: () => 'Test-E-Mail senden',
      text: 'Die E-Mail geht sofort an den SMTP-Server. Das Ergebnis zeigt, was dieser Server antwortet.',
      yes: 'Test-E-Mail senden',
    },
  },
  secrets: {
    rotate: {
      title: () => 'Neues Geheimnis des Servers hinzufügen',
      text: 'Das neue Geheimnis schützt alle neuen Daten. Die älteren gelten weiter für die Daten, die sie schützen. Laden Sie danach sofort jeden Server neu, oder starten Sie ihn neu.',
      yes: 'Neues Geheimnis hinzufügen',
    },
    drop: {
      title: () => 'Alle Geheimnisse des Servers außer dem neuesten entfernen',
      text: 'Was von den entfernten Geheimnissen abhängt, funktioniert nicht mehr.',
      yes: 'Alte Geheimnisse entfernen',
    },
  },
  audit: {
    verify: { title: () => 'Prüfen', yes: 'Protokoll prüfen' },
    restart: {
      title: () => 'Neue Kette des Protokolls beginnen',
      text: 'Alle Ereignisse werden angenommen, wie sie jetzt sind. Tun Sie das nur, wenn eine Prüfung fehlgeschlagen ist und Sie wissen, warum.',
      yes: 'Neue Kette beginnen',
    },
  },
};

export const FORMS: typeof en.FORMS = {
  wrong: 'Nichts wurde geändert. Bitte korrigieren Sie das:',
  outdated:
    'Jemand anderes hat dies geändert, seit Sie das Formular geöffnet haben. Sie haben noch nichts gespeichert. Das Formular enthält die anderen Änderungen und Ihre. Prüfen Sie es, und speichern Sie.',
  conflict:
    'Jemand anderes hat dies geändert, seit Sie das Formular geöffnet haben. Sie haben noch nichts gespeichert. Felder, die Sie beide geändert haben, enthalten Ihren Wert und zeigen, was jetzt gespeichert ist.',
  adopted: 'Jemand anderes hat dies geändert. Es ist schon gespeichert.',
  unsaved: 'Ihre Anmeldung war beendet. Was Sie gesendet haben, wurde nicht gespeichert.',
  foreignScope: (scope, apis) =>
    html`Die Anwendung bekommt die Berechtigung ${scope} nicht, weil sie die API ${apis} nicht benutzen darf. Wählen Sie die API im Formular:`,
  unknownScope: (scope) =>
    html`Keine API dieses Servers hat die Berechtigung ${scope}, und kein Text beschreibt sie. Prüfen Sie die Schreibweise, oder geben Sie einer API diese Berechtigung:`,
  scopesInOne: (scope) =>
    html`Keine API dieses Servers hat die Berechtigung ${scope}. Trennen Sie Berechtigungen mit Leerzeichen:`,
  kept: 'Das Formular enthält, was Sie eingegeben haben. Geben Sie Passwörter und Geheimnisse noch einmal ein, prüfen Sie alles, und speichern Sie.',
  check: 'Prüfen Sie, was sich ändert:',
  checkEnd: 'Das kann Zugriffe beenden. Prüfen Sie, was sich ändert:',
  back: 'Zurück',
  storedNow: 'Jetzt gespeichert:',
  nothing: 'nichts',
  saveOver: 'Trotzdem speichern',
  choose: 'Bitte wählen …',
  byDefault: 'Wie der Server es vorgibt',
  absent: { api: 'Keine: eine Berechtigung dieses Servers' },
  yes: 'Ja',
  no: 'Nein',
  onePerLine: 'Ein Wert pro Zeile.',
  line: (line) => `Zeile ${line}:`,
  place: (line, column) => `Zeile ${line}, Spalte ${column}.`,
  parts: {
    profile: 'Angaben zum Benutzer',
    users: 'Benutzer und Anmeldung',
    about: 'Über die Anwendung',
    apis: 'APIs und Berechtigungen',
    tokens: 'Token der Anwendung',
    exchange: 'Token-Tausch',
    authentication: 'Schlüssel und Zertifikate der Anwendung',
    requests: 'Autorisierungsanfragen',
    cryptography: 'Signaturen und Verschlüsselung',
    more: 'Weitere Einstellungen',
  },
  discovery: 'Discovery-URL',
  tryTitle: 'Ausprobieren',
  tryUses: {
    web: 'Auf dem Server der Anwendung',
    spa: 'Im Code der Seite',
    native: 'In der Anwendung auf dem Gerät',
    machine: 'Ein Zugriffstoken holen',
    api: 'Fragen, ob ein Zugriffstoken gilt',
    agent: 'Das Token eines Benutzers eintauschen',
  },
  secretTitle: 'Bewahren Sie dieses Geheimnis jetzt auf',
  secretOnce:
    'Es wird später nie wieder angezeigt. Auf dieser Seite bleibt es, nur für Sie, bis Sie bestätigen, dass Sie es aufbewahrt haben, höchstens aber einen Tag.',
  newestFirst: 'Das neueste steht oben.',
  secretSaved: 'Ich habe es aufbewahrt',
  values: {
    none: 'Keine: öffentliche Anwendung',
    client_secret_basic: 'Geheimnis, im Header (client_secret_basic)',
    client_secret_post: 'Geheimnis, im Formular (client_secret_post)',
    public: 'Für alle Anwendungen gleich',
    pairwise: 'Für jeden Sektor verschieden (pairwise)',
    agent: 'Agent (handelt für Benutzer)',
    web: 'Webanwendung',
    native: 'Anwendung auf dem Gerät des Benutzers',
    authorization_code: 'Anmeldung eines Benutzers',
    refresh_token: 'Zugriff ohne neue Anmeldung erneuern',
    client_credentials: 'Token für die Anwendung selbst',
    'urn:ietf:params:oauth:grant-type:device_code': 'Anmeldung auf einem Gerät ohne Browser',
    'urn:ietf:params:oauth:grant-type:token-exchange': 'Token-Tausch',
    'urn:ietf:params:oauth:grant-type:jwt-bearer': 'JWT eines vertrauten Ausstellers',
  },
  problems: {
    missing: 'Hier wird ein Wert gebraucht.',
    typed_again: 'Das hat zu lange gedauert. Geben Sie es noch einmal ein.',
    no_integer: 'Geben Sie eine ganze Zahl ein.',
    no_time: 'Geben Sie einen Zeitpunkt wie 2026-01-31 12:00 (UTC) ein.',
    no_json: 'Das ist kein JSON.',
    no_object: 'Das muss ein JSON-Objekt wie {"key": "value"} sein.',
    pattern: 'Das hat eine andere Form.',
    refused: 'Der Server lehnt das ab:',
  },
  patterns: {
    visible: 'Verwenden Sie bis zu 200 Buchstaben, Ziffern und Zeichen, ohne Leerzeichen und Umlaute.',
    printable: 'Verwenden Sie Buchstaben, Ziffern, Zeichen und Leerzeichen, ohne Umlaute.',
    language: 'Verwenden Sie das Kürzel einer Sprache, etwa de oder pt-BR.',
    audit_head:
      'Verwenden Sie eine Zahl, einen Doppelpunkt und 43 Buchstaben, Ziffern, Binde- oder Unterstriche.',
    uri_absolute: 'Beginnen Sie mit https://, oder mit http:// für diesen Rechner.',
    uri_characters: 'Verwenden Sie keine Leerzeichen und nur ASCII-Zeichen.',
    uri_exact:
      'Entfernen Sie das Fragment (#) oder den Platzhalter (*). Der Server vergleicht die ganze URI genau.',
    uri_credentials: 'Entfernen Sie Benutzername und Passwort.',
    uri_web: 'Eine Webanwendung braucht https:// oder http://. Nur native Anwendungen haben eigene Schemata.',
    uri_private:
      'Ein eigenes Schema braucht einen Punkt, etwa com.example.app:/callback, außer bei nativen Anwendungen.',
  },
};
