/** Replaces the list of all hosts with those that need nothing of Node. */

export { PROTECTED_WEB_HOSTS as PROTECTED_HOSTS } from '../../../../protect/test/harness/protected_web_hosts.ts';
export { WEB_HOSTS as FETCH_HOSTS } from '../../harness/hosts/web_hosts.ts';
