import type { HttpResponse } from '../protocol/http.ts';
import type { BrowserDelivery } from '../protocol/oauth_error.ts';
import { formPostPage } from './authorization/form_post.ts';

/** The response by which the browser takes something to the client. */
export function deliveryResponse({ redirectTo, formPost }: BrowserDelivery): HttpResponse {
  if (formPost !== undefined) return formPostPage(redirectTo, formPost);
  return { status: 303, headers: { 'cache-control': 'no-store', location: redirectTo }, body: '' };
}
