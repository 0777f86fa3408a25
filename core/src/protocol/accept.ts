/**
 * How much an `Accept` header wants a media type that it names: from 0, not at all, to 1 (RFC 9110 §12.5.1). Wildcards
 * name nothing.
 */
export function qualityOf(mediaType: string, accept: string | undefined): number {
  for (const range of accept?.split(',') ?? []) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (name !== mediaType) continue;
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
    return weight === undefined ? 1 : Number(/^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(weight)?.[0] ?? 0);
  }
  return 0;
}
