/**
 * Outlives the process that started it, and then removes the given folder with the servers in it. The folder comes by
 * standard input instead of an argument, because cleanup recognises servers by their arguments.
 */
import { text } from 'node:stream/consumers';
import { removeWithServers } from './postgres_remains.ts';

const folder = (await text(process.stdin)).trim();
if (folder !== '') await removeWithServers(folder);
