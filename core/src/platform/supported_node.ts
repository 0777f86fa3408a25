// Refuses to run on a Node that is too old. Entry points import it for this effect.
/** Keep it equal to `engines` in package.json. */
export const OLDEST_NODE = '22.18';

/** `process.versions`. Bun and Deno also report a Node version there. */
interface RuntimeVersions {
  readonly node?: string;
  readonly bun?: string;
  readonly deno?: string;
}

/**
 * Throws on a Node that is too old, which would otherwise start and then fail at the first request (ADR 48).
 * @throws {Error} names both versions
 */
export function requireSupportedNode(versions: RuntimeVersions | undefined): void {
  if (versions?.node === undefined || versions.bun !== undefined || versions.deno !== undefined) return;
  const [major = 0, minor = 0] = versions.node.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new Error(`grantd needs Node ${OLDEST_NODE} or later; this is Node ${versions.node}.`);
}

/** workerd can report a Node version too. */
const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers';
const { process } = globalThis as { readonly process?: { readonly versions?: RuntimeVersions } };
if (!isWorkerd) requireSupportedNode(process?.versions);
