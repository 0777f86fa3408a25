// Secrets that an administrator types into a form that has a question: the page of the question has them sealed.
import { isJsonObject } from '@grantd/core/options';
import type { Visit } from './access.ts';
import type { Field } from './fields.ts';

/** For how long a question keeps what was typed into fields of secrets. Milliseconds */
const SECRETS_KEPT_MS = 30 * 60 * 1000;

/** Seals the typed secrets, so that the page of the question contains none. */
export async function sealSecrets(
  { form, session, console: { tokens, pages } }: Visit,
  fields: readonly Field[],
) {
  const endsAtMs = pages.clock() + SECRETS_KEPT_MS;
  for (const { name } of fields.filter(({ kind }) => kind === 'secret')) {
    const secret = form.get(name) ?? '';
    if (secret !== '') form.set(name, await tokens.seal({ secret, sessionId: session.id, endsAtMs }));
  }
}

/** Opens what `sealSecrets` has sealed for this session. @returns the names of those that it has not, or too long ago */
export async function openSecrets(
  { form, session, console: { tokens, pages } }: Visit,
  fields: readonly Field[],
): Promise<readonly string[]> {
  const lost: string[] = [];
  for (const { name } of fields.filter(({ kind }) => kind === 'secret')) {
    const sealed = form.get(name) ?? '';
    const opened = await tokens.open(sealed);
    const isOwn = isJsonObject(opened) && opened.sessionId === session.id;
    const isKept = isOwn && typeof opened.secret === 'string' && Number(opened.endsAtMs) > pages.clock();
    if (sealed !== '') form.set(name, isKept ? String(opened.secret) : '');
    if (sealed !== '' && !isKept) lost.push(name);
  }
  return lost;
}
