/** Deno hands over no more than a function says that it takes, and of `(request, ...rest)` that is the request alone. */
export function takingTwo<Handler>(handler: Handler): Handler {
  return Object.defineProperty(handler, 'length', { value: 2 });
}
