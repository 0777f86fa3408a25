import type { IncomingMessage } from 'node:http';
import type { HttpRequest, HttpResponse } from '../../protocol/http.ts';
import type { AdapterOptions, Operation } from '../adapter_options.ts';
import { type HostedRequest, plainRequest } from './http_request.ts';

/**
 * What an operation answers to a request.
 * @param render makes an answer of what the operation threw
 * @returns `undefined` where the client went away in the middle of its request: nobody is left to answer
 * @throws what the operation threw, where the host wants errors forwarded
 */
export async function answerTo(
  request: IncomingMessage,
  hosted: HostedRequest,
  operation: Operation,
  errors: AdapterOptions<never>['errors'] | undefined,
  render: (thrown: unknown) => HttpResponse,
): Promise<HttpResponse | undefined> {
  let plain: HttpRequest;
  try {
    plain = await plainRequest(request, hosted);
  } catch (error) {
    if (request.destroyed) return undefined;
    throw error;
  }
  const answer = operation(plain);
  return errors === 'forward' ? answer : answer.catch(render);
}
