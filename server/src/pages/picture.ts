/** A logo, as a browser gets it. */
export interface Picture {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What every browser draws, by the ends of files' names. */
export const PICTURE_TYPES: ReadonlyMap<string, string> = new Map([
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.webp', 'image/webp'],
  ['.gif', 'image/gif'],
]);

export function isPictureType(type: string): boolean {
  return [...PICTURE_TYPES.values()].includes(type);
}
