import { Formats } from '../formats/formats.ts';

export const FORMATS = new Formats('de', { justNow: 'gerade eben', on: (date) => `am ${date}` });
