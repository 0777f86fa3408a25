/**
 * Waits for a promise, but not for ever.
 * @param ms milliseconds
 * @param omission what PostgreSQL failed to do, for the error
 * @throws Error once the time has passed; what comes of the promise afterwards is of no interest
 */
export async function within<T>(ms: number, promise: Promise<T>, omission: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`PostgreSQL ${omission} within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}
