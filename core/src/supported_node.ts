/** The oldest Node that the library runs on; `engines` in package.json says the same. */
export const OLDEST_NODE = '22.18';

/** What a runtime says about itself. Bun and Deno claim a version of Node as well. */
interface RuntimeVersions {
  readonly node?: string;
  readonly bun?: string;
  readonly deno?: string;
}

/**
 * Refuses a Node that is too old. Without this, an older one would start and fail at the first request.
 * @throws {Error} one sentence with both versions
 */
export function requireSupportedNode(versions: RuntimeVersions | undefined): void {
  if (versions?.node === undefined || versions.bun !== undefined || versions.deno !== undefined) return;
  const [major = 0, minor = 0] = versions.node.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new Error(`grantd needs Node ${OLDEST_NODE} or later; this is Node ${versions.node}.`);
}

/** workerd can pretend to be Node. */
const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers';
const { process } = globalThis as { readonly process?: { readonly versions?: RuntimeVersions } };
if (!isWorkerd) requireSupportedNode(process?.versions);
