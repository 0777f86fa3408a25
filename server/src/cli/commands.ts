// Which commands work through the admin API, and with which operations. From this table come the flag --url, what --help
// says about it, and the refusal of commands that need the server’s machine. It imports nothing, so that commands start
// quickly.

/** The operations that a command calls, by the command as it is typed (ADR 100). */
export const COMMAND_OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  'client add': ['addClient'],
  'client list': ['listClients'],
  'client show': ['getClient'],
  'client update': ['updateClient'],
  'client remove': ['removeClient'],
  'client prune': ['listUnusedClients', 'removeUnusedClients'],
  'client disable': ['disableClient'],
  'client enable': ['enableClient'],
  'client rotate-secret': ['rotateClientSecret'],
  'client registration-token': ['newRegistrationToken'],
  'scope list': ['listScopeTexts'],
  'scope add': ['addScopeTexts'],
  'scope show': ['getScopeTexts'],
  'scope update': ['updateScopeTexts'],
  'scope remove': ['removeScopeTexts'],
  'user list': ['listUsers'],
  'user show': ['listUsers', 'listSessions', 'listConsents', 'listLinks', 'getFactors', 'listLocks'],
  'user add': ['addUser'],
  'user invite': ['addUser'],
  'user update': ['listUsers', 'getUser', 'updateUser', 'addMember', 'removeMember'],
  'user remove': ['listUsers', 'listSessions', 'removeUser'],
  'user unlink': ['listUsers', 'removeLink'],
  'user set-password': ['listUsers', 'setPassword'],
  'user end-sessions': ['listUsers', 'endSessions'],
  'user end-access': ['listUsers', 'endAccess'],
  'user unlock': ['listUsers', 'unlockUser'],
  'user disable': ['listUsers', 'disableUser'],
  'user enable': ['listUsers', 'enableUser'],
  'user reset-factors': ['listUsers', 'resetFactors'],
  'user confirm-factors': ['listUsers', 'confirmFactors'],
  'user import': ['importUsers'],
  'user export': ['exportUsers'],
  apply: ['planState', 'applyState'],
  export: ['exportState', 'listUsers'],
  'group list': ['listGroups'],
  'group add': ['addGroup'],
  'group show': ['getGroup', 'listClients'],
  'group update': ['updateGroup'],
  'group remove': ['getGroup', 'removeGroup'],
  'group add-member': ['getGroup', 'listUsers', 'addMember'],
  'group remove-member': ['getGroup', 'listUsers', 'removeMember'],
  'mail list': ['listMails'],
  'mail retry': ['retryMail'],
  'mail test': ['testMail'],
  'token explain': ['explainToken'],
  'token revoke': ['explainToken', 'revokeToken', 'revokeAll', 'listUsers'],
  'keys list': ['listKeys'],
  'keys rotate': ['rotateKeys'],
  'secrets status': ['listSecrets'],
  'secrets rotate': ['rotateSecrets'],
  'secrets drop': ['dropSecrets'],
  'events list': ['listEvents'],
};

/** Operations that no command calls, with the reason. */
export const OPERATIONS_WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  showConfiguration: 'grantd config show reads the variables and files of its own machine',
  showHealth: 'grantd health asks the port of its own machine',
  listAudit: 'grantd audit list reads the audit trail directly in the database',
};

/** Of commands that run on any machine. */
export const NEEDS_NO_SERVER = 'needs no server';

/** Why a command has no --url: the end of a sentence that begins with the command. */
export const NEEDS_MACHINE: Readonly<Record<string, string>> = {
  serve: 'starts a server',
  health: 'tests the port at which the server on the same machine listens',
  'directory test': 'connects to the directory itself, as the server does',
  'directory link': 'connects to the directory itself, as the server does',
  'token issue': 'issues tokens for any user, and no client of the admin API may do that',
  'admin openapi': NEEDS_NO_SERVER,
  'config show': 'reads the environment variables and files of the machine on which it runs',
  'config check': 'reads the environment variables and files of the machine on which it runs',
  gc: 'deletes rows directly in the database. A running server deletes them without a command',
  copy: 'reads the database file',
  audit: 'reads the audit trail directly in the database',
  'audit verify': 'checks the audit trail directly in the database, with the server’s secret',
  'audit restart': 'signs the audit trail directly in the database, with the server’s secret',
  backup: 'reads the whole database directly',
  'backup verify': NEEDS_NO_SERVER,
  'backup new-key': NEEDS_NO_SERVER,
  restore: 'creates the database, before a server runs',
  migrate: 'works directly on the tables of the database',
  texts: NEEDS_NO_SERVER,
  help: NEEDS_NO_SERVER,
};
