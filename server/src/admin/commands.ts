// Which commands work through the admin API, and with which operations. From this table come the flag --url, what --help
// says about it, and the refusal of commands that need the server’s machine. It imports nothing, so that commands start
// quickly.

/** The operations that a command calls, by the command as it is typed. */
export const COMMAND_OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  'client add': ['addClient'],
  'client list': ['listClients'],
  'client show': ['getClient'],
  'client update': ['updateClient'],
  'client remove': ['removeClient'],
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
  'user show': ['listUsers', 'listSessions', 'listConsents', 'listLinks', 'getFactors'],
  'user add': ['addUser'],
  'user invite': ['addUser'],
  'user update': ['listUsers', 'getUser', 'updateUser', 'addMember', 'removeMember'],
  'user remove': ['listUsers', 'listSessions', 'removeUser'],
  'user unlink': ['listUsers', 'removeLink'],
  'user set-password': ['listUsers', 'setPassword'],
  'user end-sessions': ['listUsers', 'endSessions'],
  'user disable': ['listUsers', 'disableUser'],
  'user enable': ['listUsers', 'enableUser'],
  'user reset-factors': ['listUsers', 'resetFactors'],
  'user import': ['importUsers'],
  'user export': ['exportUsers'],
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
};

/** Why a command has no --url: the end of a sentence that begins with the command. */
export const NEEDS_MACHINE: Readonly<Record<string, string>> = {
  serve: 'starts the server on this machine',
  health: 'asks the server on this machine',
  apply: 'compares the file with the database in one go',
  export: 'reads the database in one go',
  'directory test': 'asks the directory from the server’s machine',
  'directory link': 'asks the directory from the server’s machine',
  'token issue': 'issues tokens for any user, which no token of the admin API permits',
  'admin openapi': 'needs no server',
  'config show': 'reads the variables and files of the server’s machine',
  'config check': 'reads the variables and files of the server’s machine',
  gc: 'deletes rows in the database, as a running server does by itself',
  copy: 'copies the database file',
  backup: 'reads the database file',
  restore: 'writes the database file',
  migrate: 'changes the tables of the database',
  help: 'needs no server',
};
