import { DocumentError } from './fetch_document.ts';

/**
 * What work comes to that asks others. One that does not heed its signal is not waited for either.
 * @param failure the message where it rejects with anything but a `DocumentError`
 * @throws {DocumentError} it takes longer, or fails
 */
export async function withinTime<T>(
  timeoutMs: number,
  failure: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const overtime = new AbortController();
  const end = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    end.reject(new DocumentError('failed', 'there was no answer in time'));
    overtime.abort();
  }, timeoutMs);
  try {
    return await Promise.race([work(overtime.signal), end.promise]);
  } catch (error) {
    if (error instanceof DocumentError) throw error;
    throw new DocumentError('failed', failure, error);
  } finally {
    clearTimeout(timer);
  }
}
