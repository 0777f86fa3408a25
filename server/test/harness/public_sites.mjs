/**
 * For `--import`: the names in `PUBLIC_SITES` (`PORT,NAME,…`) have a public address, behind which a plain HTTP server of
 * the test at that port answers.
 */
import dns, { Resolver } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';

const [port, ...names] = process.env.PUBLIC_SITES.split(',');
const { prototype } = Resolver;
const { resolve4, resolve6 } = prototype;
const { request } = https;

prototype.resolve4 = async function (name) {
  return names.includes(name) ? ['93.184.215.14'] : resolve4.call(this, name);
};
prototype.resolve6 = async function (name) {
  return names.includes(name) ? [] : resolve6.call(this, name);
};
const { lookup } = dns;
dns.lookup = async (name, options) =>
  names.includes(name) ? [{ address: '93.184.215.14', family: 4 }] : lookup(name, options);
https.request = (url, options) => {
  if (!names.includes(url.hostname)) return request(url, options);
  const { method, headers, signal } = options;
  const target = { host: '127.0.0.1', port, path: url.pathname + url.search };
  return http.request({ ...target, method, signal, headers: { ...headers, host: url.host } });
};
syncBuiltinESMExports();
