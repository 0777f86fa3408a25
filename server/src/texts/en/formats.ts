import { Formats } from '../formats/formats.ts';

export const FORMATS = new Formats('en-GB', { justNow: 'just now', on: (date) => `on ${date}` });
