import { fileURLToPath } from 'node:url';

/** The folder of the repository, from the copy of this application that is built. */
const root = fileURLToPath(new URL('../..', import.meta.url));

/** They shorten the build, which is not the subject. */
const experimental = {
  turbopackFileSystemCacheForBuild: false,
  turbopackMinify: false,
  turbopackSourceMaps: false,
};

export default { basePath: '/base', outputFileTracingRoot: root, turbopack: { root }, experimental };
