import type { JwtVerifier, Storage } from '@grantd/core';

export interface Credentials {
  readonly id: string;
  readonly secret: string;
}

/** A server of another library, with its own tables, clients and a user. */
export interface OtherServer extends AsyncDisposable {
  readonly issuer: string;
  /** The storage over its tables, for grantd. */
  readonly storage: Storage;
  /** Absent if all its tokens are opaque. */
  readonly jwtService?: JwtVerifier;
  /** Whether its JWTs have `typ: JWT`. */
  readonly hasGenericJwts?: true;
  /** The client of its tokens, and another one. */
  readonly app: Credentials;
  readonly other: Credentials;
  /** The server's identifier of the user. */
  readonly subject: string;
  readonly scope: string;
  /** Issues tokens for the user. */
  issue(): Promise<IssuedTokens>;
  /** Whether an API of the library accepts the access token. */
  accepts(access: string): Promise<boolean>;
  /** Exchanges the refresh token, if the library accepts it. */
  refresh(refresh: string): Promise<IssuedTokens | undefined>;
  /** Revokes a token as the library does it. */
  revoke(token: string): Promise<unknown>;
}

export interface IssuedTokens {
  readonly access: string;
  readonly refresh: string;
  readonly idToken?: string;
}

/** The tokens in the response of a token endpoint. */
export function issuedTokens(body: object): IssuedTokens {
  const { access_token, refresh_token, id_token }: Readonly<Record<string, unknown>> = { ...body };
  if (typeof access_token !== 'string' || typeof refresh_token !== 'string')
    throw new TypeError(`no tokens in ${JSON.stringify(body)}`);
  return {
    access: access_token,
    refresh: refresh_token,
    ...(typeof id_token === 'string' && { idToken: id_token }),
  };
}

/** The cookies of a browser. */
export class Cookies {
  readonly #values = new Map<string, string>();

  keep(response: Response): void {
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';');
      const [name = '', ...value] = pair.split('=');
      this.#values.set(name, value.join('='));
    }
  }

  get header(): string {
    return [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ');
  }
}
