// Long: every text of the pages for users, in German.
import { html } from 'hono/html';
import type * as en from '../en/pages.ts';
import { counted } from '../formats/formats.ts';
import { FORMATS as formats } from './formats.ts';

export const PAGES: typeof en.PAGES = {
  problemTitle: (title) => `Problem: ${title}`,
  newTab: '(öffnet sich in einem neuen Tab)',

  /** Below every page. */
  footer: { label: 'Hilfe und Sprache', help: 'Hilfe', privacy: 'Datenschutz' },

  signIn: {
    title: 'Anmelden',
    toContinueTo: (application) => html`weiter zu ${application}`,
    toAccount: 'um Ihre Anwendungen und Sitzungen zu sehen',
    toDevice: 'um ein Gerät zu verbinden',
    toConsole: 'um diesen Server zu verwalten',
    titleAgain: 'Bitte erneut anmelden',
    again: {
      requested: (application) => html`${application} bittet Sie, Ihr Passwort noch einmal einzugeben.`,
      tooLongAgo: (application) =>
        html`${application} bittet Sie, Ihr Passwort noch einmal einzugeben, weil Ihre Anmeldung schon länger zurückliegt.`,
      forAccount: 'Geben Sie Ihr Passwort noch einmal ein, um fortzufahren.',
    },
    signedInAs: 'Angemeldet als',
    notYou: 'Nicht Ihr Konto?',
    username: 'Benutzername',
    password: 'Passwort',
    submit: 'Anmelden',
    submitAgain: 'Weiter',
    cancel: 'Abbrechen',
    forgot: 'Passwort vergessen?',
    signUp: 'Konto anlegen',
    problems: {
      name_missing: 'Geben Sie zuerst Ihren Benutzernamen ein.',
      credentials_wrong: 'Der Benutzername oder das Passwort ist falsch.',
      password_not_asked:
        'Wer eine solche Adresse hat, meldet sich bei der eigenen Organisation an. Fahren Sie ohne Passwort fort.',
      account_disabled:
        'Dieses Konto ist deaktiviert. Der Betreiber dieses Dienstes kann es wieder aktivieren.',
      sign_in_restricted:
        'Ihr Firmenkonto erlaubt die Anmeldung zurzeit nicht. Wer es verwaltet, kann das ändern.',
      password_expired:
        'Ihr Passwort ist abgelaufen. Ändern Sie es dort, wo Sie Ihr Firmenkonto verwalten, und melden Sie sich dann hier an.',
      password_cut_off:
        'Das frühere Anmeldesystem hat dieses Passwort nicht vollständig gespeichert. Deshalb lässt es sich hier nicht prüfen. Wählen Sie mit „Passwort vergessen?“ ein neues, oder bitten Sie den Betreiber dieses Dienstes, eines festzulegen.',
      too_many_attempts: 'Zu viele Versuche.',
      too_many_sign_ins: 'Gerade melden sich zu viele Menschen gleichzeitig an.',
      another_person: 'Die Anwendung verlangt ein anderes Konto. Melden Sie sich mit diesem an.',
      passkey_refused: 'Dieser Passkey gilt hier nicht. Melden Sie sich anders an.',
      passkey_unverified:
        'Dieser Schlüssel hat nicht geprüft, ob Sie es sind, etwa mit einer PIN. Geben Sie zuerst Benutzername und Passwort ein.',
      security_key_alone:
        'Dieser Sicherheitsschlüssel ist ein zweiter Schritt. Geben Sie zuerst Benutzername und Passwort ein.',
      passkey_too_late:
        'Das hat zu lange gedauert oder ist schon geschehen. Versuchen Sie es noch einmal mit Ihrem Passkey.',
    },
    tryAgainIn: (wait) => `Versuchen Sie es in ${wait} noch einmal.`,
  },

  providers: {
    or: 'Oder mit einem anderen Konto',
    divider: 'oder',
    continueWith: (provider) => html`Weiter mit ${provider}`,
    label: (label) => html`Es ist ${label}.`,
    back: 'Zurück zur Anmeldung',
    connectFirst: 'Hier anmelden und verbinden',
    problems: {
      unavailable: {
        title: 'Der Anbieter antwortet nicht',
        text: (provider) => html`${provider} ist gerade nicht erreichbar.`,
        help: () =>
          'Mit Ihrem Konto ist alles in Ordnung. Versuchen Sie es gleich noch einmal, oder melden Sie sich anders an.',
      },
      denied: {
        title: 'Sie sind nicht angemeldet',
        text: (provider) => html`${provider} hat Sie nicht angemeldet, oder Sie haben dort nicht zugestimmt.`,
        help: () => 'Gehen Sie zurück, um es noch einmal zu versuchen oder sich anders anzumelden.',
      },
      invalid: {
        title: 'Die Anmeldung ist nicht gelungen',
        text: (provider) => html`Die Antwort von ${provider} kann nicht angenommen werden.`,
        help: () =>
          'Gehen Sie zurück und versuchen Sie es noch einmal. Wenn es wieder geschieht, sagen Sie es dem Betreiber dieses Dienstes.',
      },
      foreign: {
        title: 'Die Anmeldung wurde nicht hier begonnen',
        text: (provider) =>
          html`Die Antwort von ${provider} gehört zu einem anderen Browser, wurde schon verwendet oder kam zu spät.`,
        help: () => 'Beginnen Sie in diesem Browser von vorn.',
      },
      not_linked: {
        title: 'Kein Konto ist verbunden',
        text: (provider) => html`Kein Konto ist hier mit Ihrem Konto bei ${provider} verbunden.`,
        help: () =>
          'Wenn Sie hier ein Konto haben, melden Sie sich damit an. Dann können Sie die beiden verbinden.',
      },
      linked_elsewhere: {
        title: 'Dieses Konto ist schon verbunden',
        text: (provider) => html`Ihr Konto bei ${provider} ist hier mit einem anderen Konto verbunden.`,
        help: (provider) =>
          html`Verwenden Sie ein anderes Konto bei ${provider}, oder trennen Sie zuerst die andere Verbindung.`,
      },
      disabled: {
        title: 'Dieses Konto ist deaktiviert',
        text: (provider) => html`${provider} hat Sie angemeldet, aber Ihr Konto hier ist deaktiviert.`,
        help: () => 'Der Betreiber dieses Dienstes kann es wieder aktivieren.',
      },
      another_person: {
        title: 'Die Anwendung verlangt ein anderes Konto',
        text: (provider) => html`Ihr Konto bei ${provider} gehört hier zu einem anderen Konto.`,
        help: () => 'Gehen Sie zurück und melden Sie sich mit dem Konto an, das die Anwendung verlangt.',
      },
    },
    account: {
      title: 'Andere Wege zur Anmeldung',
      text: 'Verbinden Sie Konten, die Sie anderswo haben, um sich damit anzumelden.',
      since: (when) => html`verbunden ${when}`,
      connect: (provider) => html`${provider} verbinden`,
      unlink: (provider) => html`${provider} trennen`,
      question: (provider, label) =>
        html`${label} bei ${provider} mit diesem Konto verbinden? Sie können sich dann mit beiden anmelden.`,
      yes: 'Verbinden',
      no: 'Nicht verbinden',
      needed:
        'Sie haben keinen anderen Weg zur Anmeldung. Legen Sie zuerst ein Passwort fest, fügen Sie einen Passkey hinzu, oder verbinden Sie ein anderes Konto.',
    },
  },

  passkeys: {
    signIn: 'Mit Passkey anmelden',
    notUsed: 'Es wurde kein Passkey verwendet. Versuchen Sie es noch einmal, oder melden Sie sich anders an.',
    title: 'Passkeys',
    text: 'Melden Sie sich ohne Passwort an: mit Fingerabdruck, Gesicht, Bildschirmsperre oder einem Sicherheitsschlüssel mit PIN.',
    name: 'Name des Passkeys',
    defaultName: 'Passkey',
    add: 'Passkey hinzufügen',
    notAdded:
      'Es wurde kein Passkey hinzugefügt. Vielleicht hat dieses Gerät schon einen für dieses Konto, oder es ist ein Sicherheitsschlüssel ohne PIN.',
    asSecurityKey: 'Stattdessen als Sicherheitsschlüssel hinzufügen',
    needsScripts: 'Passkeys brauchen JavaScript.',
    lastUsed: (when) => `zuletzt verwendet: ${when}`,
    neverUsed: 'noch nie verwendet',
    backedUp: 'Gesichert: Er gilt auch auf Ihren anderen Geräten.',
    notBackedUp: 'Nur auf einem Gerät. Fügen Sie einen weiteren hinzu, falls Sie es verlieren.',
    remove: (passkey) => html`<span class="unseen">${passkey} </span>Entfernen`,
  },

  securityKeys: {
    title: 'Sicherheitsschlüssel',
    text: 'Einen solchen Schlüssel stecken Sie ein oder halten ihn an Ihr Gerät, nachdem Sie Ihr Passwort eingegeben haben. Er braucht keine PIN.',
    name: 'Name des Sicherheitsschlüssels',
    defaultName: 'Sicherheitsschlüssel',
    add: 'Sicherheitsschlüssel hinzufügen',
    notAdded:
      'Es wurde kein Sicherheitsschlüssel hinzugefügt. Vielleicht gibt es ihn schon für dieses Konto.',
    onlyOne: 'Nur zusammen mit Ihrem Passwort. Fügen Sie einen weiteren hinzu, falls Sie ihn verlieren.',
  },

  emailCode: {
    send: 'Code per E-Mail senden',
    title: 'Code eingeben',
    sent: (name) =>
      html`Wenn ${name} zu einem Konto mit bestätigter E-Mail-Adresse gehört, ist ein Code dorthin unterwegs. Er gilt 10 Minuten lang, in diesem Browser.`,
    code: 'Code aus der E-Mail',
    submit: 'Anmelden',
    help: 'Nach einigen Minuten noch nichts da? Sehen Sie im Spam-Ordner nach, oder senden Sie einen neuen Code.',
    again: 'Neuen Code senden',
    usePassword: 'Passwort verwenden',
    problems: {
      code_wrong: 'Dieser Code ist falsch oder gilt nicht mehr. Nur der Code aus der neuesten E-Mail gilt.',
      code_guessed: 'Zu viele falsche Codes. Senden Sie einen neuen Code.',
      another_person: 'Die Anwendung verlangt ein anderes Konto. Melden Sie sich mit diesem an.',
      too_many_attempts: 'Zu viele Versuche.',
    },
  },

  second: {
    title: 'Bestätigen Sie, dass Sie es sind',
    signingInAs: 'Anmeldung als',
    use: {
      passkey: 'Passkey verwenden',
      securityKey: 'Sicherheitsschlüssel verwenden',
      both: 'Passkey oder Sicherheitsschlüssel verwenden',
    },
    code: 'Code aus Ihrer Authenticator-App',
    submit: 'Weiter',
    useRecovery: 'Wiederherstellungscode verwenden',
    recoveryCode: 'Wiederherstellungscode',
    submitRecovery: 'Weiter',
    lost: 'Alles verloren? Der Betreiber dieses Dienstes kann zurücksetzen, wie Sie sich anmelden.',
    problems: {
      code_wrong:
        'Dieser Code ist falsch. Alle 30 Sekunden gilt ein neuer: Prüfen Sie, ob die Uhr Ihres Telefons richtig geht.',
      code_used: 'Dieser Code wurde schon verwendet. Warten Sie auf den nächsten.',
      recovery_code_wrong: 'Dieser Wiederherstellungscode ist falsch oder wurde schon verwendet.',
      too_many_codes: 'Zu viele falsche Codes.',
      passkey_refused: 'Dieser Passkey oder Sicherheitsschlüssel gilt nicht für dieses Konto.',
      passkey_unverified:
        'Dieser Schlüssel hat nicht geprüft, ob Sie es sind, etwa mit einer PIN. Verwenden Sie einen anderen Weg.',
      passkey_too_late: 'Das hat zu lange gedauert oder ist schon geschehen. Versuchen Sie es noch einmal.',
      passkey_waits:
        'Dieser Passkey wurde mit einem Wiederherstellungscode hinzugefügt und gilt noch nicht. Verwenden Sie einen anderen.',
    },
  },

  factors: {
    neededTitle: 'Zweiten Faktor hinzufügen',
    needed:
      'Was Sie öffnen möchten, verlangt mehr als ein Passwort. Fügen Sie eines davon hinzu, dann geht es dort weiter.',
    confirm: 'Bestätigen, dass ich es bin',
    confirmText: 'Um das zu ändern, bestätigen Sie erst, dass Sie es sind.',
    totp: 'Authenticator-App',
    totpText:
      'Eine App auf Ihrem Telefon zeigt alle 30 Sekunden einen neuen Code. Sie geben ihn nach dem Passwort ein.',
    addTotp: 'Authenticator-App hinzufügen',
    removeTotp: 'Authenticator-App entfernen',
    scan: 'Lesen Sie diesen Code mit Ihrer Authenticator-App ein.',
    qrCode: 'QR-Code für Authenticator-Apps',
    typeSecret: 'Oder geben Sie diesen Schlüssel in die App ein:',
    firstCode: 'Code, den die App zeigt',
    confirmTotp: 'App hinzufügen',
    recoveryCodes: 'Wiederherstellungscodes',
    recoveryText: counted(
      (count) =>
        `Für den Tag, an dem Sie Ihr Gerät verlieren: Jeder Code ersetzt einmal den zweiten Schritt. Sie haben ${formats.number(count)} ${formats.plural(count, { one: 'unbenutzten Code', other: 'unbenutzte Codes' })}.`,
    ),
    newCodes: 'Neue Wiederherstellungscodes erstellen',
    saveCodes:
      'Drucken Sie diese Codes aus, oder bewahren Sie sie in einem Passwortmanager auf. Sie ersetzen alle früheren und werden nicht mehr gezeigt, sobald Sie sie gespeichert haben.',
    downloadCodes: 'Herunterladen',
    printCodes: 'Drucken',
    codesFor: (operator) => `Wiederherstellungscodes für ${operator}`,
    codesSaved: 'Ich habe sie gespeichert',
    countsIn: (duration) =>
      `Mit einem Wiederherstellungscode hinzugefügt. Gilt in vollem Umfang in ${duration}.`,
    unsavedCodes: 'Sie haben noch nicht bestätigt, dass Sie Ihre Codes gespeichert haben.',
    showCodes: 'Codes zeigen',
    removeText: 'Sie können sich damit nicht mehr anmelden.',
    removeYes: 'Entfernen',
    notices: {
      passkey_added: 'Der Passkey ist hinzugefügt.',
      passkey_removed:
        'Der Passkey ist entfernt, und alle anderen Browser sind abgemeldet. Löschen Sie ihn auch auf Ihrem Gerät.',
      security_key_added: 'Der Sicherheitsschlüssel ist hinzugefügt.',
      security_key_removed:
        'Der Sicherheitsschlüssel ist entfernt, und alle anderen Browser sind abgemeldet.',
      totp_added: 'Die Authenticator-App ist hinzugefügt.',
      totp_removed: 'Die Authenticator-App ist entfernt, und alle anderen Browser sind abgemeldet.',
      nothing_changed: 'Es hat sich nichts geändert.',
      passkey_refused: 'Der Passkey oder Sicherheitsschlüssel konnte nicht hinzugefügt werden.',
      passkey_unverified:
        'Der Schlüssel hat nicht geprüft, ob Sie es sind, etwa mit einer PIN. Deshalb kann er kein Passkey sein. Fügen Sie ihn stattdessen als Sicherheitsschlüssel hinzu.',
      passkey_too_late: 'Das hat zu lange gedauert oder ist schon geschehen. Versuchen Sie es noch einmal.',
      passkeys_too_many:
        'Sie haben die höchste Zahl von Passkeys und Sicherheitsschlüsseln. Entfernen Sie zuerst einen.',
      passkey_needed:
        'Sie haben keinen anderen Weg zur Anmeldung. Legen Sie zuerst ein Passwort fest, oder fügen Sie einen weiteren Passkey hinzu.',
      totp_exists: 'Sie haben schon eine Authenticator-App. Entfernen Sie sie zuerst.',
      totp_offer_wrong: 'Das hat zu lange gedauert. Fügen Sie die Authenticator-App noch einmal hinzu.',
    },
  },

  passwords: {
    currentPassword: 'Bisheriges Passwort',
    newPassword: 'Neues Passwort',
    reveal: 'Zeigen',
    hint: counted(
      (minLength) =>
        `Mindestens ${formats.number(minLength)} Zeichen. Mehrere Wörter lassen sich gut merken.`,
    ),
    currentWrong: 'Das bisherige Passwort ist falsch.',
    problems: {
      password_short: counted(
        (minLength) =>
          `Das neue Passwort ist zu kurz. Verwenden Sie mindestens ${formats.number(minLength)} Zeichen.`,
      ),
      password_long: () => 'Das neue Passwort ist zu lang. Verwenden Sie höchstens 1.024 Zeichen.',
      password_common: () =>
        'Dieses Passwort verwenden viele, deshalb probieren Angreifer es als eines der ersten. Wählen Sie ein anderes.',
      password_is_name: () => 'Das neue Passwort darf nicht Ihr Benutzername oder Ihre E-Mail-Adresse sein.',
    },
  },

  forgot: {
    title: 'Passwort zurücksetzen',
    lead: 'Wir senden einen Link an die bestätigte E-Mail-Adresse Ihres Kontos.',
    usernameOrEmail: 'Benutzername oder E-Mail-Adresse',
    submit: 'Link senden',
    back: 'Zurück zur Anmeldung',
    sentTitle: 'Sehen Sie in Ihre E-Mails',
    sent: 'Wenn es ein Konto mit bestätigter E-Mail-Adresse gibt, ist ein Link dorthin unterwegs. Er gilt 30 Minuten, in diesem Browser.',
    sentHelp:
      'Nach einigen Minuten ist nichts da? Sehen Sie in den Spam-Ordner, oder versuchen Sie es noch einmal.',
  },

  signUp: {
    title: 'Konto anlegen',
    lead: 'Wir senden zuerst einen Link an Ihre E-Mail-Adresse.',
    email: 'E-Mail-Adresse',
    domains: (domains) => `Möglich mit Adressen bei ${domains}.`,
    submit: 'Link senden',
    sent: 'Eine E-Mail ist an diese Adresse unterwegs. Öffnen Sie ihren Link innerhalb einer Stunde, um Ihr Konto anzulegen.',
    problems: {
      address_invalid: 'Das ist keine E-Mail-Adresse. Erwartet wird eine Adresse wie alice@example.com.',
      domain_refused: 'Mit Adressen dieser Domain lässt sich hier kein Konto anlegen.',
    },
  },

  links: {
    elsewhere:
      'Dieser Link wurde in einem anderen Browser angefordert. Wenn Sie das waren, geben Sie den Benutzernamen Ihres Kontos ein. Das schützt Sie, falls jemand anderes den Link hat.',
    problems: {
      link_foreign: 'Dieser Link ist für einen anderen Benutzernamen.',
      name_refused:
        'Dieser Benutzername ist nicht erlaubt. Verwenden Sie sichtbare Zeichen einer Schrift, ohne Leerzeichen am Rand. Eine E-Mail-Adresse muss Ihre eigene sein.',
      name_taken: 'Dieser oder ein sehr ähnlicher Benutzername ist vergeben. Wählen Sie einen anderen.',
    },
    reset: {
      title: 'Neues Passwort wählen',
      lead: (account) => html`für das Konto ${account}`,
      submit: 'Passwort ändern',
      doneTitle: 'Ihr Passwort ist geändert',
      done: 'Sie sind überall abgemeldet, und keine Anwendung hat mehr Zugriff. Melden Sie sich mit dem neuen Passwort an.',
    },
    invite: {
      title: 'Passwort wählen',
      lead: (account) => html`für Ihr neues Konto ${account}`,
      submit: 'Passwort speichern',
      doneTitle: 'Ihr Konto ist bereit',
      done: 'Melden Sie sich mit Ihrem Benutzernamen und Passwort an.',
    },
    sign_up: {
      title: 'Konto anlegen',
      lead: (address) => html`mit der E-Mail-Adresse ${address}`,
      submit: 'Konto anlegen',
      doneTitle: 'Ihr Konto ist bereit',
      done: 'Melden Sie sich mit Ihrem Benutzernamen und Passwort an.',
    },
  },

  mailbox: {
    title: 'Postfach der Demo',
    lead: 'E-Mails, die ein echter Server senden würde. Nur die Demo hat diese Seite.',
    reload: 'Neu laden',
    empty: 'Es gibt noch keine E-Mails.',
    to: (address) => html`An ${address}`,
  },

  choose: {
    title: 'Konto wählen',
    toContinueTo: (application) => html`weiter zu ${application}`,
    continueAs: (person) => html`Weiter als ${person}`,
    other: 'Anderes Konto verwenden',
  },

  denied: {
    title: (application) => html`Sie können ${application} nicht verwenden`,
    text: 'Ihr Konto gehört nicht zu denen, für die diese Anwendung gedacht ist.',
    signedInAs: 'Angemeldet als',
    other: 'Anderes Konto verwenden',
    back: (application) => html`Zurück zu ${application}`,
    help: 'Wenn Sie die Anwendung brauchen, bitten Sie den Betreiber dieses Dienstes um Zugang.',
  },

  consent: {
    title: (application) => html`${application} bittet um Zugriff`,
    signedInAs: 'Angemeldet als',
    notYou: 'Nicht Ihr Konto?',
    allowed: 'Was Sie damit erlauben',
    also: 'Und',
    at: (api) => html`Was Sie damit bei ${api} erlauben`,
    ownScopes: 'Berechtigungen mit Namen der Anwendung',
    claims: 'Einzelne Angaben, die sie erbittet',
    services: 'Wo sie diesen Zugriff verwenden kann',
    returnsTo: (host) => html`In beiden Fällen geht es zurück zu ${host}.`,
    leadsTo: (host) => html`Wenn Sie das erlauben, geht es weiter zu ${host}.`,
    endIt: 'Sie können diesen Zugriff jederzeit beenden.',
    endItIn: (account) => html`Sie können diesen Zugriff jederzeit in ${account} beenden.`,
    yourAccount: 'Ihrem Konto',
    allow: 'Erlauben',
    deny: 'Ablehnen',
    policy: 'Datenschutzerklärung',
    terms: 'Nutzungsbedingungen',
    website: 'Website',
  },

  devices: {
    title: 'Gerät verbinden',
    lead: 'Geben Sie den Code ein, den Ihr Gerät anzeigt.',
    compare: 'Vergleichen Sie diesen Code mit dem, den Ihr Gerät anzeigt.',
    code: 'Code',
    check:
      'Fahren Sie nur fort, wenn Sie das gerade selbst begonnen haben und Ihr eigenes Gerät denselben Code anzeigt.',
    submit: 'Weiter',
    wrong: 'Kein Gerät wartet mit diesem Code. Prüfen Sie ihn, oder beginnen Sie auf dem Gerät von vorn.',
    warning:
      'Erlauben Sie das nur, wenn Sie es selbst auf Ihrem eigenen Gerät begonnen haben. Hat Ihnen jemand den Code oder den Link geschickt, lehnen Sie ab.',
    requested: (when) => `Angefragt ${when}.`,
    requestedFrom: (when, address) => html`Angefragt ${when}, von der Adresse ${address}.`,
    approved: {
      title: 'Ihr Gerät ist verbunden',
      text: 'Kehren Sie zu Ihrem Gerät zurück. Sie können diese Seite schließen.',
    },
    denied: {
      title: 'Der Zugriff wurde abgelehnt',
      text: 'Das Gerät erhält keinen Zugriff. Sie können diese Seite schließen.',
    },
  },

  unchecked: {
    badge: 'ungeprüft',
    title: 'Ungeprüfte Anwendung.',
    note: (application, operator) =>
      html`${application} hat sich hier selbst registriert. ${operator} hat nicht geprüft, wer dahintersteht.`,
    byDocument: (host, operator) =>
      html`Sie beschreibt sich selbst auf ${host}. ${operator} hat nicht geprüft, wer dahintersteht.`,
    ownName: (name) => html`Sie nennt sich ${name}.`,
    onThisDevice:
      'Sie läuft auf einem Gerät. Machen Sie nur weiter, wenn Sie sie gerade selbst auf diesem gestartet haben: Andere Programme können ihren Namen verwenden.',
  },

  leaving: {
    title: 'Diese Seite verlassen?',
    leadsTo: (host) => html`Die Anwendung möchte Sie zu ${host} schicken.`,
    note: (operator) =>
      html`Die Anwendung hat sich hier selbst registriert. ${operator} hat nicht geprüft, wer dahintersteht.`,
    go: (host) => html`Weiter zu ${host}`,
    stay: 'Hier bleiben',
  },

  scopes: {
    openid: { title: 'Wissen, wer Sie sind', detail: 'Eine Kennung Ihres Kontos' },
    profile: { title: 'Ihr Profil sehen', detail: 'Zum Beispiel Name, Bild, Geburtsdatum und Sprache' },
    email: { title: 'Ihre E-Mail-Adresse sehen', detail: 'Und ob sie bestätigt ist' },
    address: { title: 'Ihre Postanschrift sehen', detail: undefined },
    phone: { title: 'Ihre Telefonnummer sehen', detail: 'Und ob sie bestätigt ist' },
    offline_access: {
      title: 'Den Zugriff behalten, wenn Sie nicht da sind',
      detail: 'Auch nachdem Sie sich abgemeldet haben, bis Sie ihn beenden',
    },
  },

  logout: {
    title: 'Abmelden?',
    question: (person) => html`Sie sind als ${person} angemeldet.`,
    askedBy: (application) => html`${application} möchte Sie abmelden.`,
    consequence:
      'Sie werden hier abgemeldet. Anwendungen, die benachrichtigt werden können, werden gebeten, Sie ebenfalls abzumelden. Die anderen behalten ihre eigene Sitzung, bis Sie sich dort abmelden.',
    staysHere:
      'Die Anwendung hat eine Rückkehradresse angegeben, die für sie nicht registriert ist. Sie bleiben hier.',
    yes: 'Abmelden',
    no: 'Angemeldet bleiben',
    doneTitle: 'Sie sind abgemeldet',
    done: 'An einem gemeinsam genutzten Computer schließen Sie jetzt am besten den Browser.',
    notified: 'Diese Anwendungen wissen, dass Sie sich abgemeldet haben',
    pending: 'Diese Anwendungen werden benachrichtigt',
    pendingNote: 'Das kann einen Augenblick dauern.',
    notNotified: 'Diese Anwendungen behalten ihre eigene Sitzung',
    notNotifiedNote: 'Sie wurden nicht benachrichtigt. Melden Sie sich auch dort ab.',
    signInAgain: 'Wieder anmelden',
    stillTitle: 'Sie sind weiterhin angemeldet',
    still: 'Es hat sich nichts geändert.',
    toAccount: 'Zu Ihrem Konto',
  },

  account: {
    title: 'Ihr Konto',
    pages: {
      overview: 'Übersicht',
      security: 'Sicherheit',
      sessions: 'Sitzungen',
      applications: 'Anwendungen',
      tokens: 'Zugriffstoken',
      data: 'Ihre Daten',
    },
    profile: 'Profil',
    username: 'Benutzername',
    fullName: 'Vollständiger Name',
    email: 'E-Mail-Adresse',
    verified: 'Bestätigt',
    notVerified: 'Nicht bestätigt',
    addEmail: 'E-Mail-Adresse hinzufügen',
    changeEmail: 'E-Mail-Adresse ändern',
    changeEmailText: 'Wir senden einen Link an die neue Adresse. Sie gilt, sobald Sie ihn geöffnet haben.',
    sendLink: 'Link senden',
    confirmEmail: 'E-Mail-Adresse bestätigen',
    confirmEmailText: (address) => html`Ihr Konto wird ${address} verwenden.`,
    confirmEmailYes: 'Diese Adresse verwenden',
    securityText: 'Wie Sie sich anmelden.',
    password: 'Passwort',
    changePassword: 'Passwort ändern',
    passwordOfDirectory:
      'Ihr Passwort gehört zu Ihrem Firmenkonto. Ändern Sie es dort, wo Sie dieses Konto verwalten.',
    exportData: 'Ihre Daten herunterladen',
    exportText: 'Alles, was dieser Server über Sie speichert, als JSON-Datei.',
    exportYes: 'Herunterladen',
    deleteAccount: 'Konto löschen',
    deleteText:
      'Ihre Daten werden gelöscht, Sie werden überall abgemeldet, und Anwendungen verlieren ihren Zugriff. Das lässt sich nicht rückgängig machen.',
    deleteElsewhere: 'Ihr Konto gehört zu der Anwendung, in der Sie es verwalten. Löschen Sie es dort.',
    deleteConfirm: 'Ich möchte mein Konto endgültig löschen.',
    deleteYes: 'Konto löschen',
    lastAdministrator: 'Außer Ihnen gibt es keinen Administrator. Fügen Sie zuerst einen weiteren hinzu.',
    notConfirmed: 'Setzen Sie den Haken, um zu bestätigen, dass Sie Ihr Konto löschen möchten.',
    deletedTitle: 'Ihr Konto ist gelöscht',
    deletedText: 'Sie sind abgemeldet, und Ihre Daten sind gelöscht.',
    signedInAs: 'Angemeldet als',
    signOut: 'Abmelden',
    applications: 'Anwendungen mit Zugriff',
    applicationsText: 'Was jede Anwendung in Ihrem Namen tun darf.',
    whileAway: 'Auch wenn Sie nicht da sind',
    whileSignedIn: 'Solange Sie angemeldet sind',
    remembered: 'Jetzt kein Zugriff, aber die Anwendung fragt nicht noch einmal',
    acting: 'Dienste und Agenten, die für Sie handeln',
    agent: 'Software\u00ADagent',
    through: (applications) => html`Über ${applications}`,
    usedThisHour: 'in dieser Stunde verwendet',
    usedInHour: (date, from, to) => `zuletzt verwendet am ${date} zwischen ${from} und ${to} Uhr UTC`,
    noAccess: 'Hat keinen Zugriff mehr.',
    noApplications: 'Keine Anwendung hat Zugriff auf Ihr Konto.',
    since: (date) => html`Seit dem ${date}`,
    at: (api) => html`Bei ${api}`,
    claims: (names) => html`Einzelne Angaben: ${names}`,
    usedAt: (services) => html`Zu verwenden bei ${services}`,
    more: counted(
      (count) =>
        `${formats.number(count)} ${formats.plural(count, { one: 'Berechtigung', other: 'Berechtigungen' })} mit Namen der Anwendung`,
    ),
    endAccess: (application) => html`Zugriff <span class="unseen">von ${application} </span>beenden`,
    endAccessTitle: (application) => html`Zugriff von ${application} beenden?`,
    endAccessText:
      'Die Anwendung verliert sofort den Zugriff auf Ihr Konto. Wenn Sie sie später verwenden, bittet sie Sie noch einmal um Erlaubnis.',
    endActingText: (applications) =>
      html`Der Zugriff endet sofort, auch der aller Dienste, die für Sie aufgerufen wurden. Mit neuem Zugriff über ${applications} kann wieder für Sie gehandelt werden. Um das zu verhindern, beenden Sie auch jenen Zugriff.`,
    endAccessYes: 'Zugriff beenden',
    keepAccess: 'Zugriff behalten',
    withdraw: (application) => html`Einwilligung zurücknehmen<span class="unseen"> für ${application}</span>`,
    withdrawTitle: (application) => html`Ihre Einwilligung für ${application} zurücknehmen?`,
    withdrawText:
      'Die Anwendung hat jetzt keinen Zugriff. Wenn Sie sie später verwenden, fragt sie Sie wieder um Erlaubnis.',
    withdrawYes: 'Einwilligung zurücknehmen',
    keepConsent: 'Einwilligung behalten',
    sessions: 'Wo Sie angemeldet sind',
    sessionsText: 'Melden Sie Browser ab, die Sie nicht verwenden oder nicht kennen.',
    computers: 'Computer',
    phones: 'Telefone',
    noSessions: 'Sie sind nirgends angemeldet.',
    thisBrowser: 'Dieser Browser',
    signedIn: (when) => html`Angemeldet ${when}`,
    lastSeen: (when) => html`zuletzt aktiv ${when}`,
    fromNetwork: (network) => html`aus dem Netz ${network}`,
    recentSignIns: 'Letzte Anmeldungen',
    recentSignInsText:
      'Anmeldungen und fehlgeschlagene Versuche der letzten 30 Tage. Wenn Ihnen etwas unbekannt ist, ändern Sie Ihr Passwort. Das meldet auch alle anderen Browser ab.',
    noSignIns: 'Es sind noch keine Anmeldungen verzeichnet.',
    earlierSignIns: counted(
      (count) =>
        `${formats.number(count)} ${formats.plural(count, { one: 'früherer Eintrag', other: 'frühere Einträge' })}`,
    ),
    signedInBy: (ways, when) => html`Mit ${ways}, ${when}`,
    ways: {
      fed: 'anderem Anbieter',
      pwd: 'Passwort',
      email: 'Code per E-Mail',
      otp: 'Code',
      pop: 'Passkey',
      securityKey: 'Sicherheitsschlüssel',
    },
    signInStatuses: {
      current: 'Dieser Browser',
      open: 'Angemeldet',
      ended: 'Beendet',
      failed: 'Fehlgeschlagen',
    },
    signInFailures: {
      password: 'Falsches Passwort',
      code: 'Falscher Code im zweiten Schritt',
      passkey: 'Passkey nicht angenommen',
      other: 'Nicht erlaubt',
    },
    allSessions: 'Alle Sitzungen anzeigen',
    endSession: (session) => html`<span class="unseen">${session} </span>Abmelden`,
    endOthers: 'Überall sonst abmelden',
    notices: {
      access_ended: (application) => html`${application} hat keinen Zugriff mehr.`,
      session_ended: 'Der andere Browser ist abgemeldet.',
      other_sessions_ended: counted(
        (count) =>
          `${formats.number(count)} ${formats.plural(count, { one: 'anderer Browser ist', other: 'andere Browser sind' })} abgemeldet.`,
      ),
      nothing_to_end: 'Das war schon beendet.',
      password_changed: 'Ihr Passwort ist geändert. Alle anderen Browser sind abgemeldet.',
      link_sent: 'Ein Link ist unterwegs. Öffnen Sie ihn in diesem Browser, um die Adresse zu verwenden.',
      link_used: 'Der Link wurde benutzt oder ist abgelaufen. Fordern Sie einen neuen an.',
      provider_linked: 'Das Konto ist verbunden.',
      provider_unlinked: 'Das Konto ist getrennt. Browser, die damit angemeldet waren, sind abgemeldet.',
      email_confirmed: 'Ihre E-Mail-Adresse ist bestätigt.',
      token_saved: 'Das Token ist einsatzbereit. Es wird nicht noch einmal angezeigt.',
      token_ended: 'Das Token ist beendet. Programme, die es verwenden, haben keinen Zugriff mehr.',
    },
  },

  personalTokens: {
    title: 'Persönliche Zugriffstoken',
    text: 'Mit einem Token verwendet ein Skript oder Programm von Ihnen eine API in Ihrem Namen, ohne Ihr Passwort.',
    copyNow: (name) =>
      html`Kopieren Sie das Token ${name} jetzt, und bewahren Sie es dort auf, wo nur das Programm es lesen kann. Wenn Sie es kopiert haben, wird es nicht noch einmal angezeigt. Wer es hat, kann in Ihrem Namen handeln.`,
    waiting: 'Ein neues Token wartet, bis Sie es kopiert haben.',
    value: 'Das Token',
    saved: (name) => html`Ich habe es kopiert<span class="unseen">: ${name}</span>`,
    none: 'Sie haben keine Token.',
    made: (date) => html`erstellt am ${date}`,
    expires: (date) => html`läuft ab am ${date}`,
    neverUsed: 'noch nicht verwendet',
    bound: 'An Ihren Schlüssel oder Ihr Zertifikat gebunden',
    end: (name) => html`<span class="unseen">Das Token ${name} </span>Beenden`,
    endTitle: (name) => html`Das Token ${name} beenden?`,
    endText:
      'Programme, die es verwenden, verlieren sofort ihren Zugriff. Das lässt sich nicht rückgängig machen.',
    endYes: 'Token beenden',
    endNo: 'Token behalten',
    make: 'Token erstellen',
    forApi: (api) => html`Für ${api}`,
    chooseApi: 'Wählen Sie, wofür das Token ist.',
    otherApi: 'Eine andere API wählen',
    name: 'Name des Tokens',
    nameHint: 'Damit Sie es wiedererkennen, zum Beispiel das Programm und der Rechner.',
    scopes: 'Was es darf',
    noScopes: 'Es darf dort alles, was Sie dürfen.',
    lifetime: 'Wie lange es gilt',
    key: 'Öffentlicher Schlüssel (JWK) oder sein Fingerabdruck',
    keyHint:
      'Das Programm beweist mit dem privaten Schlüssel, dass das Token ihm gehört. Geben Sie nie den privaten Schlüssel ein.',
    certificate: 'Clientzertifikat (PEM) oder sein SHA-256-Fingerabdruck',
    certificateHint: 'Das Token gilt nur auf Verbindungen mit diesem Zertifikat.',
    makeYes: 'Token erstellen',
    noApi: 'Im Moment gibt es keine API, für die Sie ein Token erstellen können.',
    problems: {
      name_missing: 'Geben Sie einen Namen ein.',
      api_not_allowed: 'Token für diese API sind nicht erlaubt.',
      scope_not_allowed: 'Eine dieser Berechtigungen darf ein Token nicht haben.',
      scope_missing: 'Wählen Sie mindestens eine Berechtigung.',
      lifetime_wrong: 'Wählen Sie, wie lange das Token gilt.',
      binding_wrong:
        'Geben Sie einen öffentlichen Schlüssel oder ein Zertifikat ein, oder den Fingerabdruck davon. Ein privater Schlüssel wird nicht angenommen.',
      too_many_tokens: 'Sie haben so viele Token, wie möglich sind. Beenden Sie zuerst eines.',
      not_allowed:
        'Mit Ihrem Konto können Sie keine Token erstellen. Wenden Sie sich an den Betreiber dieses Dienstes.',
    },
  },

  browsers: {
    onSystem: (browser, system) =>
      system.startsWith('iP') ? `${browser} auf dem ${system}` : `${browser} unter ${system}`,
    unknown: 'Unbekannter Browser',
    unknownOn: (system) =>
      system.startsWith('iP')
        ? `Unbekannter Browser auf dem ${system}`
        : `Unbekannter Browser unter ${system}`,
  },

  problems: {
    request_invalid: {
      title: 'Diese Anfrage lässt sich nicht verarbeiten',
      text: 'Die Anwendung hat eine ungültige Anfrage gesendet. Es wurde nichts unternommen.',
      help: 'Gehen Sie zurück zur Anwendung und versuchen Sie es noch einmal. Wenn das wieder geschieht, wenden Sie sich an den Betreiber der Anwendung.',
    },
    request_expired: {
      title: 'Bitte beginnen Sie von vorn',
      text: 'Das hat zu lange gedauert oder nicht bei einer Anwendung begonnen.',
      help: 'Gehen Sie zurück zur Anwendung und melden Sie sich von dort aus an.',
    },
    device_over: {
      title: 'Bitte beginnen Sie von vorn',
      text: 'Kein Gerät wartet auf diese Antwort: Sie wurde schon gegeben, das hat zu lange gedauert, oder der Code wurde in einem anderen Browser eingegeben.',
      help: 'Beginnen Sie auf dem Gerät von vorn, und geben Sie den Code in diesem Browser ein.',
    },
    too_many_applications: {
      title: 'Zu viele Anwendungen',
      text: 'Sie haben so viele Anwendungen hinzugefügt, wie es für eine Person möglich ist.',
      help: 'Beenden Sie den Zugriff derer, die Sie nicht brauchen. Sie werden einige Zeit später entfernt.',
    },
    request_answered: {
      title: 'Das haben Sie schon beantwortet',
      text: 'Die Anwendung hat ihre Antwort schon, deshalb wurde nichts weiter gesendet. Vielleicht sind Sie im Browser zurückgegangen oder haben eine Schaltfläche zweimal gedrückt.',
      help: 'Gehen Sie zurück zur Anwendung. Wenn Sie dort nicht angemeldet sind, melden Sie sich von dort aus noch einmal an.',
    },
    request_allowed: {
      title: 'Das haben Sie schon erlaubt',
      text: 'Die Anwendung hat Zugriff und hat ihre Antwort schon. Was Sie jetzt gedrückt haben, ändert nichts.',
      help: 'Gehen Sie zurück zur Anwendung. In Ihrem Konto können Sie ihren Zugriff beenden.',
    },
    request_denied: {
      title: 'Das haben Sie schon abgelehnt',
      text: 'Die Anwendung weiß, dass sie keinen Zugriff hat. Was Sie jetzt gedrückt haben, ändert nichts.',
      help: 'Um den Zugriff doch zu erlauben, gehen Sie zurück zur Anwendung und melden Sie sich von dort aus noch einmal an.',
    },
    form_foreign: {
      title: 'Bitte beginnen Sie von vorn',
      text: 'Dieses Formular wurde nicht für diesen Browser erstellt oder ist abgelaufen.',
      help: 'Gehen Sie zurück zur Anwendung und versuchen Sie es noch einmal. Ihr Browser muss Cookies für diese Seite erlauben.',
    },
    link_invalid: {
      title: 'Dieser Link gilt nicht mehr',
      text: 'Er wurde benutzt, ist abgelaufen, oder Ihr Konto hat sich seitdem geändert.',
      help: 'Fordern Sie einen neuen Link an. Links gelten einmal und nur eine Weile.',
    },
    factors_wait: {
      title: 'Das können Sie noch nicht ändern',
      text: 'Sie haben vor Kurzem mit einem Wiederherstellungscode Ihre Passkeys oder Ihre Authenticator-App geändert. Das schützt Ihr Konto, falls eine andere Person Ihre Wiederherstellungscodes hat.',
      help: 'Versuchen Sie es später noch einmal. Wenn Sie nicht warten können, bitten Sie den Betreiber dieses Dienstes, Ihr Konto zu bestätigen.',
    },
    not_administrator: {
      title: 'Diese Seite ist für Administratoren',
      text: 'Sie sind angemeldet, gehören aber nicht zur Gruppe der Administratoren.',
      help: 'Bitten Sie einen Administrator, Sie in die Gruppe aufzunehmen, oder melden Sie sich mit einem anderen Konto an. Melden Sie sich dazu zuerst auf der Seite Ihres Kontos ab.',
    },
    not_found: {
      title: 'Seite nicht gefunden',
      text: 'Die Adresse ist vielleicht falsch geschrieben oder veraltet.',
      help: 'Prüfen Sie die Adresse, oder beginnen Sie bei der Anwendung, die Sie verwenden möchten.',
    },
    method_not_allowed: {
      title: 'So lässt sich diese Seite nicht verwenden',
      text: 'Diese Seite nimmt diese Art von Anfrage nicht an.',
      help: 'Gehen Sie zurück zur Anwendung und versuchen Sie es noch einmal.',
    },
    too_large: {
      title: 'Die Anfrage ist zu groß',
      text: 'Die Anfrage ist größer, als diese Seite annimmt.',
      help: 'Gehen Sie zurück zur Anwendung und versuchen Sie es noch einmal.',
    },
    too_many_requests: {
      title: 'Zu viele Anfragen',
      text: 'Aus Ihrem Netz sind in kurzer Zeit zu viele Anfragen gekommen.',
      help: 'Warten Sie einen Augenblick und laden Sie die Seite dann neu.',
    },
    unavailable: {
      title: 'Vorübergehend nicht erreichbar',
      text: 'Der Server kann gerade nicht antworten.',
      help: 'Warten Sie einen Augenblick und laden Sie die Seite dann neu.',
    },
    unexpected: {
      title: 'Etwas ist schiefgegangen',
      text: 'Auf dem Server ist ein Fehler aufgetreten.',
      help: 'Versuchen Sie es noch einmal. Wenn das wieder geschieht, wenden Sie sich an den Betreiber dieses Dienstes.',
    },
  },
  reasons: {
    parameter_missing: 'In der Anfrage fehlt etwas, das erforderlich ist.',
    parameter_repeated: 'Die Anfrage enthält etwas mehr als einmal.',
    parameter_invalid: 'Die Anfrage enthält einen Wert, der nicht erlaubt ist.',
    parameters_too_long: 'Die Anfrage ist zu lang.',
    wrong_media_type: 'Die Anfrage ist kein Formular.',
    client_unknown: 'Die Anwendung ist hier nicht registriert.',
    client_disabled: 'Die Anwendung ist hier deaktiviert.',
    client_keys_refused: 'Die Schlüssel der Anwendung lassen sich nicht lesen.',
    redirect_uri_mismatch: 'Die Rückkehradresse ist für die Anwendung nicht registriert.',
    id_token_hint_wrong:
      'Der Nachweis, wer angemeldet ist, stammt nicht von diesem Server oder gilt für eine andere Anwendung.',
    pushed_request_unknown: 'Die Anfrage wurde schon verwendet oder ist abgelaufen.',
    pushed_request_foreign: 'Die Anfrage gehört zu einer anderen Anwendung.',
    pushed_request_missing: 'Die Anwendung muss ihre Anfragen vorab an den Server senden.',
    request_object_malformed: 'Die signierte Anfrage lässt sich nicht lesen.',
    request_object_wrong_key: 'Die Signatur der Anfrage passt nicht zur Anwendung.',
    request_object_wrong_claims:
      'Die signierte Anfrage gilt für einen anderen Server oder eine andere Anwendung oder ist abgelaufen.',
    request_object_missing: 'Die Anwendung muss ihre Anfragen signieren.',
    request_uri_not_allowed:
      'Die Anfrage verweist auf eine Adresse, die für die Anwendung nicht registriert ist.',
    request_uri_unreachable: 'Die Anfrage verweist auf ein Dokument, das sich nicht abrufen ließ.',
  },
  problemWays: {
    again: 'Noch einmal versuchen',
    newLink: 'Neuen Link anfordern',
    application: (application) => html`Zu ${application}`,
    home: 'Startseite',
    account: 'Ihr Konto',
  },
  problemDetail: {
    heading: 'Für Entwickler',
    code: 'Fehler',
    description: 'Beschreibung',
    waitFor: (wait) => `Versuchen Sie es in ${wait} noch einmal.`,
  },

  copying: {
    copy: 'Kopieren',
    copied: 'Kopiert',
    requestNumber: 'Nummer der Anfrage',
  },

  mails: {
    greeting: (username) => `Guten Tag ${username},`,
    actionFor: (action, account) => `${action} für ${account}`,
    linkValid: (duration) => `Der Link gilt einmal und ${duration} lang.`,
    codeValid: (duration) =>
      `Der Code gilt einmal und ${duration} lang, und nur in dem Browser, in dem Sie ihn angefordert haben.`,
    sharedCodeValid: (duration) =>
      `Für Ihr Konto wurden viele Codes angefordert, vielleicht von anderen. Deshalb ist dieser Code länger: Er gilt einmal und ${duration} lang, in jedem Browser, in dem Sie einen Code anfordern.`,
    codeRequest: (browser, time) => `Angefordert mit: ${browser}, ${time}.`,
    codeRequestFrom: (browser, network, time) =>
      `Angefordert mit: ${browser}, aus dem Netz ${network}, ${time}.`,
    linkHint: 'Oder öffnen Sie diese Adresse:',
    automatic: (operator) => `${operator} hat diese E-Mail automatisch gesendet.`,
    byRecovery: 'Das geschah nach einer Anmeldung mit einem Wiederherstellungscode.',
    changes: {
      passkey_added: (name) => `Der Passkey „${name}“ wurde hinzugefügt.`,
      passkey_removed: (name) => `Der Passkey „${name}“ wurde entfernt.`,
      security_key_added: (name) => `Der Sicherheitsschlüssel „${name}“ wurde hinzugefügt.`,
      security_key_removed: (name) => `Der Sicherheitsschlüssel „${name}“ wurde entfernt.`,
      totp_added: () => 'Eine Authenticator-App wurde hinzugefügt.',
      totp_removed: () => 'Die Authenticator-App wurde entfernt.',
      recovery_codes_made: () =>
        'Neue Wiederherstellungscodes wurden erstellt. Die bisherigen gelten nicht mehr.',
      recovery_codes_removed: () => 'Die Wiederherstellungscodes wurden entfernt.',
      factors_reset: () =>
        'Alle Passkeys und Sicherheitsschlüssel, die Authenticator-App und die Wiederherstellungscodes wurden entfernt.',
      provider_linked: (name) => `Die Anmeldung über ${name} wurde hinzugefügt.`,
      provider_unlinked: (name) => `Die Anmeldung über ${name} wurde entfernt.`,
    },
    templates: {
      reset: {
        subject: (operator) => `Passwort für ${operator} zurücksetzen`,
        text: (operator) =>
          `Jemand möchte Ihr Passwort für ${operator} zurücksetzen. Wenn Sie das waren, wählen Sie ein neues.`,
        action: 'Neues Passwort wählen',
        note: 'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail. Ihr Passwort hat sich nicht geändert.',
      },
      code: {
        subject: (operator) => `Ihr Code für ${operator}`,
        text: (operator, application) =>
          `Jemand möchte sich ${application === '' ? `bei ${operator}` : `mit ${operator} bei ${application}`} anmelden. Wenn Sie das sind, geben Sie diesen Code auf der Seite ein, auf der Sie ihn angefordert haben.`,
        action: undefined,
        note: 'Sagen Sie den Code niemandem, und geben Sie ihn auf keiner anderen Seite ein: Wer ihn hat, kann sich als Sie anmelden. Wenn Sie ihn nicht angefordert haben, ignorieren Sie diese E-Mail.',
      },
      sign_up: {
        subject: (operator) => `Ihr Konto für ${operator} anlegen`,
        text: (operator) =>
          `Jemand möchte mit dieser E-Mail-Adresse ein Konto für ${operator} anlegen. Wenn Sie das waren, geht es hier weiter.`,
        action: 'Konto anlegen',
        note: 'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail. Ohne diesen Link wird kein Konto angelegt.',
      },
      sign_up_exists: {
        subject: (operator) => `Sie haben schon ein Konto für ${operator}`,
        text: (operator) =>
          `Jemand möchte mit dieser E-Mail-Adresse ein Konto für ${operator} anlegen, aber sie hat schon eines. Melden Sie sich damit an, oder setzen Sie auf der Anmeldeseite das Passwort zurück.`,
        action: undefined,
        note: 'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail.',
      },
      verify: {
        subject: (operator) => `E-Mail-Adresse für ${operator} bestätigen`,
        text: (operator) =>
          `Bestätigen Sie, dass Ihr Konto für ${operator} diese E-Mail-Adresse verwenden darf.`,
        action: 'Adresse bestätigen',
        note: 'Wenn Sie das nicht verlangt haben, ignorieren Sie diese E-Mail. Die Adresse wird dann nicht verwendet.',
      },
      invite: {
        subject: (operator) => `Ihr Konto für ${operator}`,
        text: (operator) =>
          `${operator} hat ein Konto für Sie angelegt. Wählen Sie ein Passwort, um es zu verwenden.`,
        action: 'Passwort wählen',
        note: undefined,
      },
      password_link: {
        subject: (operator) => `Neues Passwort für ${operator} wählen`,
        text: (operator) =>
          `Ein Administrator von ${operator} bittet Sie, ein neues Passwort zu wählen. Danach sind alle Browser abgemeldet.`,
        action: 'Neues Passwort wählen',
        note: 'Wenn Sie diese E-Mail nicht erwartet haben, fragen Sie den Betreiber des Dienstes, bevor Sie den Link benutzen. Ihr Passwort hat sich nicht geändert.',
      },
      password_changed: {
        subject: (operator) => `Ihr Passwort für ${operator} wurde geändert`,
        text: (operator) =>
          `Das Passwort Ihres Kontos für ${operator} wurde gerade geändert. Alle anderen Browser sind abgemeldet.`,
        action: undefined,
        note: 'Wenn Sie das nicht waren, setzen Sie jetzt auf der Anmeldeseite Ihr Passwort zurück, und wenden Sie sich an den Betreiber des Dienstes.',
      },
      factor_changed: {
        subject: (operator) => `Ihre Anmeldung bei ${operator} wurde geändert`,
        text: (operator, change) => `${change} Es geht um Ihr Konto für ${operator}.`,
        action: undefined,
        note: 'Wenn Sie das nicht waren, ändern Sie jetzt Ihr Passwort, entfernen Sie auf der Seite „Sicherheit“ Ihres Kontos alles, was Sie nicht kennen, und wenden Sie sich an den Betreiber des Dienstes.',
      },
      token_made: {
        subject: (operator) => `Neues persönliches Zugriffstoken für ${operator}`,
        text: (operator, name) =>
          `Auf den Seiten Ihres Kontos für ${operator} wurde das persönliche Zugriffstoken „${name}“ erstellt. Programme, die es haben, können in Ihrem Namen handeln.`,
        action: undefined,
        note: 'Wenn Sie das nicht waren, beenden Sie das Token auf der Seite Ihrer Token, ändern Sie jetzt Ihr Passwort, und wenden Sie sich an den Betreiber des Dienstes.',
      },
      email_changed: {
        subject: (operator) => `Ihre E-Mail-Adresse für ${operator} wurde geändert`,
        text: (operator, address) =>
          `Ihr Konto für ${operator} verwendet jetzt die E-Mail-Adresse ${address}. Die bisherige Adresse erhält keine E-Mails mehr dazu.`,
        action: undefined,
        note: 'Wenn Sie das nicht waren, wenden Sie sich jetzt an den Betreiber des Dienstes.',
      },
      account_removed: {
        subject: (operator) => `Ihr Konto für ${operator} ist gelöscht`,
        text: (operator) =>
          `Ihr Konto für ${operator} und seine Daten sind gelöscht, wie Sie es verlangt haben.`,
        action: undefined,
        note: 'Wenn Sie das nicht waren, wenden Sie sich an den Betreiber des Dienstes.',
      },
      test: {
        subject: (operator) => `Test-E-Mail von ${operator}`,
        text: (operator) => `Dies ist ein Test. ${operator} kann E-Mails senden.`,
        action: undefined,
        note: undefined,
      },
    },
  },

  home: {
    title: (operator) => operator,
    text: 'Anwendungen schicken Sie hierher, damit Sie sich anmelden. Auf dieser Seite ist nichts zu tun.',
    account: 'Ihr Konto',
    running: (issuer) => html`grantd läuft als ${issuer}.`,
    metadata: 'Metadaten',
    forDevelopers: 'Für Entwickler',
  },
};
