/** The content of a peer: tokens of clients, of users for UserInfo, tokens to refresh, codes, and revoked tokens. */
export const PEER_TOKEN_KINDS = ['machine', 'person', 'refresh', 'code', 'revoked'] as const;
export type PeerTokenKind = (typeof PEER_TOKEN_KINDS)[number];
export type PeerOrder = Readonly<Partial<Record<PeerTokenKind, number>>>;

export const STATE_FILE = 'state.jsonl';
