// The program within an application, for the application’s own users.
import { embed } from 'grantd';
import { claimsOf, idOf } from '../express_with_users/people.ts';

export const port = Number(process.env.PORT ?? 3000);

export const grantd = await embed({
  issuer: `http://localhost:${port}/auth`,
  database: `sqlite:${process.env.DATABASE ?? 'grantd.db'}`,
  operatorName: 'Example',
  users: {
    async authenticate(username, password) {
      const subject = await idOf(username, password);
      return subject === undefined ? undefined : userOf(subject);
    },
    find: userOf,
  },
});

async function userOf(subject: string) {
  const claims = claimsOf(subject);
  return claims && { subject, username: String(claims.name), claims };
}
