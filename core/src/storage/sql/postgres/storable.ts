/** Whether PostgreSQL can hold a text at all: what it cannot hold is not there. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
