// What SIGHUP does: the server reads its configuration again, and applies it without closing a connection.
import { isDeepStrictEqual } from 'node:util';
import type { Configuration } from '../config/configuration.ts';
import { OPTION_NAMES, OPTIONS, type OptionName } from '../config/options.ts';
import type { Log } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';

/** What a reload found in files. */
export interface Reloaded {
  /** Options whose files have another content. */
  readonly files: readonly OptionName[];
  /** The server’s secret, as read. */
  readonly secret: readonly string[];
}

/**
 * Serves another configuration from then on.
 * @param secretOfStart the secret of the processes that this one serves with; default: as read from its file
 * @throws {Error} the configuration cannot be served; the present one stays
 */
export type Reload = (configuration: Configuration, secretOfStart?: readonly string[]) => Promise<Reloaded>;

/**
 * Reloads at each call, one at a time. Calls during a reload cause one more (ADR 81).
 * @param running the configuration as read at the start, and as it is served: with the ports in use
 * @param readAgain reads the configuration from the same flags and variables, and from the file as it is now
 * @param apply applies the configuration
 */
export function reloader(
  running: { readonly start: Configuration; readonly served: Configuration },
  readAgain: () => Configuration,
  apply: (configuration: Configuration) => Promise<Reloaded>,
  log: Log,
): () => void {
  let { served } = running;
  const reload = async (): Promise<void> => {
    try {
      const read = readAgain();
      const needRestart = changesThatNeedRestart(running.start, read);
      const next = keeping(needRestart, read, served);
      const changed = changedOptions(served, next);
      const { files } = await apply(next);
      served = next;
      const reloaded = OPTION_NAMES.filter((name) => changed.includes(name) || files.includes(name));
      // A change that did not arrive is worth a look.
      log[reloaded.length > 0 ? 'info' : 'warn']({ event: 'hangup', reloaded });
      if (needRestart.length > 0) log.warn({ event: 'restart_needed', options: needRestart });
    } catch (error) {
      log.error({ event: 'reload_failed', cause: causeOf(error) });
    }
  };

  let current: Promise<void> = Promise.resolve();
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    current = current.then(() => {
      isWaiting = false;
      return reload();
    });
  };
}

function changedOptions(a: Configuration, b: Configuration): readonly OptionName[] {
  return OPTION_NAMES.filter((name) => !isDeepStrictEqual(a.settings[name], b.settings[name]));
}

function changesThatNeedRestart(start: Configuration, read: Configuration): readonly OptionName[] {
  const changed = changedOptions(start, read);
  // Servers with and without TLS, or with and without the second port, are different servers.
  const isOtherServer =
    changed.includes('mtlsPort') ||
    (start.settings.tlsCertificate === undefined) !== (read.settings.tlsCertificate === undefined);
  return changed.filter(
    (name) => 'needsRestart' in OPTIONS[name] || (isOtherServer && OPTIONS[name].group === 'TLS'),
  );
}

/** The configuration as read, except for options that a running server cannot change. */
function keeping(
  changes: readonly OptionName[],
  { settings, sourceOf }: Configuration,
  { settings: served }: Configuration,
): Configuration {
  const kept = OPTION_NAMES.filter((name) => 'needsRestart' in OPTIONS[name] || changes.includes(name));
  return {
    settings: { ...settings, ...Object.fromEntries(kept.map((name) => [name, served[name]])) },
    sourceOf,
  };
}
