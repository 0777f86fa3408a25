import { CLIENT_ASSERTIONS } from './client_assertions.ts';
import { CODE_FLOW } from './code_flow.ts';
import { DISCOVERY } from './discovery.ts';
import { LOGOUT } from './logout.ts';
import type { Modules } from './module.ts';
import { REFRESH_TOKENS } from './refresh_tokens.ts';
import { REFUSED_REQUESTS } from './refused_requests.ts';
import { REGISTRATION } from './registration.ts';
import { REQUEST_OBJECTS } from './request_objects.ts';
import { SESSIONS } from './sessions.ts';
import { USER_INFO } from './user_info.ts';

/** Every module, by the suite's name. */
export const MODULES: Modules = {
  ...CODE_FLOW,
  ...USER_INFO,
  ...SESSIONS,
  ...REFUSED_REQUESTS,
  ...REQUEST_OBJECTS,
  ...REFRESH_TOKENS,
  ...DISCOVERY,
  ...REGISTRATION,
  ...CLIENT_ASSERTIONS,
  ...LOGOUT,
};
