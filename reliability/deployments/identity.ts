/** Whoever serves: the servers of one cluster listen elsewhere and name this one issuer. */
export const ISSUER = 'https://login.example';

export const SECRET = 'the server secret of a load that nobody else uses';
