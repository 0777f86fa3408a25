/** The URL of a path below the issuer; the path has a leading slash. */
export function endpointUrl(issuer: string, path: string): string {
  return issuer.replace(/\/$/, '') + path;
}
