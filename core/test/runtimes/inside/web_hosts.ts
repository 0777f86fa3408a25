/** The hosts that need nothing of Node, in place of all of them. */

export { PROTECTED_WEB_HOSTS as PROTECTED_HOSTS } from '../../../../protect/test/harness/protected_web_hosts.ts';
export { WEB_HOSTS as FETCH_HOSTS } from '../../harness/hosts/web_hosts.ts';
