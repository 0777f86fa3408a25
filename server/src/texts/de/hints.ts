import type * as en from '../en/hints.ts';

export const HINTS: typeof en.HINTS = {
  sign_in_policy: 'Was eine Anmeldung braucht, falls das strenger ist als die Vorgabe des Servers.',
  email: 'Eine neue Adresse ist unbestätigt, außer Sie kennzeichnen sie auch als bestätigt.',
  claims: 'Ein JSON-Objekt. Anwendungen sehen, was ihre Berechtigungen erlauben.',
  username: 'Damit meldet sich der Benutzer an.',
  client_id: 'Die Anwendung sendet sie mit ihren Anfragen. Sie lässt sich später nicht ändern.',
  client_name: 'Benutzer sehen ihn.',
  redirect_uris: 'Wohin Anmeldungen zurückführen dürfen.',
  post_logout_redirect_uris: 'Wohin der Browser nach einer Abmeldung zurückkehren darf.',
  scope: 'Durch Leerzeichen getrennt. Die Anwendung kann diese bekommen und keine anderen.',
  scopes_of_apis:
    'Ein Zugriffstoken gilt nur dann für eine API, wenn die Anwendung eine Berechtigung der API hat.',
  scope_name: 'Eine Berechtigung, wie Anwendungen sie anfordern.',
  allowed_groups: 'Nur Mitglieder können die Anwendung benutzen. Ohne Auswahl können es alle.',
  apis: 'Die APIs, für die die Anwendung Zugriffstoken bekommt.',
  resource: 'Der Empfänger (aud) ihrer Zugriffstoken, etwa https://api.example.com.',
  api_scopes: 'Die Berechtigungen (Scopes), die zu dieser API gehören.',
  overlap:
    'Wie lange beide Geheimnisse gelten. Mit 0 endet das alte sofort. Ohne Angabe ein Tag (86400), höchstens 90 Tage (7776000).',
  generate:
    'Für Server, deren Geheimnis eine Option ist: zeigt einmal ein neues Geheimnis und ändert nichts.',
  reason: 'Das Protokoll hält ihn fest.',
  issued_before: 'Ein Zeitpunkt wie 2026-01-31 12:00 (UTC), nicht in der Zukunft.',
  api: 'Für eine Berechtigung, die zu einer API gehört. Leer bei denen dieses Servers, etwa email.',
  password: 'Mindestens 8 Zeichen.',
  language: 'Sprache der E-Mail, etwa de. Die Seiten müssen sie haben.',
  groups: 'Namen der Gruppen, in die der Benutzer kommt.',
  name: 'Ein kurzer Name.',
  description: 'Ein Satz, der es erklärt.',
  client_secret: 'Nur, wenn Sie es selbst wählen. Sonst erzeugt der Server eines.',
  trusted_issuer: 'Alles, was mit seinen JWTs über die Kennung erhalten wurde, endet.',
  trusted_sub: 'Die Kennung (sub), die seine JWTs nennen.',
  lifetime: 'Sonst ein Tag (86400).',
  once: 'Sonst können es beliebig viele.',
  client_ids: 'Diese Anwendungen werden entfernt.',
  unused_since: 'Was danach noch in Gebrauch war, bleibt.',
  rule: 'Die URL eines Dokuments, ein Host wie a.example oder *.a.example für jeden Namen darunter.',
  note: 'Für andere Administratoren.',
  beyond_policy: 'Zum Beispiel solche, die länger gelten, als Token es jetzt dürfen.',
  force: 'Anwendungen und Schlüssel, die davon abhängen, gehen dann nicht mehr. Sonst lehnt der Server ab.',
  recipient: 'Wohin die Test-E-Mail geht.',
  expect: 'Der Stand einer früheren Prüfung, an den die Kette anschließen muss.',
  token_endpoint_auth_method: 'Wie sich die Anwendung authentifiziert.',
  grant_types: 'Die Grants, die die Anwendung benutzen darf.',
  response_types: 'Die Antworttypen. Der Server leitet sie aus grant_types ab.',
  client_uri: 'URL einer Seite über die Anwendung.',
  logo_uri:
    'URL des Logos, das Benutzer sehen, wenn die Anwendung um Zugriff bittet. Nicht bei Anwendungen, die sich selbst registriert haben.',
  strict_scopes:
    'Ob Anfragen mit Berechtigungen, die die Anwendung nicht haben darf, abgelehnt werden. Sonst lässt der Server diese weg.',
  contacts: 'Wie man die Betreiber der Anwendung erreicht, etwa E-Mail-Adressen.',
  policy_uri: 'URL der Datenschutzerklärung.',
  tos_uri: 'URL der Nutzungsbedingungen.',
  jwks_uri: 'URL der öffentlichen Schlüssel der Anwendung.',
  jwks: 'Die öffentlichen Schlüssel der Anwendung.',
  software_id: 'Kennung der Software, in allen Installationen dieselbe.',
  software_version: 'Version der Software.',
  application_type:
    'Art der Anwendung. web: eine Webanwendung; native: eine Anwendung auf dem Gerät des Benutzers.',
  sector_identifier_uri:
    'URL einer JSON-Liste mit allen Redirect-URIs der Anwendung. Mit subject_type pairwise erhalten Anwendungen, deren URLs denselben Host haben, dasselbe sub für einen Benutzer.',
  subject_type:
    'Welche Anwendungen dasselbe sub für einen Benutzer erhalten. public: alle mit public; pairwise: nur die eines Sektors. Der Sektor ist der Host der sector_identifier_uri, sonst der Host der https-Redirect-URIs. Ohne beides ist die Anwendung ein Sektor für sich.',
  id_token_signed_response_alg: 'Algorithmus, mit dem ID-Token für die Anwendung signiert werden.',
  id_token_encrypted_response_alg:
    'Algorithmus für den Schlüssel (JWE alg), mit dem ID-Token und Abmeldetoken verschlüsselt werden.',
  id_token_encrypted_response_enc: 'Algorithmus für den Inhalt (JWE enc) von ID-Token und Abmeldetoken.',
  userinfo_signed_response_alg:
    'Algorithmus, mit dem Antworten von UserInfo signiert werden. Mit dieser Angabe sind sie JWTs.',
  userinfo_encrypted_response_alg:
    'Algorithmus für den Schlüssel (JWE alg), mit dem Antworten von UserInfo verschlüsselt werden.',
  userinfo_encrypted_response_enc: 'Algorithmus für den Inhalt (JWE enc) der Antworten von UserInfo.',
  request_object_signing_alg: 'Algorithmus, mit dem die Anwendung ihre Anfragen signieren muss.',
  token_endpoint_auth_signing_alg:
    'Algorithmus, mit dem die Anwendung ihre Client-Assertions signieren muss.',
  default_max_age: 'Vorgabe für den Parameter max_age von Autorisierungsanfragen.',
  require_auth_time:
    'Ob ID-Token der Anwendung auth_time enthalten müssen. Bei diesem Server enthalten sie es immer.',
  default_acr_values: 'Vorgabe für den Parameter acr_values von Autorisierungsanfragen.',
  initiate_login_uri: 'URL der Anwendung, an der andere Seiten eine Anmeldung beginnen können.',
  request_uris: 'URLs, von denen der Server signierte Anfragen der Anwendung abrufen darf.',
  require_pushed_authorization_requests: 'Ob die Anwendung ihre Autorisierungsanfragen vorab senden muss.',
  require_signed_request_object: 'Ob die Anwendung ihre Anfragen signieren muss.',
  dpop_bound_access_tokens:
    'Ob die Anwendung DPoP-Nachweise senden muss, damit alle ihre Zugriffstoken an einen Schlüssel gebunden sind (RFC 9449, 5.2).',
  tls_client_auth_subject_dn:
    'Für tls_client_auth: das Subject, das ihr Zertifikat haben muss, etwa CN=client,O=Example,C=DE (RFC 8705, 2.1.2).',
  tls_client_auth_san_dns: 'Für tls_client_auth: der DNS-Name, den ihr Zertifikat enthalten muss.',
  tls_client_auth_san_uri: 'Für tls_client_auth: die URI, die ihr Zertifikat enthalten muss.',
  tls_client_auth_san_ip: 'Für tls_client_auth: die IP-Adresse, die ihr Zertifikat enthalten muss.',
  tls_client_auth_san_email: 'Für tls_client_auth: die E-Mail-Adresse, die ihr Zertifikat enthalten muss.',
  tls_client_certificate_bound_access_tokens:
    'Ob die Anwendung ihr TLS-Zertifikat zeigen muss, damit alle ihre Zugriffstoken daran gebunden sind (RFC 8705, 3.4).',
  response_modes:
    'Wie der Server Autorisierungsanfragen der Anwendung beantworten darf (FAPI 2.0 Message Signing, 5.3.3).',
  authorization_signed_response_alg:
    'Algorithmus, mit dem Autorisierungsantworten signiert werden, wenn ihr response_mode auf jwt endet.',
  authorization_encrypted_response_alg:
    'Algorithmus für den Schlüssel (JWE alg), mit dem Autorisierungsantworten verschlüsselt werden, wenn ihr response_mode auf jwt endet.',
  authorization_encrypted_response_enc: 'Algorithmus für den Inhalt (JWE enc) der Autorisierungsantworten.',
  authorization_details_types:
    'Arten der authorization_details, die die Anwendung verlangen darf (RFC 9396, 10).',
  introspection_signed_response_alg:
    'Algorithmus, mit dem Antworten der Introspection signiert werden, wenn sie JWTs sind. Mit dieser Angabe sind sie es immer. Ohne sie sind sie es, wenn der Accept-Header es verlangt oder introspection_encrypted_response_alg gesetzt ist.',
  introspection_encrypted_response_alg:
    'Algorithmus für den Schlüssel (JWE alg), mit dem Antworten der Introspection verschlüsselt werden. Mit dieser Angabe sind sie immer JWTs.',
  introspection_encrypted_response_enc:
    'Algorithmus für den Inhalt (JWE enc) der Antworten der Introspection.',
  backchannel_logout_uri:
    'URL der Anwendung, an die der Server ein Abmeldetoken sendet, wenn eine Sitzung endet, in der sich der Benutzer bei ihr angemeldet hat.',
  backchannel_logout_session_required:
    'Ob Abmeldetoken die Sitzungskennung (sid) enthalten müssen. Sie enthalten sie immer, deshalb ändert der Wert nichts.',
  brand_color:
    'Farbe der Schaltflächen auf den Seiten für Einwilligung, Kontowahl, Abmeldung und Ablehnung, wenn es um die Anwendung geht. Nicht bei Anwendungen, die sich selbst registriert haben.',
  kind: 'Was sie ist, wenn nicht Anwendung oder API: ein Softwareagent. Benutzer sehen das.',
  profile: 'Das Profil FAPI 2.0, an das sich die Anwendung halten muss (docs/fapi.md).',
  assertion_audience:
    'Für wen (aud) Client-Assertions sein müssen. issuer: nur für den Aussteller; endpoint: auch für die URL des Endpunkts.',
  assertion_lifetime: 'Wie viele Sekunden Client-Assertions höchstens gelten dürfen.',
  insecure_allow_missing_pkce:
    'Ob die Anwendung PKCE weglassen darf. Ein Angreifer kann ihr dann einen gestohlenen Autorisierungscode unterschieben. Nur für vertrauliche Anwendungen, die PKCE nicht können.',
  id_token_user_claims:
    'Ob ID-Token die Angaben zum Benutzer (Claims) enthalten, die die erteilten Berechtigungen erlauben, etwa name und email.',
  ignore_unknown_token_type_hint:
    'Ob der Server einen unbekannten token_type_hint ignoriert, statt die Anfrage abzulehnen (RFC 7009, 2.2).',
  insecure_redirect_uris:
    'Ob http-Redirect-URIs erlaubt sind, die nicht auf dasselbe Gerät führen. Autorisierungscodes sind dann im Netz lesbar. Nur für die Entwicklung.',
  consent_required:
    'Ob Benutzer einwilligen müssen, bevor die Anwendung Zugriff erhält. Mit prompt=consent müssen sie es immer.',
  follow_all:
    'Ob die Anwendung verfolgen darf, was für irgendeinen Empfänger (aud) endet (docs/follow.md), statt nur für ihre resource. Sie darf dann nach jedem Token fragen. Nicht bei Anwendungen, die sich selbst registriert haben.',
  exchange_tokens_of:
    'Für den Token-Tausch: Client-IDs anderer Anwendungen, deren Zugriffstoken sie tauschen darf, obwohl sie nicht für ihre API sind.',
  exchange_scopes:
    'Berechtigungen der Anwendung, die sie durch einen Tausch erhält, obwohl das getauschte Token sie nicht hat. Nennen Sie hier die der nächsten API.',
  exchange_impersonates:
    'Ob getauschte Token sie nicht als Handelnde (act) nennen. APIs können sie dann nicht von der vorherigen Anwendung unterscheiden.',
  exchange_without_proof:
    'Ob sie Token tauschen darf, die an einen Schlüssel oder ein Zertifikat gebunden sind, ohne dass sie es nachweist.',
  exchange_user_actors:
    'Ob Token, die Benutzer der Anwendung erteilt haben, diese Benutzer als Handelnde eines Tauschs nennen können (actor_token), statt nur die Anwendung selbst.',
  exchange_consent_required:
    'Ob sie Token eines Benutzers erst tauscht, wenn er eingewilligt hat, mit den Berechtigungen und der API des neuen Tokens.',
  exchange_step_up_scopes:
    'Berechtigungen, die sie durch einen Tausch nur erhält, wenn die Anmeldung des Benutzers ihren default_acr_values und ihrem default_max_age genügt.',
  identity_assertions:
    'Für den Token-Tausch: die anderen Autorisierungsserver, für die sie Identitätsnachweise über ihre Benutzer erhält (docs/token_exchange.md), je Aussteller mit der Anwendung dort und was sie haben darf.',
  access_token_format: 'Format der Zugriffstoken der Anwendung.',
  access_token_lifetime: 'Wie viele Sekunden ihre Zugriffstoken höchstens gelten.',
  access_token_signed_response_alg: 'Algorithmus, mit dem ihre Zugriffstoken signiert werden.',
  rotate_refresh_tokens:
    'Ob sie bei jeder Erneuerung ein neues Erneuerungstoken erhält. Öffentliche Anwendungen erhalten es immer.',
  set_by_operator:
    'Was ein Betreiber festgelegt hat. Leer darf die Anwendung, die sich selbst registriert hat, es wieder ändern.',
};
