// Long: a sentence about each reason code, in German.
import type * as en from '../en/reasons.ts';

export const REASONS: typeof en.REASONS = {
  // Endpoints, for every request
  method_not_allowed: 'Der Endpunkt nimmt diese HTTP-Methode nicht an.',
  wrong_media_type: 'Der Endpunkt nimmt Anfragen mit diesem Content-Type nicht an.',
  wrong_content_encoding: 'Die Anfrage ist komprimiert. Das nimmt der Endpunkt nicht an.',
  body_too_large: 'Der Inhalt der Anfrage ist größer als 64 KiB.',
  body_unreadable: 'Der Inhalt der Anfrage ist kein JSON-Objekt.',
  parameter_repeated: 'Ein Parameter kommt mehrmals vor.',
  parameter_missing: 'Ein nötiger Parameter fehlt oder ist leer.',
  parameters_too_long: 'Die Parameter der Anfrage haben zusammen mehr als 6144 Zeichen.',
  parameter_invalid: 'Ein Parameter hat einen Wert, der nicht erlaubt ist.',
  unknown_hint: 'Der token_type_hint ist nicht access_token, refresh_token oder auth_code.',
  document_unavailable:
    'Der Server konnte ein Dokument der Anwendung nicht abrufen, etwa die Schlüssel an ihrer jwks_uri. Ein späterer Versuch kann gelingen.',
  application_claim_unfit:
    'Die Funktion applicationClaims.valuesOf der Anwendung hat einen nicht angekündigten Claim oder einen falschen Wert geliefert. Der protokollierte Wert nennt den Claim.',
  verifier_unavailable:
    'Der jwtService oder accessTokenVerifier der Anwendung ist gescheitert, etwa weil die URL seiner Schlüssel nicht geantwortet hat.',
  storage_unavailable:
    'Der Speicher war nicht verfügbar, oder der Server weiß nicht, ob er einen Schreibvorgang abgeschlossen hat.',
  unexpected: 'Ein unerwarteter Fehler ist aufgetreten. Der Log-Eintrag enthält die Ursache.',
  // Authentication of clients
  credentials_missing: 'Die Anfrage enthält keine Zugangsdaten einer Anwendung.',
  credentials_repeated:
    'Die Anfrage enthält Zugangsdaten doppelt, etwa ein Geheimnis und eine Assertion, oder zwei verschiedene Client-IDs.',
  credentials_malformed:
    'Der Authorization-Header sollte Zugangsdaten nach HTTP Basic enthalten, ist so aber nicht lesbar.',
  client_unknown: 'Keine Anwendung hat diese Client-ID.',
  client_secret_wrong: 'Das Geheimnis der Anwendung ist falsch.',
  client_secret_missing: 'Eine vertrauliche Anwendung hat kein Geheimnis geschickt.',
  client_secret_not_sealed:
    'Die Anwendung signiert Assertions mit ihrem Geheimnis. Um sie zu prüfen, braucht der Server das Geheimnis selbst, verschlüsselt, hat aber nur einen Hash davon. Mit grantd client rotate-secret ID speichern Sie ein verschlüsseltes.',
  client_secret_too_short:
    'Die Anwendung hat eine Assertion mit ihrem Geheimnis signiert, aber es hat weniger Bytes, als der Algorithmus braucht.',
  client_secret_unexpected: 'Eine öffentliche Anwendung hat ein Geheimnis geschickt.',
  client_not_confidential:
    'Eine öffentliche Anwendung hat nach einem Token gefragt (Introspection). Das dürfen nur vertrauliche.',
  client_not_an_api:
    'Nur eine API (--resource), die ein Betreiber angelegt hat, darf Enden verfolgen oder Token prüfen.',
  client_changed: 'Die Anwendung wurde geändert, während ihre Anfrage beantwortet wurde.',
  too_many_streams: 'Der Prozess oder die Anwendung hat schon so viele offene Ströme von Enden wie möglich.',
  stream_ended:
    'Ein Strom von Enden war vor seinem Anfang zu Ende: Der Prozess schließt, oder er kann keine Ereignisse lesen.',
  client_method_wrong: 'Die Anwendung hat sich anders authentifiziert als registriert.',
  profile_method_refused:
    'Das Profil FAPI 2.0 des Servers oder der Anwendung erlaubt diese Art der Authentifizierung nicht. Registrieren Sie eine andere für die Anwendung.',
  client_keys_refused:
    'Der Server brauchte die Schlüssel an der jwks_uri der Anwendung, darf diese URL aber nicht abrufen, oder die Antwort war kein JWK-Set.',
  client_key_missing:
    'Die Anwendung ist für verschlüsselte Antworten registriert, hat aber keinen öffentlichen Schlüssel, mit dem der Server verschlüsseln kann.',
  // Assertions
  assertion_type_unknown:
    'Der Parameter client_assertion_type oder der Header typ der Client-Assertion hat einen falschen Wert.',
  assertion_malformed:
    'Die Client-Assertion ist kein signiertes JWT, ist zu lang oder hat Zeiten, die keine Zahlen sind.',
  assertion_algorithm_refused:
    'Der Server nimmt den Algorithmus der Client-Assertion nicht an, oder die Anwendung ist für einen anderen registriert.',
  assertion_not_supported:
    'Die Anwendung hat eine Assertion geschickt, aber der Speicher kann benutzte Assertions nicht festhalten (oneTimeIdentifiers). Ohne das nimmt der Server keine an.',
  assertion_key_unknown:
    'Kein Schlüssel der Anwendung passt zu der Client-Assertion, oder mehrere passen und sie nennt keinen (kid).',
  assertion_issuer_unknown:
    'Den Aussteller der Assertion nennt die Option trustedIssuers nicht, oder nicht für diesen Zweck.',
  assertion_claims_unmatched:
    'Der Aussteller der Assertion ist vertraut, aber ihre Claims passen zu keiner Anwendung oder keinem Grant der Option trustedIssuers, oder nicht zu dieser Anwendung. Der Wert beginnt mit den Claims, die nicht passen, wenn es für die Anwendung eine Regel gibt.',
  assertion_subject_unknown:
    'Mit dem sub der Assertion ist kein Benutzer verbunden. Ihr Grant in der Option trustedIssuers verlangt das.',
  assertion_of_other_client:
    'Die Assertion ist für eine andere Anwendung (client_id), oder eine andere hat sie schon benutzt.',
  assertion_bound:
    'Die Assertion ist an einen Schlüssel oder ein Zertifikat gebunden (cnf), das die Anfrage nicht nachweist.',
  issuer_keys_refused:
    'Der Server brauchte die Schlüssel eines vertrauten Ausstellers, darf ihre URL aber nicht abrufen, oder die Antwort war kein JWK-Set oder die Metadaten eines anderen.',
  assertion_signature_wrong: 'Die Signatur der Client-Assertion ist falsch.',
  assertion_subject_wrong: 'Das iss oder sub der Client-Assertion ist nicht die Client-ID.',
  assertion_audience_wrong: 'Die Client-Assertion ist nicht für diesen Server (aud).',
  assertion_expired: 'Die Client-Assertion ist abgelaufen.',
  assertion_lives_too_long:
    'Die Assertion läuft später ab (exp), als clientAssertionLifetime, assertion_lifetime der Anwendung oder max_lifetime (maxLifetime) des vertrauten Ausstellers erlaubt.',
  assertion_not_yet_valid:
    'Das iat oder nbf der Client-Assertion liegt in der Zukunft. Die Uhr der Anwendung darf höchstens eine Minute vorgehen.',
  assertion_identifier_missing:
    'Die Client-Assertion hat kein jti. Deshalb kann der Server nicht prüfen, ob sie nur einmal benutzt wird.',
  assertion_replayed: 'Die Client-Assertion war schon benutzt. Jede gilt für eine Anfrage.',
  assertion_ended:
    'Die Assertion wurde signiert, bevor die Anwendung deaktiviert wurde oder alle ihre Token widerrufen wurden. Der Aussteller muss eine neue signieren.',
  // Tokens, and the authorization code
  grant_not_allowed: 'Die Anwendung ist nicht für diesen Grant-Typ registriert.',
  grant_unknown: 'Diesen Grant-Typ hat der Server nicht.',
  scope_not_allowed:
    'Eine verlangte Berechtigung (Scope) ist nicht für die Anwendung registriert oder gehört nicht zum Zugriff, den der Benutzer erteilt hat.',
  redirect_uri_exposed:
    'Die Redirect-URI ist http und führt nicht auf dasselbe Gerät. Ein Autorisierungscode wäre im Netz lesbar. Das Profil FAPI 2.0 des Servers oder der Anwendung erlaubt das nicht.',
  response_mode_not_allowed:
    'Die Anwendung darf diesen response_mode nicht benutzen: wegen response_modes in ihren Metadaten oder wegen ihres Profils FAPI 2.0.',
  redirect_uri_missing:
    'Die Autorisierungsanfrage hatte eine redirect_uri, deshalb muss die Anwendung sie noch einmal schicken. Weglassen darf sie sie nur mit PKCE, und wenn sie genau diese eine registriert hat.',
  redirect_uri_mismatch:
    'Die Redirect-URI ist nicht für die Anwendung registriert. Oder die in der Token-Anfrage ist eine andere als die in der Autorisierungsanfrage.',
  pkce_missing:
    'Ein Parameter von PKCE fehlt: code_challenge in der Autorisierungsanfrage oder code_verifier in der Token-Anfrage.',
  pkce_unexpected:
    'Die Token-Anfrage enthält einen code_verifier, aber die Autorisierungsanfrage hatte keine code_challenge.',
  pkce_mismatch:
    'Der code_verifier in der Token-Anfrage passt nicht zur code_challenge in der Autorisierungsanfrage.',
  token_foreign:
    'Eine Anwendung wollte ein Token widerrufen, das für eine andere ausgestellt wurde. Der Server hat es nicht widerrufen.',
  code_expired: 'Der Autorisierungscode ist abgelaufen.',
  code_foreign:
    'Eine Anwendung wollte einen Autorisierungscode einlösen oder widerrufen, der für eine andere ausgestellt wurde.',
  code_reused:
    'Die Anwendung hat den Autorisierungscode ein zweites Mal eingelöst. Der Server hat die Token widerrufen, die er für den Code ausgestellt hatte.',
  // Token exchange
  exchange_not_allowed:
    'Die Anwendung darf dieses Token nicht tauschen: Es ist weder ihr eigenes noch für ihre API (exchange_tokens_of), sein Benutzer darf die Anwendung nicht benutzen, es nennt einen anderen Handelnden (may_act), oder es handelt schon ein anderer als die Anwendung (exchange_user_actors).',
  exchange_consent_missing:
    'Der Benutzer hat nicht in das eingewilligt, was die Anwendung für ihn erhält (exchange_consent_required). Eine Autorisierungsanfrage dieser Anwendung mit denselben Berechtigungen und derselben API fragt danach.',
  exchanges_ended:
    'Der Benutzer oder ein Betreiber hat beendet, was die Anwendung für den Benutzer erhalten hatte, und die vorgelegten Token sind älter.',
  exchange_too_deep: 'Das Token ist schon durch so viele Tausche entstanden, wie der Server erlaubt.',
  subject_token_bound:
    'Das Token ist an einen Schlüssel oder ein Zertifikat gebunden, das die Anfrage nicht nachweist (exchange_without_proof).',
  assertion_audience_not_allowed:
    'Die Anwendung darf für diesen Server oder diese API keinen Identitätsnachweis erhalten (identity_assertions). Der Aussteller muss genau so geschrieben sein wie dort, und eine Anfrage nennt einen.',
  token_type_unsupported: 'Token dieser Art tauscht der Server nicht, oder er stellt sie nicht aus.',
  // Devices
  device_pending: 'Das Gerät fragt nach, und der Benutzer hat noch nicht entschieden.',
  device_polls_early:
    'Das Gerät fragt öfter nach, als das Intervall erlaubt. Es muss ab jetzt länger warten.',
  device_denied: 'Der Benutzer hat die Anfrage des Geräts abgelehnt.',
  device_code_expired:
    'Der Gerätecode ist abgelaufen, bevor der Benutzer eingewilligt oder das Gerät ihn eingelöst hat.',
  device_code_unknown:
    'Der Server hat keine Anfrage mit diesem Gerätecode: Es gab sie nie, oder sie ist längst abgelaufen.',
  device_code_foreign: 'Eine Anwendung hat den Gerätecode einer anderen geschickt.',
  user_code_unknown:
    'Auf diesen Code wartet kein Gerät: Er ist vertippt oder abgelaufen, oder der Benutzer hat schon entschieden.',
  // Refresh tokens
  refresh_token_inactive:
    'Die Anwendung hat eine Erneuerung innerhalb der Frist (refreshGrace) wiederholt, aber der Server kann das Erneuerungstoken der ersten Antwort nicht mehr ableiten.',
  refresh_token_foreign:
    'Eine Anwendung hat ein Erneuerungstoken geschickt, das für eine andere ausgestellt wurde.',
  refresh_token_reused:
    'Ein Erneuerungstoken wurde noch einmal benutzt, nach der Frist (refreshGrace) oder nach seinem Nachfolger: von der Anwendung oder einem Dieb. Der Server hat die ganze Familie widerrufen: alle Token aus demselben Autorisierungscode.',
  issuance_overtaken:
    'Während der Anfrage wurde der Benutzer, die Anwendung, die Sitzung oder der Zugriff widerrufen oder deaktiviert. Der Server hat keinen Code und kein Token ausgestellt.',
  // The authorization request and its user
  consent_denied:
    'Die Autorisierungsanfrage endete ohne Einwilligung: Der Benutzer hat abgelehnt oder die Anmeldung abgebrochen, oder er darf die Anwendung nicht benutzen.',
  sign_in_required:
    'Die Anfrage hat prompt=none, was Seiten verbietet, aber der Benutzer muss sich zuerst anmelden.',
  consent_required:
    'Die Anfrage hat prompt=none, was Seiten verbietet, aber der Benutzer muss zuerst einwilligen.',
  interaction_required:
    'Die Anfrage hat prompt=none, was Seiten verbietet, aber der Server muss dem Benutzer eine Seite zeigen.',
  account_selection_required:
    'Die Anfrage hat prompt=none, was Seiten verbietet, aber der Benutzer muss zuerst ein Konto wählen.',
  sign_in_too_old: 'Die Anmeldung des Benutzers ist länger her, als die Anfrage oder die API erlaubt.',
  acr_unmet:
    'Die Anfrage, die API oder eine Richtlinie verlangt eine andere Anmeldung (acr) als die des Benutzers, oder ein Code per E-Mail zählt nicht mehr.',
  person_not_allowed:
    'Die Anwendung ist nur für bestimmte Benutzer, und dieser gehört nicht dazu. Der Server prüft das bei der Einwilligung, beim Autorisierungscode und bei jeder Erneuerung. Hat schon eine Seite den Benutzer abgewiesen, dann ist der Grund consent_denied.',
  other_person:
    'Die Anfrage nennt einen Benutzer (id_token_hint oder Claim sub), aber ein anderer hat eingewilligt.',
  id_token_hint_wrong:
    'Der id_token_hint ist kein ID-Token dieses Servers, oder er ist für eine andere Anwendung als die der Anfrage.',
  // APIs and scopes
  resource_unknown: 'Der Parameter resource nennt weder die Vorgabe noch eine registrierte API.',
  resource_not_allowed:
    'Der Parameter resource nennt eine API, für die die Anwendung keine Token verlangen darf. Mit grantd client update ID und einem --api für jede API der Anwendung, auch die bisherigen, erlauben Sie es.',
  resource_needed:
    'Mehrere APIs der Anwendung haben die verlangten Berechtigungen (Scopes). Deshalb weiß der Server nicht, für welche das Token ist. Die Anfrage muss mit dem Parameter resource eine nennen.',
  resource_withdrawn:
    'Von den APIs, für die der Benutzer den Zugriff erteilt hat, ist keine übrig: Sie wurden entfernt oder deaktiviert, oder die Anwendung darf sie nicht mehr benutzen.',
  scope_outside_audience:
    'Das Token ist für eine API, aber eine verlangte Berechtigung (Scope) gehört zu einer anderen.',
  scope_withdrawn:
    'Von den Berechtigungen (Scopes), die der Benutzer erteilt hat, ist keine übrig: Sie wurden der Anwendung oder ihren APIs entzogen.',
  resource_not_granted: 'Der Parameter resource nennt eine API, die nicht zum erteilten Zugriff gehört.',
  // Authorization details
  authorization_details_malformed:
    'Die authorization_details sind keine Liste von Objekten mit einem type, oder es sind zu viele Objekte oder Bytes. Oder in einer Token-Anfrage passen sie zu mehr erteilten Rechten, als ein Token enthalten kann.',
  authorization_details_type_unknown:
    'Die authorization_details enthalten einen type, den dieser Server nicht kennt.',
  authorization_details_not_allowed:
    'Die Anwendung ist für einen type der authorization_details nicht registriert. Oder sie verlangt ein Token für sich selbst, aber den type gibt es nur mit einem Benutzer.',
  authorization_details_unfit:
    'Ein Objekt der authorization_details passt nicht zum JSON-Schema seines type. Der protokollierte Wert nennt den type und den verletzten Teil des Schemas oder den unbekannten Teil.',
  authorization_details_location_refused:
    'Ein Ort (locations) in den authorization_details ist keine registrierte API, oder die Anwendung darf sie nicht benutzen.',
  authorization_details_not_granted:
    'Die authorization_details der Token-Anfrage gehören nicht zum erteilten Zugriff oder nicht zur API des Tokens.',
  authorization_details_withdrawn:
    'Von den erteilten authorization_details ist nichts übrig, weil die Anwendung ihre Typen oder APIs nicht mehr benutzen darf.',
  authorization_details_enrichment_unfit:
    'Die Funktion authorizationDetails.enrich der Anwendung hat eine falsche Liste geliefert, oder die erteilten Rechte sind für eine API, die die Anwendung nicht benutzen darf. Der protokollierte Wert nennt die Typen oder APIs.',
  // Request objects, and pushed requests
  request_object_malformed: 'Die signierte Anfrage (request object) ist nicht lesbar oder nicht signiert.',
  request_object_wrong_key:
    'Algorithmus oder Signatur der signierten Anfrage ist falsch, oder kein Schlüssel der Anwendung passt zu ihr.',
  request_object_wrong_claims:
    'Ein Claim oder der typ der signierten Anfrage ist falsch. Zum Beispiel ist sie für einen anderen Server, von einer anderen Anwendung oder abgelaufen.',
  request_object_missing:
    'Die Anwendung ist für signierte Anfragen registriert, hat aber eine ohne Signatur geschickt.',
  request_uri_not_allowed:
    'Der Server darf die request_uri nicht abrufen: Sie ist weder für die Anwendung registriert noch auf einem erlaubten Host, oder das Abrufen ist ausgeschaltet.',
  request_uri_unreachable: 'Der Server konnte die signierte Anfrage nicht von der request_uri abrufen.',
  pushed_request_unknown:
    'Der Server hat keine vorab gesendete Anfrage mit dieser request_uri: Es gab sie nie, oder sie ist benutzt oder abgelaufen.',
  pushed_request_foreign: 'Die Anfrage zu dieser request_uri hat eine andere Anwendung vorab gesendet.',
  authorization_request_answered: 'Der Benutzer hat diese Autorisierungsanfrage schon beantwortet.',
  authorization_request_expired: 'Die Autorisierungsanfrage ist älter als ein Tag.',
  pushed_request_missing:
    'Der Server oder die Registrierung der Anwendung verlangt vorab gesendete Autorisierungsanfragen, aber diese kam ohne.',
  // Access tokens, certificates and DPoP
  access_token_missing: 'Die Anfrage enthält kein Zugriffstoken.',
  access_token_repeated: 'Die Anfrage enthält das Zugriffstoken auf mehr als eine Weise.',
  token_bound:
    'Das Zugriffstoken ist an einen Schlüssel gebunden (DPoP), kam aber mit dem Schema Bearer, ohne Nachweis.',
  token_unbound:
    'Das Zugriffstoken kam mit dem Schema DPoP, ist aber an keinen Schlüssel gebunden. Es muss mit dem Schema Bearer kommen.',
  client_certificate_missing:
    'Die Anwendung, der Code oder das Token braucht ein TLS-Client-Zertifikat, aber die Verbindung hat keines.',
  client_certificate_wrong:
    'Der Code oder das Token ist an ein anderes Zertifikat gebunden als das der TLS-Verbindung.',
  client_certificates_off:
    'Die Anwendung braucht Zertifikate, um sich zu authentifizieren oder Token zu binden, aber die Option clientCertificates ist aus.',
  client_certificate_unreadable: 'Der Server kann das Zertifikat der TLS-Verbindung nicht lesen.',
  client_certificate_untrusted:
    'Die Anwendung ist für tls_client_auth registriert und braucht ein Zertifikat einer vertrauten Zertifizierungsstelle. Aber weder der Server noch der Proxy hat die Kette geprüft.',
  client_certificate_foreign:
    'Das Zertifikat der TLS-Verbindung ist ein anderes als das, mit dem die Anwendung registriert ist.',
  confirmation_unknown: 'Das Zugriffstoken ist auf eine Weise gebunden (cnf), die der Server nicht kennt.',
  dpop_proof_missing: 'Die Anfrage braucht einen DPoP-Nachweis und hat keinen.',
  dpop_proof_malformed:
    'Der DPoP-Header enthält nicht genau ein signiertes JWT der Art dpop+jwt, oder es ist zu lang, oder ein Claim fehlt.',
  dpop_algorithm_refused: 'Die Option dpopAlgorithms erlaubt den Algorithmus des DPoP-Nachweises nicht.',
  dpop_key_unfit:
    'Der Schlüssel im DPoP-Nachweis fehlt, ist ein privater, ist zu schwach oder passt nicht zum Algorithmus.',
  dpop_signature_wrong: 'Die Signatur des DPoP-Nachweises ist falsch.',
  dpop_method_wrong: 'Der DPoP-Nachweis ist für eine andere HTTP-Methode (htm) als die der Anfrage.',
  dpop_url_wrong:
    'Der DPoP-Nachweis ist für eine andere URL (htu) als die öffentliche URL des Endpunkts. Der protokollierte Wert ist das htu.',
  dpop_proof_expired:
    'Der DPoP-Nachweis ist älter, als die Option dpopProofLifetime erlaubt, oder abgelaufen (exp).',
  dpop_proof_not_yet_valid:
    'Das iat oder nbf des DPoP-Nachweises liegt in der Zukunft. Die Uhr der Anwendung darf höchstens eine Minute vorgehen.',
  dpop_proof_replayed: 'Der DPoP-Nachweis war schon benutzt. Jeder gilt für eine Anfrage.',
  dpop_nonce_missing:
    'Der DPoP-Nachweis hat keine Nonce, aber der Server (Option dpopNonces) oder die API (Option nonceSecret) verlangt eine. Die Antwort enthält eine, und Bibliotheken für DPoP wiederholen die Anfrage damit.',
  dpop_nonce_wrong: 'Die Nonce des DPoP-Nachweises ist zu alt oder nicht von diesem Server oder dieser API.',
  dpop_token_wrong: 'Der DPoP-Nachweis ist für ein anderes Zugriffstoken (ath) als das der Anfrage.',
  proof_unexpected:
    'Eine öffentliche Anwendung hat eine Erneuerung wiederholt und dabei einen DPoP-Nachweis oder ein Zertifikat ergänzt. Die erste Anfrage hatte keines. Deshalb ist ihr neues Erneuerungstoken nicht gebunden, und die Wiederholung kann es nicht binden.',
  dpop_key_wrong:
    'Der Code oder das Token ist an einen anderen Schlüssel gebunden als den des DPoP-Nachweises.',
  dpop_not_supported:
    'Die Anwendung ist für gebundene Zugriffstoken registriert (DPoP), aber die Option dpopAlgorithms enthält keinen Algorithmus, den sie benutzen darf.',
  audience_wrong: 'Das Zugriffstoken ist nicht für diese API (aud).',
  not_active:
    'Die API hat den Autorisierungsserver nach dem Zugriffstoken gefragt, und die Antwort war: nicht aktiv.',
  scope_missing: 'Dem Zugriffstoken fehlt eine Berechtigung (Scope), die die API verlangt.',
  scope_openid_missing:
    'Dem Zugriffstoken fehlt die Berechtigung openid, den der Endpunkt UserInfo verlangt.',
  // Registration, and documents of clients
  registration_off: 'Eine Anwendung wollte sich registrieren, aber auf diesem Server ist das ausgeschaltet.',
  initial_access_token_invalid:
    'Die Registrierung verlangt ein Registrierungstoken, aber das der Anfrage ist nicht von diesem Server oder ist abgelaufen.',
  initial_access_token_used:
    'Das Registrierungstoken gilt für eine Registrierung, und eine Anwendung hat es schon benutzt.',
  registration_token_wrong:
    'Das Verwaltungstoken (registration access token) der Anfrage gehört zu keiner Anwendung mit der Client-ID in der URL.',
  too_many_registered:
    'So viele Anwendungen haben sich registriert, wie registrationLimit insgesamt oder registrationAddressLimit für eine Adresse erlaubt. Führen Sie grantd client prune aus, oder erhöhen Sie die Grenze.',
  client_changed_meanwhile:
    'Die Anwendung wollte ihre Registrierung ersetzen, aber andere Anfragen haben sie gleichzeitig geändert. Nach mehreren Versuchen hat der Server aufgegeben. Die Anwendung muss es noch einmal versuchen.',
  redirect_uri_unfit:
    'Eine Anwendung, die sich selbst registriert, darf eine ihrer Redirect-URIs nicht benutzen. Der protokollierte Wert sagt, was erwartet war.',
  client_metadata_unfit:
    'Eine Angabe der Anwendung bei ihrer Registrierung ist falsch. Der protokollierte Wert nennt sie und den erwarteten Wert.',
  client_document_invalid:
    'Das Metadaten-Dokument an der URL, die die Client-ID ist, ist nicht gültig. Der protokollierte Wert sagt, warum.',
  too_many_client_documents:
    'In einer Minute wurden zu viele neue Metadaten-Dokumente einer Site verlangt (Option clientDocumentSiteLimit, in der Bibliothek mostNewPerSite).',
  client_document_denied:
    'Ein Administrator hat das Metadaten-Dokument an der URL, die die Client-ID ist, oder alle Dokumente ihres Hosts ausgeschlossen (grantd client denied-documents).',
  client_document_unreachable: 'Das Metadaten-Dokument einer Anwendung war gerade nicht abrufbar.',
  oidc_off: 'Die Anfrage ist an UserInfo, aber OpenID Connect ist auf diesem Server nicht eingerichtet.',
  no_person: 'Das Zugriffstoken hat keinen Benutzer, oder der Server kennt keine Claims des Benutzers.',
  answer_not_authenticated:
    'Die Anfrage wollte eine Introspection als JWT, aber der Fragende hat sich nicht authentifiziert. RFC 9701 verlangt das.',
  answer_algorithm_unsupported:
    'Die Anwendung erwartet eine Antwort, die mit einem Algorithmus signiert ist, den dieser Server nicht hat. Der protokollierte Wert ist der Algorithmus.',
  // Why a token is inactive
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
  subject_disabled: 'Der Benutzer ist deaktiviert, oder es gibt ihn nicht mehr.',
  client_revoked: 'Alle Token der Anwendung wurden widerrufen.',
  client_disabled: 'Die Anwendung ist deaktiviert.',
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
  // Pages
  person_unknown:
    'Kein Benutzer hat den eingegebenen Namen oder die eingegebene E-Mail-Adresse, oder mehrere haben die Adresse.',
  password_wrong: 'Das Passwort ist falsch.',
  password_cut_off:
    'Der Passwort-Hash des Benutzers ist von einem anderen Server, der einen Teil des eingegebenen Passworts nicht beachtet. Der Rest ist richtig. Der Benutzer muss ein neues Passwort wählen.',
  person_disabled: 'Der Benutzer ist deaktiviert.',
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
    'Ein Benutzer des LDAP-Verzeichnisses hat sich zum ersten Mal angemeldet, aber seinen Namen hat hier schon jemand. Ist es derselbe Benutzer, dann hilft grantd directory link.',
  directory_name_refused:
    'Ein Benutzer des LDAP-Verzeichnisses hat sich zum ersten Mal angemeldet, aber dieser Server erlaubt seinen Namen nicht.',
  directory_unavailable:
    'Das LDAP-Verzeichnis hat nicht geantwortet oder das Konto abgelehnt, mit dem sich der Server dort anmeldet.',
  person_changed:
    'Während der Anmeldung wurden Passwort oder Daten des Benutzers geändert, oder er wurde deaktiviert. Deshalb hat der Server sie abgebrochen.',
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
  security_key_alone: 'Ein Sicherheitsschlüssel wurde ohne vorheriges Passwort benutzt.',
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
  sign_in_not_recent:
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
    'Der Anbieter hat gemeldet, dass er den Benutzer nicht angemeldet oder dieser nicht eingewilligt hat.',
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
