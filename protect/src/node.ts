/** `protect` for Express, Connect and `node:http`. */
import { headersWithEveryAuthorization, type NodeHeaders } from '@grantd/core/internal/http/http';
import {
  hostMetadata,
  hostProtection,
  type NodeProtectionOptions,
  type NodeResponse,
  sendByNode,
  setByNode,
} from './protection.ts';
import { attachedToken, type VerifiedAccessToken } from './verified_access_token.ts';

export { tlsCertificateOf } from '@grantd/core/internal/http/http';
export type { NodeProtectionOptions, NodeResponse, PresentedCertificate } from './protection.ts';

/** The members of the request that are used. The token is stored in `token`. */
export interface NodeRequest extends NodeHeaders {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** The URL before a router removed its own path from it. */
  readonly originalUrl?: string | undefined;
  readonly body?: unknown;
}

/**
 * Returns middleware that passes a request on if its token permits it, and otherwise answers it.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use('/api', protect({ tokens, scopes: ['read'] }));
 */
export function protect(
  options: NodeProtectionOptions,
): (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void) => Promise<void> {
  const { protection, certificateOf } = hostProtection(options);
  return async (request, response, next) => {
    const { method = 'GET', url = '/', originalUrl = url, body } = request;
    const headers = headersWithEveryAuthorization(request);
    try {
      const verdict = await protection.judge({
        method,
        url: originalUrl,
        headers,
        body,
        clientCertificate: certificateOf(request),
      });
      if ('answer' in verdict) return sendByNode(request, response, verdict.answer);
      setByNode(response, verdict.headers);
      Object.assign(request, { token: verdict.token });
    } catch (error) {
      // The framework decides what to do if a response has already been sent.
      return next(error);
    }
    next();
  };
}

/**
 * Returns middleware that serves the API's metadata (RFC 9728), and passes on all other requests. Use it at the root, before
 * `protect`.
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * app.use(metadata({ tokens, scopes: ['read'] }));
 */
export function metadata(
  options: NodeProtectionOptions,
): (request: NodeRequest, response: NodeResponse, next: () => void) => void {
  const served = hostMetadata(options);
  return (request, response, next) => {
    const { method = 'GET', url = '/', originalUrl = url } = request;
    const answer = served.metadata({ method, url: originalUrl });
    if (answer === undefined) next();
    else sendByNode(request, response, answer);
  };
}

/**
 * Returns the verified token of a protected request: `request.token`, with its type.
 * @throws {TypeError} the request was not protected
 */
export function tokenOf(request: object): VerifiedAccessToken {
  return attachedToken('token' in request ? request.token : undefined);
}
