import type { ClaimsRequest } from '../../../protocol/claims_request.ts';
import type { Form } from '../../../protocol/form.ts';
import { OAuthError } from '../../../protocol/oauth_error.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import { type SubjectAudience, subjectIdentifier } from '../../../tokens/subject_identifier.ts';
import type { Context } from '../../context.ts';
import { subjectOfHint } from './id_token_hint.ts';

/**
 * Whom the answer must be about: the person of `id_token_hint` (OpenID Connect Core §3.1.2.1), or the one whose `sub` is
 * asked for by its value (§5.5.1).
 * @throws {OAuthError} `invalid_request`: no valid hint, no text, or two different people
 */
export async function expectedSubjectOf(
  context: Context,
  client: ClientRecord,
  form: Form,
  claims: ClaimsRequest | undefined,
): Promise<string | undefined> {
  const asked = claims?.id_token?.sub?.value;
  if (asked !== undefined && typeof asked !== 'string') throw refused('the sub that is asked for is no text');
  const hint = context.oidc === undefined ? undefined : form.get('id_token_hint');
  if (hint === undefined) return asked;
  const hinted = await subjectOfHint(context, client, hint);
  if (asked !== undefined && asked !== hinted) throw refused('two different people are asked for');
  return hinted;
}

/** Whether a request, where it means a person, means this one. */
export async function isExpectedPerson(
  context: Context,
  { client, expectedSubject }: { readonly client: SubjectAudience; readonly expectedSubject?: string },
  subject: string,
): Promise<boolean> {
  return (
    expectedSubject === undefined || expectedSubject === (await subjectIdentifier(context, client, subject))
  );
}

function refused(description: string): OAuthError {
  return new OAuthError('invalid_request', description, { reason: 'parameter_invalid' });
}
