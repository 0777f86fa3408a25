import { text } from '@grantd/core/options';

export const FILE = text('FILE', 'a file path', (path) => path.trim() !== '');
