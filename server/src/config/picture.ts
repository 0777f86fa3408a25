/** A logo as the server sends it to browsers. */
export interface Picture {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Image types that every browser displays, by file extension. */
export const PICTURE_TYPES: ReadonlyMap<string, string> = new Map([
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.webp', 'image/webp'],
  ['.gif', 'image/gif'],
]);

/** Whether a picture consists of pixels. SVG does not: opened directly, it is a document with text and links. */
export function isRasterType(type: string): boolean {
  return type !== 'image/svg+xml' && [...PICTURE_TYPES.values()].includes(type);
}
