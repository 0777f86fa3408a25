// What the overview of the console says about the state of the server, in English.
import { html } from 'hono/html';
import type { Html } from '../formats/html.ts';
import { FORMATS } from './formats.ts';

const plural = FORMATS.counted.bind(FORMATS);

export const OVERVIEW = {
  title: 'What is wrong now',
  nothing: 'Nothing is wrong.',
  nothingBefore: (duration: string) => `Nothing was wrong ${duration} ago.`,
  notLooked: 'Not known yet. The server looks at its requests every few seconds, and has just started.',
  cannotCompare: (duration: string) =>
    `The server cannot yet tell what is usual: it started to count ${duration} ago.`,
  ofThisServer: 'Counts are those of this server, not of other servers with the same database.',
  last: (at: Html) => html`The last one was ${at}.`,
  peers: {
    provider: (name: Html) => html`Identity provider ${name}:`,
    directory: (_: Html) => html`Directory:`,
    issuer: (name: Html) => html`Trusted issuer ${name}:`,
  },
  outage: {
    goesOn: (since: Html, last: Html) =>
      html`failed first ${since}, last ${last}, and has not answered in between.`,
    untried: (_: Html, last: Html) => html`failed ${last}. The server has not asked again since.`,
  },
  unnamedClient: 'Requests without a known client',
  otherClients: 'Other clients',
  moreClients: plural('1 more client', '# more clients'),
  lookedAt: (topics: string) => `Looked at: ${topics}.`,
  topics: {
    database: 'the database',
    clock: 'the clock',
    requests: 'requests and sign-ins of the last minutes',
    peers: 'identity providers, the directory and trusted issuers, as far as the server has asked them',
    locked: 'locked users',
    mails: 'emails',
    registrations: 'registered clients',
    certificate: 'the TLS certificate',
    backups: 'backups',
    keys: 'signing keys and server secrets',
  },
  troubles: {
    not_ready: plural('The database fails.', 'The database fails.'),
    storage_unreachable: plural('The database cannot be reached.', 'The database cannot be reached.'),
    storage_slow: plural('The database does not answer in time.', 'The database does not answer in time.'),
    storage_full: plural('The disk of the database is full.', 'The disk of the database is full.'),
    storage_read_only: plural('The database is read-only.', 'The database is read-only.'),
    ending: plural('The server is shutting down.', 'The server is shutting down.'),
    clock_wrong: plural('The clock is wrong by 1 second.', 'The clock is wrong by # seconds.'),
    storage_faults: plural(
      '1 operation of the database failed in the last 5 minutes.',
      '# operations of the database failed in the last 5 minutes.',
    ),
    faults: plural(
      '1 request failed in the last 5 minutes (5xx).',
      '# requests failed in the last 5 minutes (5xx).',
    ),
    refusals: plural(
      '1 request was refused in the last 5 minutes, which is more than usual.',
      '# requests were refused in the last 5 minutes, which is more than usual.',
    ),
    sign_ins: plural(
      '1 sign-in failed in the last 5 minutes, which is more than usual.',
      '# sign-ins failed in the last 5 minutes, which is more than usual.',
    ),
    limits: plural(
      'A limit has stopped 1 request in the last 5 minutes.',
      'Limits have stopped # requests in the last 5 minutes.',
    ),
    mails: plural(
      '1 email could not be sent, and the server has given up.',
      '# emails could not be sent, and the server has given up.',
    ),
    locked: plural(
      '1 user is locked after too many attempts.',
      '# users are locked after too many attempts.',
    ),
    mails_delayed: plural(
      '1 email failed at least twice. The server keeps trying.',
      '# emails failed at least twice. The server keeps trying.',
    ),
    client: plural(
      '1 request was refused in the last 15 minutes.',
      '# requests were refused in the last 15 minutes.',
    ),
    inactive_answers: plural(
      '1 introspection was answered inactive in the last 15 minutes.',
      '# introspections were answered inactive in the last 15 minutes.',
    ),
    peer: plural('1 server does not answer.', '# servers do not answer.'),
    peer_untried: plural('1 server has not answered.', '# servers have not answered.'),
    registrations: plural(
      '1 client has registered itself, which is nearly the limit.',
      '# clients have registered themselves, which is nearly the limit.',
    ),
    certificate_ended: plural('The TLS certificate has expired.', 'The TLS certificate has expired.'),
    certificate: plural('The TLS certificate expires in 1 day.', 'The TLS certificate expires in # days.'),
    no_backup: plural('There is no backup in the folder.', 'There is no backup in the folder.'),
    backup: plural('The newest backup is 1 day old.', 'The newest backup is # days old.'),
    key_old: plural('A signing key is 1 day old.', 'A signing key is # days old.'),
    no_next_key: plural('1 algorithm has no next key.', '# algorithms have no next key.'),
    old_secrets: plural(
      '1 earlier server secret is still accepted.',
      '# earlier server secrets are still accepted.',
    ),
  },
  changed: 'Changed since yesterday',
  unchanged: 'No one has changed anything.',
  changedText: 'Changes by operators and by the server itself.',
  lastChanges: (shown: string) => `The last ${shown}.`,
  someChanges: (shown: string, all: string) => `${shown} of ${all}.`,
  allEvents: 'All changes since yesterday',
  refusals: 'Most frequent refusals and inactive answers',
  noRefusals: 'None.',
  refusalsOfClient: 'Refused requests and inactive answers of the last hour',
  refusalCount: 'How often',
  answeredInactive: 'answered inactive',
  refusalReason: 'Why',
  signing: 'Signing keys',
  signs: (algorithm: string, age: string) => `${algorithm}: a key made ${age} signs.`,
  nextKnown: 'All clients know the next key, so you can rotate at any time.',
  nextWaits: 'The next key is not known to all clients yet.',
  help: {
    link: 'What to do',
    lead: 'What the overview calls wrong, and why the server refuses requests.',
    troubles: 'What the overview calls wrong',
    reasons: 'Reason codes',
    reasonsText:
      'The log, the audit trail and metrics name a reason by its code. Codes do not change between versions.',
    means: 'What it means',
    look: 'What to look at',
    act: 'What to do',
    unknown: 'No page explains this code.',
    all: 'All explanations',
    ofReasons: {
      inactive: {
        look: 'Explain the token on the page Tokens. It says since when the token is dead, and what has ended it.',
        act: 'The client gets a new token, with its refresh token if it has one. If many tokens are concerned, look in the audit trail for what happened at that time.',
      },
      ended: {
        look: 'Explain the token on the page Tokens. It says since when the token is dead, and what has ended it.',
        act: 'Refresh tokens have ended as well. If the access should go on, enable what is disabled. Then the user signs in again, or a client without a user gets a new token. If many tokens are concerned, look for one revocation or disabling in the audit trail.',
      },
      refused: {
        look: 'The log line with this reason names the client and the value that was wrong. The page of the client shows what it is registered for.',
        act: 'Correct the registration or the client. A single refusal is often a mistake of one request, or a stranger who tries something.',
      },
      page: {
        look: 'The page of the user says how they sign in, and why the last sign-ins were refused.',
        act: 'Help the user there: unlock them, send a link for a new password, or add them to a group.',
      },
      limit: {
        look: 'The log line names the client, and with the option logAddresses the address. Limits count for one address, name or client, so others are not affected.',
        act: 'Wait until the window ends, or unlock the user. If all visitors share one address, set trustedProxies. Raise a limit only if honest callers reach it.',
      },
    },
    ofTroubles: {
      not_ready: {
        title: 'The database fails',
        means: 'The server cannot read or write its database, so it answers 503.',
        look: 'The log line unhealthy has the error of the database in its member cause. A usual cause is a file that was replaced or is damaged.',
        act: 'Repair the cause. The server goes on by itself as soon as the database works.',
      },
      storage_unreachable: {
        title: 'The database cannot be reached',
        means: 'The server has no connection to its database, so it answers 503.',
        look: 'Check that PostgreSQL runs, accepts more connections, and that the network lets the server reach it. With SQLite, check that the server may open the file and its folder.',
        act: 'Start the database, or repair the network. The server connects again by itself.',
      },
      storage_slow: {
        title: 'The database does not answer in time',
        means: 'The server has waited too long for its database, so it answers 503.',
        look: 'Look for long statements and locks in PostgreSQL (pg_stat_activity). With SQLite, look for another process that locks the file, and for a slow disk.',
        act: 'End what blocks the database. The server goes on by itself as soon as the database answers.',
      },
      storage_full: {
        title: 'The disk of the database is full',
        means:
          'The server can read its database, but not write to it. Requests that have to write get 503: sign-ins, new tokens and revocations.',
        look: 'Look with df at the disk of the database. The log line unhealthy has the error, and with SQLite also the file.',
        act: 'Move old backups and logs away, or enlarge the disk. Never delete the files -wal and -shm beside an SQLite database. The server goes on by itself as soon as there is room.',
      },
      storage_read_only: {
        title: 'The database is read-only',
        means:
          'The server can read its database, but not write to it. Requests that have to write get 503: sign-ins, new tokens and revocations.',
        look: 'With SQLite, check the permissions of the file and its folder, and how the disk is mounted. With PostgreSQL, check whether the server is a standby, and default_transaction_read_only.',
        act: 'Allow the server to write, or connect it to the primary. It goes on by itself.',
      },
      ending: {
        title: 'The server is shutting down',
        means: 'This server completes its last requests, and answers 503 to health checks.',
        look: 'The log line with the event ending says since when.',
        act: 'Wait until its successor answers, then load the page again.',
      },
      clock_wrong: {
        title: 'The clock is wrong',
        means:
          'The clock of this machine differs from that of the database, or has jumped. Tokens then begin and end at the wrong time.',
        look: 'Compare the clocks of all machines that run the server, and of the database.',
        act: 'Let NTP set the clocks, and restart the server if its clock has jumped.',
      },
      storage_faults: {
        title: 'Failed operations of the database',
        means:
          'Operations of the database failed, although it answers now. The requests got 503, and clients may repeat them.',
        look: 'The log has each error. The chart of the database shows when they began.',
        act: 'Look for a failover, too few connections, a full disk or a slow network.',
      },
      faults: {
        title: 'Failed requests',
        means: 'Requests failed by an error of the server or of something that it depends on.',
        look: 'The log has each fault with its cause and the request ID that the user saw.',
        act: 'Repair the cause. If the cause is a mistake of the server, report it with the log line.',
      },
      refusals: {
        title: 'More refusals than usual',
        means: 'Far more requests than usual are refused. A client is broken, or a stranger tries something.',
        look: 'The table of refusals below says for which reasons. The log names the clients, and with the option logAddresses their addresses.',
        act: 'Ask who has changed a client or its registration. Block an address that attacks in your proxy or firewall.',
      },
      sign_ins: {
        title: 'More failed sign-ins than usual',
        means: 'Far more sign-ins than usual fail. An attacker may try passwords.',
        look: 'The audit trail shows the failed sign-ins, their users and reasons.',
        act: 'The limits protect each user. Ask for a second factor by the sign-in policy, and let fail2ban block addresses.',
      },
      limits: {
        title: 'A limit was reached',
        means: 'A limit has stopped requests of one address, name or client.',
        look: 'The table of refusals says which limit. The log names the client, and with the option logAddresses the address.',
        act: 'If all visitors share one address, set trustedProxies. Otherwise the limit does its work.',
      },
      locked: {
        title: 'Users are locked',
        means: 'There were too many wrong passwords or codes for these users, perhaps from an attacker.',
        look: 'The list of locked users says until when. The page of a user has the attempts, with their places.',
        act: 'If the user mistyped, choose Unlock. If someone guesses, leave the lock: it ends by itself, and browsers that the user has used before can still sign in.',
      },
      mails_delayed: {
        title: 'Emails fail again and again',
        means:
          'Emails have failed at least twice. The server tries again for about eight hours, then gives up.',
        look: 'The page Emails shows each email with the answer of the mail server, and when the next attempt is.',
        act: 'Look whether the mail server works, with a test email. Then choose Try now on that page.',
      },
      peer: {
        title: 'A provider, directory or issuer does not answer',
        means:
          'The last request to this server failed or got 5xx. Users cannot sign in through it, or workloads cannot authenticate.',
        look: 'The log lines with provider_unavailable, directory_unavailable or document_unavailable have the cause.',
        act: 'Find out whether that server works and this one can reach it. The row disappears with its next answer.',
      },
      peer_untried: {
        title: 'It is unknown whether a provider, directory or issuer answers',
        means:
          'The last request to this server failed, and for an hour no user or workload has needed it again.',
        look: 'The log lines with provider_unavailable, directory_unavailable or document_unavailable have the cause.',
        act: 'Sign in through it once. The row disappears with its next answer, or after a day.',
      },
      client: {
        title: 'A client is refused',
        means: 'One client was refused at least 10 times in 15 minutes for the same reason.',
        look: 'The page of the client shows its refusals by reason. The log has each of them, and with the option logAddresses its address.',
        act: 'Correct the registration or the client. A wrong secret has often been rotated on one side only.',
      },
      inactive_answers: {
        title: 'An API gets inactive answers',
        means:
          'One API introspected at least 10 tokens in 15 minutes that are damaged, unknown, from another issuer, or not meant for it. The API only gets active: false, without the reason.',
        look: 'The page of the client shows the reasons. The log has each of them. If you have such a token, explain it on the page Tokens.',
        act: 'Look which issuer the callers of the API get their tokens from, and whether a proxy changes or cuts the Authorization header.',
      },
      mails: {
        title: 'Emails could not be sent',
        means: 'The mail server refused emails for good, or took none for too long.',
        look: 'The page Emails shows each email with the answer of the mail server.',
        act: 'Correct the address or the settings of the mail server. Then try the emails again on this page.',
      },
      registrations: {
        title: 'Nearly too many registered clients',
        means: 'Soon no further client can register itself.',
        look: 'The list of registered clients shows which ones no user has ever used.',
        act: 'Remove unused ones with grantd client prune, or raise registrationLimit.',
      },
      certificate_ended: {
        title: 'The TLS certificate has expired',
        means: 'Browsers and clients refuse the connection.',
        look: 'The options tlsCertificate and tlsKey name the files.',
        act: 'Renew the certificate, write both files, and send SIGHUP to the server.',
      },
      certificate: {
        title: 'The TLS certificate expires soon',
        means: 'After this time, browsers and clients refuse the connection.',
        look: 'The options tlsCertificate and tlsKey name the files.',
        act: 'Renew the certificate, write both files, and send SIGHUP to the server.',
      },
      no_backup: {
        title: 'There is no backup',
        means: 'The server makes backups by itself, but the folder has none.',
        look: 'The log says why the last backup failed. Check that the server may write to the folder.',
        act: 'Correct the folder of the option backupFolder, or make a backup with grantd backup.',
      },
      backup: {
        title: 'The newest backup is old',
        means: 'The server makes backups by itself, but the newest one is too old.',
        look: 'The log says why the last backup failed. Check the space on the disk.',
        act: 'Correct the folder of the option backupFolder, or make a backup with grantd backup.',
      },
      key_old: {
        title: 'A signing key is old',
        means:
          'A key has signed for more than a year. The longer a key signs, the more tokens a thief of it can forge.',
        look: 'The page Keys shows how old each key is, and whether all clients know the next one.',
        act: 'Rotate the keys there. The next key signs at once, and the earlier one still verifies its tokens.',
      },
      no_next_key: {
        title: 'An algorithm has no next key',
        means: 'An algorithm has no next key, so its key cannot be rotated without a wait.',
        look: 'The page Keys shows the keys of each algorithm.',
        act: 'Restart the server. It makes the missing key at its start.',
      },
      old_secrets: {
        title: 'Earlier server secrets are accepted',
        means:
          'The server still accepts earlier secrets. This is right for the time of a rotation, and a risk afterwards.',
        look: 'The page Server secrets says what still depends on each of them.',
        act: 'When nothing depends on a secret, drop it.',
      },
    },
  },
  refusalClients: 'Clients',
  refusalLast: 'Last',
  countedSince: 'Counted in the last hour, since the start of the server at most.',
  notByName: 'Some clients are not counted by name (option metricsClients), perhaps this one.',
  span: (duration: string) => `Last ${duration}`,
};
