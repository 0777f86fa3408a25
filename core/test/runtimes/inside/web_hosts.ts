/** The hosts that need nothing of Node, in place of all of them. */
export { WEB_HOSTS as FETCH_HOSTS } from '../../harness/hosts/web_hosts.ts';
export { PROTECTED_WEB_HOSTS as PROTECTED_HOSTS } from '../../harness/protected_web_hosts.ts';
