/* An API as its developer would write it, which checks tokens in both ways by the runtime's own fetch. */
import { AccessTokenIntrospector, AccessTokenVerifier } from '@grantd/protect';
import { protect } from '@grantd/protect/fetch';

export function protectedApi(issuer) {
  const audience = 'https://api.example';
  const credentials = { clientId: 'api', clientSecret: 'the secret of api' };
  let passedMs = 0;
  const clock = () => Date.now() + passedMs;
  const ways = {
    '/verified': new AccessTokenVerifier({ issuer, audience, timeoutMs: 1500, clock }),
    '/introspected': new AccessTokenIntrospector({ issuer, audience, credentials, timeoutMs: 1500, clock }),
  };
  const answers = new Map(
    Object.entries(ways).map(([path, tokens]) => [
      path,
      protect({ tokens })((_request, { sub }) => new Response(sub)),
    ]),
  );
  // Longer than what failed is left alone for.
  answers.set('/later', () => {
    passedMs += 11_000;
    return new Response();
  });
  return (request) => answers.get(new URL(request.url).pathname)(request);
}

/** What many requests at once are answered, and one of each kind whose authorization server redirects. */
export async function answersOf({ issuer, redirecting, token }) {
  const headers = { authorization: `Bearer ${token}` };
  const asking = (api) => async (path) => {
    const response = await api(new Request(`https://api.example${path}`, { headers }));
    return `${response.status} ${response.status === 200 ? await response.text() : ''}`;
  };
  const good = asking(protectedApi(issuer));
  const other = asking(protectedApi(redirecting));
  const many = (path) => Promise.all(Array.from({ length: 20 }, () => good(path)));
  return {
    verified: [...new Set(await many('/verified'))],
    introspected: [...new Set(await many('/introspected'))],
    unfollowed: (await fetch(`${redirecting}/any`, { redirect: 'manual' })).status,
    redirected: [await other('/verified'), await other('/introspected')],
  };
}
