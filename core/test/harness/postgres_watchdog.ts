/**
 * Outlives the process that started it, however that ended, and removes the folder that it was told of, with the
 * servers in it. The folder comes by the input, not as an argument: it must not be taken for one of those servers.
 */
import { text } from 'node:stream/consumers';
import { removeWithServers } from './postgres_remains.ts';

const folder = (await text(process.stdin)).trim();
if (folder !== '') await removeWithServers(folder);
