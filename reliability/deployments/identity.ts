/** The servers of one cluster listen at different addresses and share this issuer. */
export const ISSUER = 'https://login.example';

export const SECRET = 'the server secret of a load that nobody else uses';
