/** Encodes the credentials of a client, as in RFC 6749 §2.3.1. */
export function basic(id: string, secret: string): { readonly authorization: string } {
  return { authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}` };
}

export const SERVICE = basic('my-service', 'its secret');
export const API = basic('my-api', "the API's secret");

export function post(
  url: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams(form), headers, redirect: 'manual' });
}

/** The JSON object in a response. */
export async function json(answer: Response): Promise<Readonly<Record<string, unknown>>> {
  return Object.fromEntries(Object.entries(await answer.json()));
}
