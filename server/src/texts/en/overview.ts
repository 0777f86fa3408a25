// What the overview of the console says about the state of the server, in English.
import { FORMATS } from './formats.ts';

const plural = FORMATS.counted.bind(FORMATS);

export const OVERVIEW = {
  title: 'What is wrong now',
  nothing: 'Nothing is wrong.',
  lookedAt: (topics: string) => `Looked at: ${topics}.`,
  topics: {
    database: 'the database',
    clock: 'the clock',
    requests: 'requests and sign-ins of the last minutes',
    mails: 'emails',
    registrations: 'registered clients',
    certificate: 'the TLS certificate',
    backups: 'backups',
  },
  troubles: {
    not_ready: plural('The database does not answer.', 'The database does not answer.'),
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
    mails: plural('1 email could not be sent.', '# emails could not be sent.'),
    registrations: plural(
      '1 client has registered itself, which is nearly the limit.',
      '# clients have registered themselves, which is nearly the limit.',
    ),
    certificate_ended: plural('The TLS certificate has expired.', 'The TLS certificate has expired.'),
    certificate: plural('The TLS certificate expires in 1 day.', 'The TLS certificate expires in # days.'),
    no_backup: plural('There is no backup in the folder.', 'There is no backup in the folder.'),
    backup: plural('The newest backup is 1 day old.', 'The newest backup is # days old.'),
  },
  changed: 'Changed since yesterday',
  unchanged: 'No one has changed anything.',
  changedText: 'Changes by operators and by the server itself.',
  allEvents: 'All events since yesterday',
  refusals: 'Most frequent refusals',
  noRefusals: 'None.',
  refusalCount: 'Refused',
  refusalReason: 'Why',
  span: (duration: string) => `Last ${duration}`,
};
