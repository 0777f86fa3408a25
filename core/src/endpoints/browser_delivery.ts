import type { BrowserDelivery, HttpResponse } from '../protocol/http.ts';
import { formPostPage, leavingPage } from './delivery_pages.ts';

/**
 * The response by which the browser takes something to the client.
 * @param asksBeforeLeaving whether a person decides first, on a page that names the host
 */
export function deliveryResponse(
  { redirectTo, formPost }: BrowserDelivery,
  asksBeforeLeaving = false,
): HttpResponse {
  if (asksBeforeLeaving) return leavingPage({ redirectTo, ...(formPost !== undefined && { formPost }) });
  if (formPost !== undefined) return formPostPage(redirectTo, formPost);
  return { status: 303, headers: { 'cache-control': 'no-store', location: redirectTo }, body: '' };
}
