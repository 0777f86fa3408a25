// Sentences about reason codes, in German. The English ones are beside the codes.
import type { InactiveReason } from '@grantd/core';
import type { PageReason } from '../../log/page_events.ts';

/** Why a token is inactive. */
const INACTIVE: Readonly<Record<InactiveReason, string>> = {
  malformed: 'Das kann kein Token dieses Servers sein: Zeichen, Form oder Anfang sind falsch.',
  unknown_key: 'Das Token nennt einen Signaturschlüssel, den dieser Server nicht hat.',
  bad_signature: 'Die Signatur ist falsch, oder ihr Algorithmus ist nicht der des Schlüssels.',
  verifier_rejected:
    'Der jwtService oder accessTokenVerifier der Anwendung hat das Token mit einem Fehler abgelehnt.',
  wrong_issuer: 'Das Token ist von einem anderen Aussteller (iss), als der Server oder die API erwartet.',
  wrong_type: 'Der Endpunkt oder die API nimmt Token dieser Art nicht an, etwa ID-Token.',
  not_yet_valid: 'Das Token gilt erst ab einem späteren Zeitpunkt (nbf).',
  no_record: 'Der Server hat keinen Eintrag zu dem Token: Es wurde nie ausgestellt oder ist gelöscht.',
  sub_missing: 'Das Token ist für einen Benutzer, aber seine Kennung (sub) fehlt oder ist kein Text.',
  confirmation_missing:
    'Das Token ist an einen Schlüssel gebunden (DPoP), aber der Eintrag nennt den Schlüssel nicht.',
  differs_from_issued: 'Der Eintrag mit der Kennung des Tokens (jti) gehört zu einem anderen Token.',
  digest_missing:
    'Nach seinem typ könnte das JWT ein ID-Token sein, und der Eintrag hat keine Prüfsumme, die es unterscheidet.',
  expired: 'Das Token ist abgelaufen.',
  expiry_unreadable: 'Der Ablauf des Tokens ist keine Zahl von Sekunden.',
  revoked:
    'Das Token wurde widerrufen: allein, mit dem Token, das mit ihm ausgestellt wurde, mit seiner Familie, oder mit allem, was seine Anwendung für den Benutzer erhalten hatte.',
  superseded: 'Die Anwendung hat das Erneuerungstoken benutzt, und ein neues hat es ersetzt.',
  grant_revoked: 'Der Zugriff, den der Benutzer der Anwendung erteilt hatte, wurde beendet.',
  session_revoked: 'Die Sitzung, in der das Token ausgestellt wurde, ist beendet.',
  subject_revoked: 'Alle Token des Benutzers wurden widerrufen.',
  subject_disabled: 'Der Benutzer ist gesperrt, oder es gibt ihn nicht mehr.',
  client_revoked: 'Alle Token der Anwendung wurden widerrufen.',
  client_disabled: 'Die Anwendung ist gesperrt.',
  client_gone: 'Die Anwendung des Tokens gibt es nicht mehr.',
  issued_before_cutoff:
    'Alle Token, die vor einem Zeitpunkt ausgestellt wurden, sind widerrufen, und dieses ist älter.',
  ancestor_ended:
    'Das Token wurde für ein anderes Token erhalten, und dieses ist zu Ende, oder dessen Anwendung oder Benutzer.',
  code_unknown:
    'Diesen Code gibt es nicht: Er wurde nie ausgestellt oder ist seit mehr als zehn Minuten abgelaufen.',
  code_redeemed: 'Die Anwendung hat den Code schon eingelöst.',
  authorization_code: 'Das ist ein Autorisierungscode, über den der Server keine Auskunft gibt.',
  need_unmet:
    'Dem Token fehlt eine Berechtigung, oder es ist nicht für die API, die der Fragende genannt hat.',
  policy: 'Nach der introspectionPolicy darf diese Anwendung nicht nach dem Token fragen.',
};

/** Why a page refused a request. */
const OF_PAGES: Readonly<Record<PageReason, string>> = {
  person_unknown:
    'Kein Benutzer hat den eingegebenen Namen oder die eingegebene E-Mail-Adresse, oder mehrere haben die Adresse.',
  password_wrong: 'Das Passwort ist falsch.',
  password_cut_off:
    'Der Passwort-Hash des Benutzers ist von einem anderen Server, der einen Teil des eingegebenen Passworts nicht beachtet. Der Rest ist richtig. Der Benutzer muss ein neues Passwort wählen.',
  person_disabled: 'Der Benutzer ist gesperrt.',
  password_expired: 'Das Passwort ist im LDAP-Verzeichnis abgelaufen und muss zuerst dort geändert werden.',
  directory_account_locked:
    'Das LDAP-Verzeichnis hat das Konto nach falschen Passwörtern gesperrt. Ob das eingegebene Passwort richtig ist, sagt es nicht.',
  directory_sign_in_restricted:
    'Das Passwort ist richtig, aber das LDAP-Verzeichnis erlaubt die Anmeldung jetzt oder von diesem Server aus nicht.',
  directory_entry_ambiguous:
    'Die Option ldapFilter findet zu dem eingegebenen Namen mehrere Einträge des LDAP-Verzeichnisses. Es darf nur einer sein.',
  directory_entry_limited:
    'Für einen Eintrag des LDAP-Verzeichnisses gab es zu viele falsche Passwörter von einer IP-Adresse aus.',
  directory_entry_missing:
    'Der Benutzer ist aus dem LDAP-Verzeichnis, aber es hat seinen Eintrag nicht mehr, oder die Option ldapFilter findet ihn nicht mehr.',
  directory_name_taken:
    'Ein Benutzer des LDAP-Verzeichnisses hat sich zum ersten Mal angemeldet, aber seinen Namen hat hier schon jemand. Ist es derselbe Mensch, dann hilft grantd directory link.',
  directory_name_refused:
    'Ein Benutzer des LDAP-Verzeichnisses hat sich zum ersten Mal angemeldet, aber dieser Server erlaubt seinen Namen nicht.',
  directory_unavailable:
    'Das LDAP-Verzeichnis hat nicht geantwortet oder das Konto abgelehnt, mit dem sich der Server dort anmeldet.',
  person_changed:
    'Während der Anmeldung wurden Passwort, Daten oder Sperre des Benutzers geändert. Deshalb hat der Server sie abgebrochen.',
  person_not_expected:
    'Die Anwendung verlangt einen bestimmten Benutzer (id_token_hint oder sub), aber ein anderer hat sich angemeldet.',
  too_many_attempts:
    'Für diesen Namen oder diese E-Mail-Adresse gab es von einer IP-Adresse aus zu viele falsche Passwörter.',
  person_limited:
    'Für diesen Benutzer gab es von einer IP-Adresse aus zu viele falsche Passwörter, manche mit dem Namen und andere mit der E-Mail-Adresse. Der Server hat das Passwort nicht geprüft, und die Seite nennt es falsch.',
  too_many_failures:
    'Von einer IP-Adresse aus sind zu viele Anmeldungen fehlgeschlagen, gezählt über alle Namen.',
  too_many_sign_ins:
    'Zu viele Anmeldungen warten auf die Prüfung ihres Passworts. Diese hat der Server nicht geprüft.',
  form_foreign:
    'Das Formular hat dieser Server nicht für diesen Browser, diese Sitzung und diese Anfrage gemacht, oder es ist abgelaufen.',
  passkey_challenge_wrong:
    'Der Passkey hat eine Aufgabe signiert, die abgelaufen ist oder für einen anderen Browser oder eine andere Anfrage war.',
  passkey_challenge_used: 'Der Passkey hat eine Aufgabe signiert, die schon benutzt war.',
  passkey_unknown: 'Kein Benutzer hat diesen Passkey, oder er wurde entfernt.',
  passkey_foreign: 'Der Passkey gehört einem anderen Benutzer als dem, der sich anmeldet.',
  passkey_wrong: 'Die Antwort des Passkeys ist ungültig: Herkunft, RP-ID oder Signatur ist falsch.',
  passkey_unverified:
    'Der Authenticator hat seinen Benutzer nicht geprüft, was ein Passkey braucht. Ein Sicherheitsschlüssel ohne PIN kann das nicht: Er ist nur ein zweiter Schritt.',
  security_key_alone: 'Ein Sicherheitsschlüssel wurde ohne vorheriges Passwort verwendet.',
  passkey_counter_wrong:
    'Der Zähler des Passkeys ist nicht höher als beim letzten Mal. Vielleicht ist der Passkey eine Kopie.',
  passkeys_too_many: 'Der Benutzer wollte einen Passkey hinzufügen, hat aber schon so viele wie möglich.',
  passkey_needed: 'Der Benutzer wollte einen Passkey entfernen, kann sich aber nicht anders anmelden.',
  code_wrong: 'Der Code der Authenticator-App ist falsch.',
  email_code_wrong:
    'Der Code aus der E-Mail ist falsch, abgelaufen, benutzt, ersetzt oder aus einem anderen Browser, oder es gibt den Benutzer nicht.',
  email_code_guessed: 'Für einen Code per E-Mail gab es fünf falsche Versuche. Er gilt nicht mehr.',
  code_used: 'Der Code der Authenticator-App war schon benutzt.',
  totp_exists: 'Der Benutzer wollte eine Authenticator-App hinzufügen, hat aber schon eine.',
  totp_offer_wrong:
    'Der Benutzer wollte eine Authenticator-App hinzufügen, aber das Geheimnis im Formular war nicht für ihn.',
  recovery_code_wrong: 'Der Wiederherstellungscode ist falsch oder war schon benutzt.',
  too_many_device_codes:
    'Zu viele Gerätecodes wurden eingegeben: von diesem Benutzer, von einer IP-Adresse aus oder für diesen Code.',
  device_code_wrong: 'Auf den eingegebenen Code wartet kein Gerät: Er ist vertippt, benutzt oder abgelaufen.',
  too_many_codes:
    'Für diesen Benutzer gab es zu viele falsche Codes der Authenticator-App oder Wiederherstellungscodes.',
  sign_in_too_old:
    'Für die Änderung am Konto war die Anmeldung zu lange her. Der Benutzer muss sich zuerst noch einmal anmelden.',
  password_not_asked:
    'Der Name ist eine Adresse, deren Benutzer sich bei einem Anbieter anmelden. Deshalb hat der Server kein Passwort geprüft.',
  sign_in_too_weak:
    'Für die Änderung am Konto hat der Benutzer nicht den stärksten Faktor benutzt, den er hat. Das muss er zuerst tun.',
  factors_wait:
    'Die Faktoren des Benutzers wurden mit einem Wiederherstellungscode geändert und zählen noch nicht. Er muss warten, oder Sie bestätigen die Faktoren.',
  passkey_waits:
    'Der Passkey wurde mit einem Wiederherstellungscode hinzugefügt und zählt noch nicht, aber die Anmeldung braucht einen, der zählt.',
  request_expired:
    'Die Seite gehört zu keiner Anfrage, die dieser Server begonnen hat. Vielleicht ist ihre URL unvollständig, oder das Geheimnis des Servers ist ein anderes.',
  device_code_of_other_browser:
    'Der Gerätecode wurde in einem anderen Browser eingegeben. Vielleicht hat jemand dem Benutzer die Adresse seiner eigenen Seite geschickt.',
  request_too_long:
    'Die Anfrage hat zu viele Zeichen, um sie zu behalten, während der Benutzer auf den Seiten des Servers ist.',
  client_not_allowed: 'Die Anwendung ist nur für bestimmte Gruppen, und der Benutzer ist in keiner davon.',
  consent_withdrawn:
    'Während der Anfrage hat der Benutzer den Zugriff der Anwendung beendet. Der Server hat den neuen Zugriff widerrufen.',
  link_invalid:
    'Der Link aus der E-Mail ist unbekannt, benutzt oder abgelaufen, oder Passwort oder Adresse des Benutzers haben sich seitdem geändert.',
  link_foreign:
    'Der Link für ein neues Passwort wurde in einem anderen Browser geöffnet, und der dort eingegebene Name ist falsch.',
  password_short: 'Das gewählte Passwort ist zu kurz.',
  password_long: 'Das gewählte Passwort ist zu lang.',
  password_common: 'Das gewählte Passwort steht auf der Liste häufiger Passwörter.',
  password_is_name: 'Das gewählte Passwort ist der Benutzername oder die E-Mail-Adresse.',
  name_refused: 'Der gewählte Benutzername ist nicht erlaubt.',
  name_taken: 'Den gewählten Benutzernamen oder einen ähnlichen hat schon jemand.',
  address_invalid: 'Die eingegebene E-Mail-Adresse ist ungültig.',
  domain_refused:
    'Mit Adressen dieser Domain kann man sich nicht registrieren, oder ihre Benutzer melden sich bei einem Anbieter an.',
  too_many_mails:
    'Zu viele E-Mails wurden angefordert: für diesen Namen, diese Adresse oder von einer IP-Adresse aus.',
  provider_unavailable: 'Der Anbieter hat nicht geantwortet oder gemeldet, dass er nicht verfügbar ist.',
  provider_denied:
    'Der Anbieter hat gemeldet, dass er den Benutzer nicht angemeldet oder dieser nicht zugestimmt hat.',
  provider_code_refused: 'Der Anbieter hat den Autorisierungscode abgelehnt, etwa weil er schon benutzt war.',
  provider_answer_invalid: 'Die Antwort des Anbieters ist ungültig: etwa Aussteller, Nonce oder Signatur.',
  provider_sign_in_old:
    'Der Anbieter sollte den Benutzer neu anmelden, aber sein ID-Token zeigt das nicht: auth_time fehlt oder ist zu alt.',
  provider_answer_foreign:
    'Die Antwort des Anbieters gehört zu keiner Anmeldung, die dieser Browser begonnen hat, oder war schon benutzt.',
  provider_not_linked:
    'Mit dem Konto beim Anbieter ist kein Benutzer verbunden, und die Option create_users des Anbieters erlaubt keinen neuen.',
  provider_linked_elsewhere:
    'Der Benutzer wollte ein Konto bei einem Anbieter verbinden, das schon mit einem anderen Benutzer verbunden ist.',
  provider_needed:
    'Der Benutzer wollte die Verbindung zu einem Anbieter lösen, kann sich aber nicht anders anmelden.',
  too_many_requests:
    'Eine Adresse hat so viele Anfragen geschickt, wie Fremde in einer Minute dürfen (Option addressRequestLimit). Hinter einem Proxy muss trustedProxies gesetzt sein.',
  too_many_wrong_secrets:
    'Eine Adresse hat zu viele falsche Geheimnisse von Anwendungen geschickt. Bis zum Ende der Minute gelten dort nur Geheimnisse, die schon einmal gestimmt haben. Hinter einem Proxy muss trustedProxies gesetzt sein.',
  too_many_unknown_tokens:
    'Eine Anwendung oder Adresse hat zu viele unbekannte Token geschickt. Sie rät, oder eine API bekommt sie von ihren Aufrufern.',
  token_refused:
    'Der Benutzer wollte ein persönliches Zugriffstoken erstellen, das die Regeln des Servers nicht erlauben, oder hat zu viele.',
  not_administrator: 'Der Benutzer ist nicht in der Gruppe, die diese Konsole benutzen darf.',
  request_decided:
    'Der Benutzer ist zurückgegangen und hat eine Anfrage noch einmal beantwortet. Die erste Antwort zählt.',
  session_over:
    'Während der Anfrage ist die Sitzung des Benutzers zu Ende gegangen. Der Server hat den neuen Zugriff widerrufen.',
};

export const REASONS_DE: ReadonlyMap<string, string> = new Map(Object.entries({ ...INACTIVE, ...OF_PAGES }));
