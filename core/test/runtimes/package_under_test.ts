import { dirname, join } from 'node:path';

/** The folder of the package `@grantd/core` that the suites run with on each runtime. */
export const PACKAGE_UNDER_TEST = dirname(dirname(import.meta.dirname));

/** Where what it depends on is installed, and what the suites themselves import. */
export const INSTALLED = join(dirname(PACKAGE_UNDER_TEST), 'node_modules');
