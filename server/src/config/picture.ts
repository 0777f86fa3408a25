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

/** Whether a picture is one of pixels. SVG is not: opened by itself it is a document with text and links. */
export function isRasterType(type: string): boolean {
  return type !== 'image/svg+xml' && [...PICTURE_TYPES.values()].includes(type);
}
