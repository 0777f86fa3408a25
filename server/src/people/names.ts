const LONGEST = 128;

/** Whether a text can be a name to sign in with: visible, and without space around it. */
export function isName(text: string): boolean {
  const name = nameAsKept(text);
  return name !== '' && name.length <= LONGEST && name.trim() === name && !/\p{C}/u.test(name);
}

/** Two ways of typing the same characters are the same name. */
export function nameAsKept(text: string): string {
  return text.normalize('NFC');
}
