import { BASIC_MODULES, DYNAMIC_MODULES, LOGOUT_MODULES, passed } from './planned_modules.ts';

/** How the clients of a module are created, authenticate, and receive responses. */
export interface Variant {
  readonly registration: 'static_client' | 'dynamic_client';
  readonly authentication: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
  readonly responseMode: 'default' | 'form_post';
}

/** The suite's result for a module. Only a failure prevents certification. */
export type Result = 'passed' | 'warning' | 'skipped' | 'failed';

export interface PlannedModule {
  /** The suite's name. */
  readonly name: string;
  /** What it checks, in short. */
  readonly checks: string;
  readonly result: Exclude<Result, 'passed'> | 'passed';
  /** Present if it does not pass: the suite's remark. */
  readonly because?: string;
  /** How long it waits. The modules that wait longest start first. */
  readonly waitsSeconds?: number;
  /** Present if it differs from that of its plan. */
  readonly variant?: Partial<Variant>;
}

export interface Plan {
  /** The suite's name. */
  readonly name: string;
  /** The profile that it certifies. */
  readonly profile: string;
  readonly variant: Variant;
  /** The selection in the suite's menu. */
  readonly menu: string;
  /** Whether the program fetches from the client's site. */
  readonly fetches: boolean;
  readonly modules: readonly PlannedModule[];
}

const BASIC: Variant = {
  registration: 'dynamic_client',
  authentication: 'client_secret_basic',
  responseMode: 'default',
};

/** Every plan that the program should pass, with every module. */
export const PLANS: readonly Plan[] = [
  {
    name: 'oidcc-config-certification-test-plan',
    profile: 'Config OP',
    variant: { ...BASIC, registration: 'static_client' },
    menu: 'nothing',
    fetches: false,
    modules: [passed('oidcc-discovery-endpoint-verification', 'the discovery document and the keys')],
  },
  {
    name: 'oidcc-basic-certification-test-plan',
    profile: 'Basic OP',
    variant: BASIC,
    menu: '`server_metadata` `discovery`, `client_registration` `dynamic_client`',
    fetches: false,
    modules: BASIC_MODULES,
  },
  {
    name: 'oidcc-formpost-basic-certification-test-plan',
    profile: 'Form Post Basic OP',
    variant: { ...BASIC, responseMode: 'form_post' },
    menu: '`server_metadata` `discovery`, `client_registration` `dynamic_client`',
    fetches: false,
    modules: BASIC_MODULES,
  },
  {
    name: 'oidcc-dynamic-certification-test-plan',
    profile: 'Dynamic OP',
    variant: { ...BASIC, authentication: 'private_key_jwt' },
    menu: '`response_type` `code`',
    fetches: true,
    modules: DYNAMIC_MODULES,
  },
  {
    name: 'oidcc-rp-initiated-logout-certification-test-plan',
    profile: 'RP-Initiated Logout OP',
    variant: { ...BASIC, registration: 'static_client' },
    menu: '`response_type` `code`, `client_registration` as you like',
    fetches: false,
    modules: LOGOUT_MODULES,
  },
  {
    name: 'oidcc-backchannel-rp-initiated-logout-certification-test-plan',
    profile: 'Back-Channel Logout OP',
    variant: { ...BASIC, registration: 'static_client' },
    menu: '`response_type` `code`, `client_registration` as you like',
    fetches: true,
    modules: [
      passed(
        'oidcc-backchannel-logout-discovery-endpoint-verification',
        'back-channel logout with sessions, and end_session_endpoint, are announced',
      ),
      passed(
        'oidcc-backchannel-rp-initiated-logout',
        'the client gets a logout token of this session, and the browser with its state',
      ),
    ],
  },
];

/** Slow modules start first, so that none is left at the end. */
export function longestFirst(modules: readonly PlannedModule[]): readonly PlannedModule[] {
  return modules.toSorted((one, other) => (other.waitsSeconds ?? 0) - (one.waitsSeconds ?? 0));
}
