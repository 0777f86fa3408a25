// Why commands have no --url (ADR 100), and operations no command. It imports nothing, so that commands start quickly.

/** Operations without a command of their own, with the reason. */
export const OPERATIONS_WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  showConfiguration: 'grantd config show reads the variables and files of its own machine',
  countStored: 'the overview of the console shows it',
  showHealth: 'grantd health asks the port of its own machine',
  getUser: 'part of grantd user show and grantd user update',
  updateUser: 'part of grantd user update, which also changes memberships',
  listSessions: 'part of grantd user show',
  listGrants: 'part of grantd user show',
  listActing: 'part of grantd user show',
  listConsents: 'part of grantd user show',
  listLinks: 'part of grantd user show',
  listUserTokens: 'part of grantd user show',
  getFactors: 'part of grantd user show',
  listLocks: 'part of grantd user show',
  importUsers: 'part of grantd user import, which reads files',
  exportUsers: 'part of grantd user export, which writes files',
  addMember: 'part of grantd group add-member, which adds several users',
  removeMember: 'part of grantd group remove-member, which removes several users',
  listUnusedClients: 'part of grantd client prune',
  removeUnusedClients: 'part of grantd client prune',
  explainToken: 'part of grantd token explain, which reads standard input',
  revokeToken: 'part of grantd token revoke',
  revokeAll: 'part of grantd token revoke',
  exportState: 'part of grantd export, which writes files',
  planState: 'part of grantd apply',
  applyState: 'part of grantd apply',
};

/** Of commands that run on any machine. */
export const NEEDS_NO_SERVER = 'needs no server';

/** Why a command has no --url: the end of a sentence that begins with the command. */
export const NEEDS_MACHINE: Readonly<Record<string, string>> = {
  serve: 'starts a server',
  follow: 'checks tokens for a gateway on its own machine',
  health: 'tests the port at which the server on the same machine listens',
  'directory test': 'connects to the directory itself, as the server does',
  'directory link': 'connects to the directory itself, as the server does',
  'token issue': 'issues tokens for any user, and no client of the admin API may do that',
  'admin openapi': NEEDS_NO_SERVER,
  'config show': 'reads the environment variables and files of the machine on which it runs',
  'config check': 'reads the environment variables and files of the machine on which it runs',
  gc: 'deletes rows directly in the database. A running server deletes them without a command',
  copy: 'reads the database file',
  backup: 'reads the whole database directly',
  'backup verify': NEEDS_NO_SERVER,
  'backup new-key': NEEDS_NO_SERVER,
  restore: 'creates the database, before a server runs',
  migrate: 'works directly on the tables of the database',
  texts: NEEDS_NO_SERVER,
  help: NEEDS_NO_SERVER,
};
