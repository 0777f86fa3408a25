/** For `drizzle-kit generate`. `drizzle()` in the host needs the same `casing`. */
export default {
  dialect: 'postgresql',
  schema: './schema.ts',
  out: './migrations',
  casing: 'snake_case',
};
