import { Command } from 'commander';
import { addExplainCommand } from './token_explain.ts';
import { addIssueCommand } from './token_issue.ts';
import { addRevokeCommand } from './token_revoke.ts';

export function tokenCommands(): Command {
  const group = new Command('token').description('tokens that were issued, and new ones to try things out');
  addIssueCommand(group);
  addExplainCommand(group);
  addRevokeCommand(group);
  return group;
}
