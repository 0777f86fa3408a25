// What the console says when it signs in with an application, in German.
import { html } from 'hono/html';
import type * as en from '../en/trial.ts';

export const TRIAL: typeof en.TRIAL = {
  offer:
    'Melden Sie sich selbst an, und sehen Sie, was die Anwendung bekommt. Dafür braucht sie weder Code noch einen eigenen Server.',
  begin: 'Mit dieser Anwendung anmelden',
  again: 'Noch einmal anmelden',
  notAllowed:
    'Die Konsole kann sich mit dieser Anwendung anmelden, wenn die Anwendung sie als Redirect-URI erlaubt.',
  elsewhere: (url) => html`Um sich mit dieser Anwendung anzumelden, öffnen Sie die Konsole unter ${url}.`,
  obstacles: {
    disabled: 'Eine deaktivierte Anwendung lässt sich nicht ausprobieren.',
    signed_request:
      'Die Konsole kann diese Anwendung nicht ausprobieren: Ihre Anfragen müssen mit einem Schlüssel signiert sein, den nur die Anwendung hat.',
    certificate:
      'Die Konsole kann diese Anwendung nicht ausprobieren: Ihre Token sind an ein Zertifikat gebunden, das nur die Anwendung hat.',
    response_mode:
      'Die Konsole kann diese Anwendung nicht ausprobieren: Unter ihren Antwortarten fehlt query, die eine Seite ohne Skripte braucht.',
  },
  title: 'Was die Anwendung bekommt',
  scopes: 'Berechtigungen (Scopes)',
  granted: 'Gewährt',
  ofOtherApi: (apis) =>
    html`Nicht gewährt. Sie gehört zu einer API, die die Anwendung nicht anfordern darf: ${apis}`,
  unusedApi: (scopes) =>
    html`Das Zugriffstoken gilt nicht für diese API, weil die Anwendung keine ihrer Berechtigungen hat. Fügen Sie den Berechtigungen der Anwendung eine hinzu: ${scopes}`,
  leftOut:
    'Nicht gewährt. Die Einwilligung oder eine Einstellung des Servers lässt sie weg, oder sie gehört zu einer anderen API als die übrigen.',
  refreshable: 'Die Anwendung bekommt auch ein Erneuerungstoken, mit dem sie ihren Zugriff erneuert.',
  notRefreshable:
    'Die Anwendung bekommt kein Erneuerungstoken. Wenn das Zugriffstoken abläuft, meldet sich der Benutzer neu an.',
  idToken: 'ID-Token',
  idTokenText: 'Wer sich wann und wie angemeldet hat. Die Anwendung liest es.',
  noIdToken: 'Die Anwendung bekommt keines, weil sie den Scope openid nicht anfordert.',
  encrypted: 'Es ist verschlüsselt, und nur die Anwendung hat den Schlüssel.',
  userInfoText: 'Was die Anwendung auf Anfrage über den Benutzer erfährt.',
  accessToken: 'Zugriffstoken',
  accessTokenText: 'Was eine API über das Token erfährt, wenn sie den Server fragt.',
  refreshToken: 'Erneuerungstoken',
  revoke: 'Token widerrufen',
  toClient: 'Zurück zur Anwendung',
  ended: 'Das Token ist widerrufen',
  endedText: 'Das bekommen APIs und die Anwendung von jetzt an:',
  failed: 'Die Anwendung bekommt nichts',
  failedText: (name) => `Die Anmeldung mit ${name} ist fehlgeschlagen. Die Anwendung bekommt diesen Fehler.`,
  refused: 'Der Server hat die Anfrage abgelehnt.',
  explain: 'Was das bedeutet und was zu tun ist',
  errors: {
    access_denied: 'Der Benutzer oder eine Regel des Servers oder der Anwendung hat den Zugriff abgelehnt.',
    login_required: 'Der Benutzer müsste sich neu anmelden, was die Anfrage nicht erlaubt.',
    unmet_authentication_requirements: 'Die Anmeldung ist schwächer, als die Anwendung verlangt.',
    invalid_scope: 'Die Anwendung darf keine dieser Berechtigungen haben, oder nicht zusammen.',
    invalid_target: 'Die Anwendung darf diese API nicht anfordern.',
    invalid_grant: 'Der Code gilt nicht mehr. Er gilt nur einmal und nur kurze Zeit.',
    invalid_token: 'Das Token ist nicht aktiv.',
    insufficient_scope: 'Ohne den Scope openid kann die Anwendung UserInfo nicht fragen.',
    unauthorized_client: 'Die Anwendung darf das nicht.',
    temporarily_unavailable: 'Der Server konnte nicht antworten. Versuchen Sie es bald noch einmal.',
  },
  foreign: 'Diese Anmeldung hat nicht hier begonnen',
  foreignText: (origin) =>
    html`Es wurde nichts eingelöst. Eine Anmeldung mit einer Anwendung beginnt und endet im selben Browser, innerhalb von zehn Minuten, unter der Adresse ${origin}. Beginnen Sie sie noch einmal auf der Seite der Anwendung.`,
};
