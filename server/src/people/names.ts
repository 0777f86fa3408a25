const LONGEST = 128;

/** Whether a text can be a name to sign in with: visible, and without space around it. */
export function isName(text: string): boolean {
  return text !== '' && text.length <= LONGEST && text.trim() === text && !/\p{C}/u.test(text);
}
