// What the overview of the console says about the state of the server, in German.
import { html } from 'hono/html';
import type * as en from '../en/overview.ts';
import { FORMATS } from './formats.ts';

const plural = FORMATS.counted.bind(FORMATS);

export const OVERVIEW: typeof en.OVERVIEW = {
  title: 'Was jetzt nicht stimmt',
  nothing: 'Alles in Ordnung.',
  nothingBefore: (duration) => `Vor ${duration} war alles in Ordnung.`,
  notLooked:
    'Noch unbekannt. Der Server wertet seine Anfragen alle paar Sekunden aus und ist gerade erst gestartet.',
  cannotCompare: (duration) => `Was üblich ist, weiß der Server noch nicht: Er zählt erst seit ${duration}.`,
  ofThisServer: 'Gezählt wird, was dieser Server tut, nicht andere mit derselben Datenbank.',
  last: (at) => html`Zuletzt ${at}.`,
  peers: {
    provider: (name) => html`Anbieter ${name}:`,
    directory: () => html`Verzeichnis:`,
    issuer: (name) => html`Vertrauter Aussteller ${name}:`,
  },
  outage: {
    goesOn: (since, last) => html`zuerst ${since} gescheitert, zuletzt ${last}, ohne Antwort dazwischen.`,
    untried: (_, last) => html`${last} gescheitert. Seither hat der Server nicht mehr gefragt.`,
  },
  unnamedClient: 'Anfragen ohne bekannte Anwendung',
  otherClients: 'Andere Anwendungen',
  moreClients: plural('1 weitere Anwendung', '# weitere Anwendungen'),
  lookedAt: (topics) => `Angesehen: ${topics}.`,
  topics: {
    database: 'die Datenbank',
    clock: 'die Uhr',
    requests: 'Anfragen und Anmeldungen der letzten Minuten',
    peers: 'Anbieter, Verzeichnis und vertraute Aussteller, soweit der Server sie gefragt hat',
    locked: 'gesperrte Benutzer',
    mails: 'die E-Mails',
    registrations: 'die Zahl registrierter Anwendungen',
    certificate: 'das TLS-Zertifikat',
    backups: 'die Sicherungen',
    keys: 'Schlüssel und Geheimnisse des Servers',
  },
  troubles: {
    not_ready: plural('Die Datenbank ist gestört.', 'Die Datenbank ist gestört.'),
    storage_unreachable: plural('Die Datenbank ist nicht erreichbar.', 'Die Datenbank ist nicht erreichbar.'),
    storage_slow: plural(
      'Die Datenbank antwortet nicht rechtzeitig.',
      'Die Datenbank antwortet nicht rechtzeitig.',
    ),
    storage_full: plural('Die Festplatte der Datenbank ist voll.', 'Die Festplatte der Datenbank ist voll.'),
    storage_read_only: plural('Die Datenbank ist schreibgeschützt.', 'Die Datenbank ist schreibgeschützt.'),
    ending: plural('Der Server wird beendet.', 'Der Server wird beendet.'),
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
    mails: plural(
      '1 E-Mail konnte nicht verschickt werden, und der Server hat aufgegeben.',
      '# E-Mails konnten nicht verschickt werden, und der Server hat aufgegeben.',
    ),
    locked: plural(
      '1 Benutzer ist nach zu vielen Versuchen gesperrt.',
      '# Benutzer sind nach zu vielen Versuchen gesperrt.',
    ),
    mails_delayed: plural(
      '1 E-Mail ist mindestens zweimal gescheitert. Der Server versucht es weiter.',
      '# E-Mails sind mindestens zweimal gescheitert. Der Server versucht es weiter.',
    ),
    client: plural(
      'In den letzten 15 Minuten wurde 1 Anfrage abgelehnt.',
      'In den letzten 15 Minuten wurden # Anfragen abgelehnt.',
    ),
    inactive_answers: plural(
      'In den letzten 15 Minuten wurde bei 1 Introspektion „inaktiv“ geantwortet.',
      'In den letzten 15 Minuten wurde bei # Introspektionen „inaktiv“ geantwortet.',
    ),
    peer: plural('1 Server antwortet nicht.', '# Server antworten nicht.'),
    peer_untried: plural('1 Server hat nicht geantwortet.', '# Server haben nicht geantwortet.'),
    registrations: plural(
      '1 Anwendung hat sich selbst registriert, fast so viele wie erlaubt.',
      '# Anwendungen haben sich selbst registriert, fast so viele wie erlaubt.',
    ),
    certificate_ended: plural('Das TLS-Zertifikat ist abgelaufen.', 'Das TLS-Zertifikat ist abgelaufen.'),
    certificate: plural('Das TLS-Zertifikat läuft in 1 Tag ab.', 'Das TLS-Zertifikat läuft in # Tagen ab.'),
    no_backup: plural('Im Ordner ist keine Sicherung.', 'Im Ordner ist keine Sicherung.'),
    backup: plural('Die neueste Sicherung ist 1 Tag alt.', 'Die neueste Sicherung ist # Tage alt.'),
    key_old: plural('Ein Signaturschlüssel ist 1 Tag alt.', 'Ein Signaturschlüssel ist # Tage alt.'),
    no_next_key: plural(
      'Zu 1 Algorithmus fehlt der nächste Schlüssel.',
      'Zu # Algorithmen fehlt der nächste Schlüssel.',
    ),
    old_secrets: plural(
      '1 früheres Geheimnis des Servers wird noch akzeptiert.',
      '# frühere Geheimnisse des Servers werden noch akzeptiert.',
    ),
  },
  changed: 'Geändert seit gestern',
  unchanged: 'Niemand hat etwas geändert.',
  changedText: 'Änderungen durch Administratoren und durch den Server selbst.',
  lastChanges: (shown) => `Die letzten ${shown}.`,
  someChanges: (shown, all) => `${shown} von ${all}.`,
  allEvents: 'Alle Änderungen seit gestern',
  refusals: 'Häufigste Ablehnungen und inaktive Antworten',
  noRefusals: 'Keine.',
  refusalsOfClient: 'Abgelehnte Anfragen und inaktive Antworten der letzten Stunde',
  refusalCount: 'Wie oft',
  answeredInactive: '„inaktiv“ geantwortet',
  refusalReason: 'Warum',
  signing: 'Signaturschlüssel',
  signs: (algorithm, age) => `${algorithm}: Ein Schlüssel signiert, der ${age} entstanden ist.`,
  nextKnown: 'Alle Anwendungen kennen den nächsten Schlüssel. Sie können jederzeit wechseln.',
  nextWaits: 'Noch kennen nicht alle Anwendungen den nächsten Schlüssel.',
  help: {
    link: 'Was zu tun ist',
    lead: 'Was die Übersicht bemängelt, und warum der Server Anfragen ablehnt.',
    troubles: 'Was die Übersicht bemängelt',
    reasons: 'Gründe',
    reasonsText:
      'Das Log, das Protokoll und die Messwerte nennen einen Grund mit seinem Code. Die Codes bleiben in jeder Version gleich.',
    means: 'Was es bedeutet',
    look: 'Wo Sie nachsehen',
    act: 'Was Sie tun',
    unknown: 'Zu diesem Code gibt es keine Erklärung.',
    all: 'Alle Erklärungen',
    ofReasons: {
      inactive: {
        look: 'Die Seite „Token“ erklärt das Token: seit wann es ungültig ist und was es beendet hat.',
        act: 'Die Anwendung holt ein neues Token, mit ihrem Erneuerungstoken, wenn sie eines hat. Betrifft es viele Token, suchen Sie im Protokoll, was zu dieser Zeit geschah.',
      },
      ended: {
        look: 'Die Seite „Token“ erklärt das Token: seit wann es ungültig ist und was es beendet hat.',
        act: 'Auch die Erneuerungstoken sind beendet. Soll der Zugriff weitergehen, aktivieren Sie, was deaktiviert ist. Danach meldet sich der Benutzer neu an, oder eine Anwendung ohne Benutzer holt ein neues Token. Betrifft es viele Token, suchen Sie im Protokoll einen Widerruf oder eine Deaktivierung.',
      },
      refused: {
        look: 'Die Zeile im Log nennt die Anwendung und den falschen Wert. Die Seite der Anwendung zeigt, wofür sie registriert ist.',
        act: 'Korrigieren Sie die Registrierung oder die Anwendung. Eine einzelne Ablehnung ist oft ein Fehler in einer Anfrage oder der Versuch eines Fremden.',
      },
      page: {
        look: 'Die Seite des Benutzers zeigt, wie er sich anmeldet und warum die letzten Anmeldungen abgelehnt wurden.',
        act: 'Helfen Sie dort: Entsperren Sie ihn, schicken Sie ihm einen Link für ein neues Passwort oder nehmen Sie ihn in eine Gruppe auf.',
      },
      limit: {
        look: 'Die Zeile im Log nennt die Anwendung und mit der Option logAddresses die Adresse. Grenzen gelten für eine Adresse, einen Namen oder eine Anwendung. Andere sind nicht betroffen.',
        act: 'Warten Sie, bis die Zeit um ist, oder entsperren Sie den Benutzer. Haben alle Besucher dieselbe Adresse, setzen Sie trustedProxies. Erhöhen Sie eine Grenze nur, wenn erwünschte Anfragen sie erreichen.',
      },
    },
    ofTroubles: {
      not_ready: {
        title: 'Die Datenbank ist gestört',
        means: 'Der Server kann seine Datenbank nicht lesen oder schreiben und antwortet mit 503.',
        look: 'Die Zeile unhealthy im Log nennt unter cause den Fehler der Datenbank. Oft wurde die Datei ersetzt, oder sie ist beschädigt.',
        act: 'Beheben Sie die Ursache. Sobald die Datenbank wieder geht, arbeitet der Server von selbst weiter.',
      },
      storage_unreachable: {
        title: 'Die Datenbank ist nicht erreichbar',
        means: 'Der Server hat keine Verbindung zu seiner Datenbank und antwortet mit 503.',
        look: 'Prüfen Sie, ob PostgreSQL läuft, ob es weitere Verbindungen annimmt und ob der Server es über das Netz erreicht. Bei SQLite prüfen Sie, ob der Server die Datei und ihren Ordner öffnen darf.',
        act: 'Starten Sie die Datenbank, oder beheben Sie den Fehler im Netz. Der Server verbindet sich von selbst wieder.',
      },
      storage_slow: {
        title: 'Die Datenbank antwortet nicht rechtzeitig',
        means: 'Der Server hat zu lange auf seine Datenbank gewartet und antwortet mit 503.',
        look: 'Suchen Sie in PostgreSQL lange Anweisungen und Sperren (pg_stat_activity). Bei SQLite suchen Sie einen anderen Prozess, der die Datei sperrt, oder eine langsame Festplatte.',
        act: 'Beenden Sie, was die Datenbank aufhält. Sobald sie antwortet, arbeitet der Server von selbst weiter.',
      },
      storage_full: {
        title: 'Die Festplatte der Datenbank ist voll',
        means:
          'Der Server kann seine Datenbank lesen, aber nicht schreiben. Anfragen, die schreiben müssen, erhalten 503: Anmeldungen, neue Token und Widerrufe.',
        look: 'Prüfen Sie mit df die Festplatte der Datenbank. Die Zeile unhealthy im Log nennt den Fehler, bei SQLite auch die Datei.',
        act: 'Verschieben Sie alte Sicherungen und Logs, oder vergrößern Sie die Festplatte. Löschen Sie nie die Dateien -wal und -shm neben einer SQLite-Datenbank. Sobald Platz ist, arbeitet der Server von selbst weiter.',
      },
      storage_read_only: {
        title: 'Die Datenbank ist schreibgeschützt',
        means:
          'Der Server kann seine Datenbank lesen, aber nicht schreiben. Anfragen, die schreiben müssen, erhalten 503: Anmeldungen, neue Token und Widerrufe.',
        look: 'Bei SQLite prüfen Sie die Rechte der Datei und ihres Ordners und wie die Festplatte eingehängt ist. Bei PostgreSQL prüfen Sie, ob es ein Standby ist, und default_transaction_read_only.',
        act: 'Erlauben Sie dem Server zu schreiben, oder verbinden Sie ihn mit dem Primary. Er arbeitet dann von selbst weiter.',
      },
      ending: {
        title: 'Der Server wird beendet',
        means: 'Dieser Server beendet seine letzten Anfragen und antwortet auf Prüfungen mit 503.',
        look: 'Die Zeile ending im Log sagt, seit wann.',
        act: 'Warten Sie, bis sein Nachfolger antwortet, und laden Sie die Seite dann neu.',
      },
      clock_wrong: {
        title: 'Die Uhr geht falsch',
        means:
          'Die Uhr dieses Rechners weicht von der Uhr der Datenbank ab oder ist gesprungen. Token beginnen und enden dann zur falschen Zeit.',
        look: 'Vergleichen Sie die Uhren aller Rechner, auf denen der Server läuft, und die der Datenbank.',
        act: 'Lassen Sie die Uhren von NTP stellen. Starten Sie den Server neu, wenn seine Uhr gesprungen ist.',
      },
      storage_faults: {
        title: 'Fehlgeschlagene Zugriffe auf die Datenbank',
        means:
          'Zugriffe auf die Datenbank sind fehlgeschlagen, obwohl sie jetzt antwortet. Die Anfragen bekamen 503 und können wiederholt werden.',
        look: 'Das Log enthält jeden Fehler. Das Diagramm der Datenbank zeigt, seit wann es sie gibt.',
        act: 'Suchen Sie nach einem Failover, zu wenigen Verbindungen, vollem Speicher oder einem langsamen Netz.',
      },
      faults: {
        title: 'Gescheiterte Anfragen',
        means: 'Anfragen sind an einem Fehler des Servers gescheitert oder an etwas, das er braucht.',
        look: 'Das Log enthält jede Störung mit ihrer Ursache und der Kennung, die der Benutzer gesehen hat.',
        act: 'Beheben Sie die Ursache. Liegt der Fehler im Server, melden Sie ihn mit der Zeile aus dem Log.',
      },
      refusals: {
        title: 'Mehr Ablehnungen als üblich',
        means:
          'Der Server lehnt viel mehr Anfragen ab als üblich. Eine Anwendung ist fehlerhaft, oder ein Fremder probiert etwas aus.',
        look: 'Die Tabelle der Ablehnungen nennt die Gründe. Das Log nennt die Anwendungen und mit der Option logAddresses ihre Adressen.',
        act: 'Fragen Sie, wer eine Anwendung oder ihre Registrierung geändert hat. Blockieren Sie angreifende Adressen im Proxy oder in der Firewall.',
      },
      sign_ins: {
        title: 'Mehr fehlgeschlagene Anmeldungen als üblich',
        means:
          'Viel mehr Anmeldungen schlagen fehl als üblich. Vielleicht probiert ein Angreifer Passwörter aus.',
        look: 'Das Protokoll zeigt die fehlgeschlagenen Anmeldungen mit Benutzern und Gründen.',
        act: 'Die Grenzen schützen jeden Benutzer. Verlangen Sie mit der Richtlinie einen zweiten Faktor, und lassen Sie Adressen von fail2ban blockieren.',
      },
      limits: {
        title: 'Eine Grenze ist erreicht',
        means: 'Eine Grenze hat Anfragen einer Adresse, eines Namens oder einer Anwendung aufgehalten.',
        look: 'Die Tabelle der Ablehnungen nennt die Grenze. Das Log nennt die Anwendung und mit der Option logAddresses die Adresse.',
        act: 'Haben alle Besucher dieselbe Adresse, setzen Sie trustedProxies. Sonst erfüllt die Grenze ihren Zweck.',
      },
      locked: {
        title: 'Benutzer sind gesperrt',
        means:
          'Für diese Benutzer wurden zu viele falsche Passwörter oder Codes eingegeben, vielleicht von einem Angreifer.',
        look: 'Die Liste der gesperrten Benutzer sagt, bis wann. Die Seite eines Benutzers zeigt die Versuche mit ihren Orten.',
        act: 'Hat sich der Benutzer vertippt, wählen Sie „Entsperren“. Rät jemand, lassen Sie die Sperre: Sie endet von selbst, und aus Browsern, die der Benutzer schon benutzt hat, kann er sich weiter anmelden.',
      },
      mails_delayed: {
        title: 'E-Mails scheitern immer wieder',
        means:
          'E-Mails sind mindestens zweimal gescheitert. Der Server versucht es etwa acht Stunden lang, dann gibt er auf.',
        look: 'Die Seite „E-Mails“ zeigt jede E-Mail mit der Antwort des Mailservers und den nächsten Versuch.',
        act: 'Prüfen Sie mit einer Test-E-Mail, ob der Mailserver arbeitet. Wählen Sie danach auf dieser Seite „Jetzt versuchen“.',
      },
      peer: {
        title: 'Ein Anbieter, Verzeichnis oder Aussteller antwortet nicht',
        means:
          'Die letzte Anfrage an diesen Server ist gescheitert oder wurde mit 5xx beantwortet. Benutzer können sich darüber nicht anmelden, oder Workloads können sich nicht ausweisen.',
        look: 'Die Zeilen im Log mit provider_unavailable, directory_unavailable oder document_unavailable enthalten die Ursache.',
        act: 'Prüfen Sie, ob dieser Server arbeitet und erreichbar ist. Die Zeile verschwindet mit seiner nächsten Antwort.',
      },
      peer_untried: {
        title: 'Unbekannt, ob ein Anbieter, Verzeichnis oder Aussteller antwortet',
        means:
          'Die letzte Anfrage an diesen Server ist gescheitert, und seit einer Stunde gab es keine Anfrage mehr an ihn.',
        look: 'Die Zeilen im Log mit provider_unavailable, directory_unavailable oder document_unavailable enthalten die Ursache.',
        act: 'Melden Sie sich einmal darüber an. Die Zeile verschwindet mit der nächsten Antwort oder nach einem Tag.',
      },
      client: {
        title: 'Eine Anwendung wird abgelehnt',
        means: 'Eine Anwendung wurde in 15 Minuten mindestens 10-mal aus demselben Grund abgelehnt.',
        look: 'Die Seite der Anwendung zeigt die Ablehnungen nach Gründen. Das Log enthält jede einzelne, mit der Option logAddresses auch ihre Adresse.',
        act: 'Korrigieren Sie die Registrierung oder die Anwendung. Ein falsches Geheimnis wurde oft nur auf einer Seite ausgetauscht.',
      },
      inactive_answers: {
        title: 'Eine API erhält inaktive Antworten',
        means:
          'Eine API hat in 15 Minuten mindestens 10 Token prüfen lassen, die beschädigt, unbekannt, von einem anderen Aussteller oder nicht für sie bestimmt sind. Sie erfährt nur active: false, nicht den Grund.',
        look: 'Die Seite der Anwendung zeigt die Gründe, und das Log jeden einzelnen Fall. Haben Sie ein solches Token, lassen Sie es auf der Seite „Token“ erklären.',
        act: 'Prüfen Sie, von welchem Aussteller die Aufrufer der API ihre Token haben und ob ein Proxy den Header Authorization ändert oder kürzt.',
      },
      mails: {
        title: 'E-Mails konnten nicht verschickt werden',
        means: 'Der Mailserver hat E-Mails endgültig abgelehnt oder zu lange keine angenommen.',
        look: 'Die Seite „E-Mails“ zeigt jede E-Mail mit der Antwort des Mailservers.',
        act: 'Korrigieren Sie die Adresse oder die Einstellungen des Mailservers. Versuchen Sie es danach auf dieser Seite erneut.',
      },
      registrations: {
        title: 'Fast zu viele registrierte Anwendungen',
        means: 'Bald kann sich keine weitere Anwendung selbst registrieren.',
        look: 'Die Liste der registrierten Anwendungen zeigt, welche noch kein Benutzer benutzt hat.',
        act: 'Entfernen Sie unbenutzte mit grantd client prune, oder erhöhen Sie registrationLimit.',
      },
      certificate_ended: {
        title: 'Das TLS-Zertifikat ist abgelaufen',
        means: 'Browser und Anwendungen lehnen die Verbindung ab.',
        look: 'Die Optionen tlsCertificate und tlsKey nennen die Dateien.',
        act: 'Erneuern Sie das Zertifikat, ersetzen Sie beide Dateien und schicken Sie dem Server SIGHUP.',
      },
      certificate: {
        title: 'Das TLS-Zertifikat läuft bald ab',
        means: 'Danach lehnen Browser und Anwendungen die Verbindung ab.',
        look: 'Die Optionen tlsCertificate und tlsKey nennen die Dateien.',
        act: 'Erneuern Sie das Zertifikat, ersetzen Sie beide Dateien und schicken Sie dem Server SIGHUP.',
      },
      no_backup: {
        title: 'Es gibt keine Sicherung',
        means: 'Der Server sichert regelmäßig, aber im Ordner ist keine Sicherung.',
        look: 'Das Log sagt, warum die letzte Sicherung fehlgeschlagen ist. Prüfen Sie, ob der Server in den Ordner schreiben darf.',
        act: 'Korrigieren Sie den Ordner der Option backupFolder, oder sichern Sie mit grantd backup.',
      },
      backup: {
        title: 'Die neueste Sicherung ist alt',
        means: 'Der Server sichert regelmäßig, aber die neueste Sicherung ist zu alt.',
        look: 'Das Log sagt, warum die letzte Sicherung fehlgeschlagen ist. Prüfen Sie den freien Speicher.',
        act: 'Korrigieren Sie den Ordner der Option backupFolder, oder sichern Sie mit grantd backup.',
      },
      key_old: {
        title: 'Ein Signaturschlüssel ist alt',
        means:
          'Ein Schlüssel signiert seit über einem Jahr. Je länger er signiert, desto mehr Token könnte ein Dieb damit fälschen.',
        look: 'Die Seite „Schlüssel“ zeigt, wie alt jeder Schlüssel ist und ob alle Anwendungen den nächsten kennen.',
        act: 'Wechseln Sie dort die Schlüssel. Der nächste signiert sofort, und der bisherige prüft weiterhin seine Token.',
      },
      no_next_key: {
        title: 'Zu einem Algorithmus fehlt der nächste Schlüssel',
        means:
          'Zu einem Algorithmus fehlt der nächste Schlüssel. Ein Wechsel geht dann nicht ohne Wartezeit.',
        look: 'Die Seite „Schlüssel“ zeigt die Schlüssel jedes Algorithmus.',
        act: 'Starten Sie den Server neu. Dabei erzeugt er den fehlenden Schlüssel.',
      },
      old_secrets: {
        title: 'Frühere Geheimnisse werden noch akzeptiert',
        means:
          'Der Server akzeptiert noch frühere Geheimnisse. Während eines Wechsels ist das richtig, danach ein Risiko.',
        look: 'Die Seite „Geheimnisse des Servers“ zeigt, was noch von ihnen abhängt.',
        act: 'Hängt nichts mehr von einem Geheimnis ab, entfernen Sie es.',
      },
    },
  },
  refusalClients: 'Anwendungen',
  refusalLast: 'Zuletzt',
  countedSince: 'Gezählt in der letzten Stunde, oder seit dem Start des Servers, wenn er später war.',
  notByName:
    'Einige Anwendungen zählt der Server nicht einzeln (Option metricsClients), vielleicht auch diese.',
  span: (duration) => `Die letzten ${duration}`,
};
