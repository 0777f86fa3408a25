import type * as en from '../en/causes.ts';

export const CAUSES: typeof en.CAUSES = {
  refresh_token_reused:
    'Ein altes Erneuerungstoken derselben Familie wurde noch einmal benutzt, nachdem ein neues es ersetzt hatte. Vielleicht hat die Anwendung das neue verloren, vielleicht hat ein Dieb eine Kopie. Der Server hat darum alle Token der Familie beendet.',
  code_reused:
    'Der Autorisierungscode wurde ein zweites Mal eingelöst, vielleicht von einem Dieb. Der Server hat darum seine Token beendet.',
  revoked_by_client: 'Die Anwendung hat dieses Token selbst widerrufen.',
  tied_revoked_by_client:
    'Die Anwendung hat ein anderes Token desselben Zugriffs widerrufen, und dieses endete mit ihm.',
  revoked_by_operator: 'Ein Betreiber hat dieses Token widerrufen.',
  tied_revoked_by_operator:
    'Ein Betreiber hat ein anderes Token desselben Zugriffs widerrufen, und dieses endete mit ihm.',
  family_revoked: 'Sein Erneuerungstoken wurde widerrufen, mit allen Nachfolgern und deren Zugriffstoken.',
  code_revoked: 'Der Autorisierungscode wurde widerrufen, mit dem es erhalten wurde.',
  exchanges_revoked:
    'Alles wurde widerrufen, was die Anwendung durch Tausch für den Benutzer erhalten hatte.',
  ended_by_user: 'Der Benutzer hat diesen Zugriff beendet.',
  ended_by_operator: 'Ein Betreiber hat diesen Zugriff beendet.',
  consent_withdrawn: 'Die Einwilligung des Benutzers für diese Anwendung wurde zurückgenommen.',
  left_group: 'Der Benutzer ist nicht mehr in der Gruppe, für die die Anwendung ist.',
  groups_changed: 'Die Anwendung ist jetzt für andere Gruppen, und der Benutzer ist in keiner davon.',
  beyond_policy:
    'Die Optionen des Servers erlauben dieses persönliche Zugriffstoken nicht mehr. Der Server hat es deshalb nach einem Start beendet.',
  signed_out: 'Der Benutzer hat sich abgemeldet.',
  session_ended_by_operator: 'Ein Betreiber hat die Sitzung des Benutzers beendet.',
  access_ended_by_user: 'Der Benutzer hat alle seine Zugriffe beendet.',
  access_ended_by_operator: 'Ein Betreiber hat alle Zugriffe des Benutzers beendet.',
  password_set: 'Der Benutzer hat sein Passwort geändert.',
  password_set_by_operator: 'Ein Betreiber hat dem Benutzer ein neues Passwort gegeben.',
  factors_reset: 'Alle Faktoren des Benutzers wurden entfernt.',
  factor_removed: 'Ein Faktor des Benutzers wurde entfernt.',
  provider_unlinked: 'Das Konto des Benutzers bei einem Anbieter wurde getrennt.',
  provider_logout: 'Der Benutzer hat sich beim Anbieter abgemeldet.',
  person_disabled: 'Der Benutzer wurde deaktiviert, und alle Sitzungen endeten.',
  subject_disabled: 'Der Benutzer wurde deaktiviert oder entfernt.',
  person_removed: 'Der Benutzer wurde entfernt, und alle Sitzungen endeten.',
  person_imported: 'Ein Import hat das Passwort des Benutzers geändert oder den Benutzer deaktiviert.',
  directory_linked: 'Der Benutzer meldet sich jetzt mit dem Passwort des Verzeichnisses an.',
  client_revoked: 'Alle Token der Anwendung wurden widerrufen.',
  client_disabled: 'Die Anwendung wurde deaktiviert.',
  issued_before_revoked: 'Alle Token wurden widerrufen, die vor einem Zeitpunkt ausgestellt wurden.',
};
