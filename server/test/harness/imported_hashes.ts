// Hashes of “correct horse” as other programs make them: by Django 5.2, Werkzeug 3.1, passlib 1.7, and Python’s hashlib, bcrypt and argon2-cffi.
/** The password of all of them. */
export const IMPORTED_PASSWORD = 'correct horse';

/** By program. */
export const IMPORTED_HASHES: Readonly<Record<string, string>> = {
  django_pbkdf2_sha256:
    'pbkdf2_sha256$1000$aSaltOfDjango0123456789$MncTyzrRfEyGdxQskCKMcUXuBMuWrSx9f51DetKGUjs=',
  django_pbkdf2_sha1: 'pbkdf2_sha1$1000$aSaltOfDjango0123456789$DApBa+7Gv7emg9J6lOqLxevT0wU=',
  django_bcrypt_sha256: 'bcrypt_sha256$$2b$04$Q/P/ti.7NX1BNriVpfYjL.fjB64ibROnzPA9eHt6ZeVwBvVuPhb5u',
  django_bcrypt: 'bcrypt$$2b$04$EVEZamnPc6pZ7.GoIa/MIuj09Jz/Cw9Ry9VG8uzZB2QbGcqdUNbkC',
  django_scrypt:
    'scrypt$1024$aSaltOfDjango0123456789$8$5$97FAZc1dk86dodFPhh0VqcXoRdJjNhJ7j4kngs3K3SkjyhPONOYQLVR+D8PZKdYevTKlKKGTeQLRzjiVA+fQcA==',
  django_argon2:
    'argon2$argon2id$v=19$m=1024,t=2,p=2$eHFMV3ZLNTkzSHVKWGZTTURrZXBzZQ$OgdEVOZ6XDnrjuyG2jeVPnkC/LSfXDw1SAKqWBQnGI4',
  phpass: '$P$6HHeehpiYsTuo7E3JI.jsQ8TTccEK31',
  phpass_h: '$H$5rXXyOP/bTGnj6plm7L.yLffEKSxIq.',
  sha512_crypt:
    '$6$rounds=1000$tHYT3k4pK9IlSzLu$caf82atHi4a8rOr/J.mDhnbAGYpoociO2n2GC59swkTA5zqfda66R00N9I4jaxrTM6jwODwZZVdd291bQcrss1',
  sha512_crypt_default:
    '$6$.maXOiT6nmH0VBiv$3Ap67OqSSFyStX5zjrjI/7aGvYjVIw2IHkEdNIBSwfGeKmOoL3d7uwgZLVqrkee/o5xC0x336TFy/J0L2J9B61',
  sha256_crypt: '$5$rounds=1000$DGJK9Bnj9/r6mAnZ$cKVch1aXc0c4eUzx.t4DHIdJz9T3dQ7.SMKRtmNPD15',
  ldap_salted_sha1: '{SSHA}vNvAazqV7GzjW7ub6XcQ2nyGzyptbc2Z',
  ldap_salted_sha256: '{SSHA256}nJCEXBK7Xuv4j0EB/B+gdTdYR+ARxkSz9NYKu+0+jvy39v4fg5Dyng==',
  ldap_salted_sha512:
    '{SSHA512}UnLS80nqW1yY937PVKzYyHh3PXtNCKH/KxH0T5VsnkDvB3rB6f1lW5EyOXsKfLIJXYQXSzO/dle2nCOVjoQxlIEw5txbKwXg',
  ldap_pbkdf2_sha256:
    '{PBKDF2-SHA256}1000$1Np7D6H0/l.LUUrpXavVeg$7Hgn.ACkJaCiH9qeAa8pwLRzP/LF6.6SFTX3uswhcaA',
  ldap_pbkdf2_sha512:
    '{PBKDF2-SHA512}1000$vBfi/B/DuPde6z0nRGgtJQ$56cJvf.h9VGTblO8MmWGvRCqGh8S5Aedh8uSkl/Dzb1TqZjs6Lq97q2Im097d03Ar/ELFfJe2Rp4DnnZ/phUew',
  ldap_pbkdf2_sha1: '{PBKDF2}1000$RyiFkBIiRIiRUkoppdR67w$NvNYWByU8UX8UBWF8egXqbM23SU',
  werkzeug_scrypt:
    'scrypt:1024:8:1$7VDgdKMJnHwpVSRp$e80788522c238a9b7ee3f579341c4d11453d8b0d1f280dcbbea8406ce813dc3eb85a8722c86c22084da53c3a0b9d363447406446254dcd2fc417b1ace69d8847',
  werkzeug_pbkdf2:
    'pbkdf2:sha256:1000$vsyvDaSRR4w05nek$3ae4b925d45c3a0d166a61c5ce6afc60321c0fc40bcc1c87decb914bec511d84',
  werkzeug_pbkdf2_sha512:
    'pbkdf2:sha512:1000$QIohs6K6rWLIeHvp$fa1bf081fafbd69f68b31bd8e2c91aad218a8ff0ec38b4b5dd73cdf7dffe2e8a5297dd28767eb8076585d5821c675cdf422b90451f4555bc3ec219c3dd5d1c73',
  wordpress_6_8: '$wp$2y$04$X3BFgAQS5if56zJ5pXsyVucciObfoWpOMBfGk07vLYwTBKdXYUG0S',
  nextcloud_1: '1|$2y$04$m0Y0PZ2OmwkBSW9jondbGe961g00OLxsS0LxBxbiOHIRKYE4vW4pe',
  nextcloud_2:
    '2|$argon2i$v=19$m=1024,t=2,p=1$D/wlcQEL9Wk96p+5yPnZ6w$huUARkWysI7o9NzXIU+7goQgkSibkg0ZAv9oPV1xw/o',
  nextcloud_3:
    '3|$argon2id$v=19$m=1024,t=2,p=1$I8zON4znd2gPFy7nOhRl8A$IUaMnGoxf5FaJ91No3MF7aaBDWy4fwNp7L0BjEVj57I',
  aspnet_v2: 'AAABAgMEBQYHCAkKCwwNDg+d2FbDdriytxO2vgdAVMuIpGVW4BGF6o0NJn8znGUhaQ==',
  aspnet_v3_sha1: 'AQAAAAAAAAPoAAAAEAABAgMEBQYHCAkKCwwNDg+d2FbDdriytxO2vgdAVMuIpGVW4BGF6o0NJn8znGUhaQ==',
  aspnet_v3_sha256: 'AQAAAAEAAAPoAAAAEAABAgMEBQYHCAkKCwwNDg/JFMxPBsxuj0bRV+Ohtap6vO67F7sERM1MSsFsoq6YZA==',
  aspnet_v3_sha512: 'AQAAAAIAAAPoAAAAEAABAgMEBQYHCAkKCwwNDg9enHTtaNXHi8Ii+uYFGPy46hVW0aomq1S/YnluGLNJCw==',
  better_auth:
    '00112233445566778899aabbccddeeff:13af89ff6a88bb0fb3277e79ba724c6c0731b15919ca892969d63abd1534b867d110179e3bc8af39995ede0f9b2ac14b2b97573df10ba3802c498dbeb61e4f64',
  authelia_pbkdf2:
    '$pbkdf2-sha512$1000$8T4nZIzxvhcipJTyXkvJuQ$ulPi0BJyG/tbjRGgThdKSfKKdclH8T0it2V4qg6sBMif78c5haEEalA7msfG9CEICMaMRCbgcOkey2z8LW7uBA',
  authelia_scrypt: '$scrypt$ln=10,r=8,p=1$3Fsr5fzf25vz3ptzLqV0jg$jN1xpCTzuXAG3+84V6oFlZM/KgkCNPxXsP0u5bq8rns',
};

/** Hashes of a password that is longer than a block, with characters outside ASCII. */
export const LONG_PASSWORD =
  'p\u00e4ssword that is longer than one block of any digest that this algorithm repeats, 0123456789 0123456789 0123456789';
export const HASHES_OF_LONG: readonly string[] = [
  '$6$rounds=1001$6Io4zmtZixmz1mxc$Jw/rfLQ9pdjlXvleTBnTGvIYsR5B.aags9XTI12GfCCmGLiVwCv45/X3NiGcdH0o3DpnjPkyIVky/rBYkdV6R/',
  '$5$rounds=1003$WZ5jPKh4a.fowl1K$xKiqKbqv6wOEStEP2I6if.5tI/fduAgPetD4zxClcMA',
  '$P$5TlwWL0ylYSKH9esFT1Ee.WF6ga48K0',
];

/** Too weak to import. */
export const REFUSED_HASHES: Readonly<Record<string, string>> = {
  django_md5: 'md5$aSaltOfDjango0123456789$c4e304abb606a0de392bb547880eb0de',
  ldap_sha1: '{SHA}L55TUjtiq8FBorTWAZ0jy6g129A=',
  ldap_md5: '{MD5}PLTnMmMfR+brlh80VUt83g==',
  md5_in_hexadecimal: '3cb4e732631f47e6eb961f34554bbc83',
  md5_crypt: '$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/',
};

/** Rows of Gitea: the columns passwd_hash_algo, salt and passwd. */
export const GITEA_ROWS: readonly (readonly [algorithm: string, salt: string, passwd: string])[] = [
  [
    'pbkdf2$50000$50',
    '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    '9b03bb3ea5daa81303a3821a3d106714e1591ddfd4ca1cca9de438a26abec7da755751ad2f822cdc79e80f321fb91464a96a',
  ],
  [
    'argon2$2$1024$8$50',
    '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    '00ca258d09f2f0f00e4dfae195e4a70468f8988ed7a9a3b9cc4fd4f23e84688109efd0fd505a331622dbb14de022a7065ad4',
  ],
  [
    'scrypt$1024$16$2$50',
    '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    'a0caf26b7f04dce017119a876c64766b853ae1b0fa02fd0a26b731d3050966ffcf3242fb38cc7d134d6d4ef3b23b2c0c8e20',
  ],
  [
    'bcrypt$10',
    '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    '$2b$04$Akh43ZW6zfFsPaBonXyNWui27PtYNm.UpwCOai7S5VjwyEYG05r3m',
  ],
  [
    'pbkdf2',
    '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    '72118b3a951fbbc1c78bb067a65007608009276ae390b85522e26f0011f9ba62d105fed83c384a03ede58de282e60fa01f40',
  ],
  [
    'pbkdf2$10000$50',
    'Abc01xyz9_',
    '92cb0094c41e708805a70dab82aed49b27eccba7d64eb20dc4451f5efaeca00020ab94bbd160bde5bef539be020705965339',
  ],
];

/** The parameters of the project, from the documentation of Firebase’s scrypt. */
export const FIREBASE_CONFIG = `hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}
`;
