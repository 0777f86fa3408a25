import { fromHttpResponse } from '../../protocol/fetch_response.ts';
import type { HttpResponse } from '../../protocol/http.ts';

/**
 * The response to a request; none to `HEAD` has a body, whatever the runtime would make of it (RFC 9110 §9.3.2).
 * @param further headers beside the answer's own, which win
 */
export function responseTo(
  { method }: Pick<Request, 'method'>,
  answer: HttpResponse,
  further?: Readonly<Record<string, string>>,
): Response {
  return fromHttpResponse(method === 'HEAD' ? { ...answer, body: '' } : answer, further);
}
