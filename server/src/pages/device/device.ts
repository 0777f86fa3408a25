// `/device`: a user enters the code of a device, and is led through sign-in and consent (RFC 8628 §3.3).
import type { DeviceOperations, DeviceRequest } from '@grantd/core';
import type { RequestLog } from '../../log/log.ts';
import type { AttemptLimit, AttemptLimits, Count } from '../../people/sign_in.ts';
import type { FormTokens } from '../browser/forms.ts';
import { bodyOf, type PageContext, requestIdOf, type Visitors } from '../browser/request.ts';
import type { BrowserSession } from '../browser/sessions.ts';
import type { Drawing } from '../drawing/drawing.ts';
import { renderPage } from '../drawing/layout.ts';
import type { AccountVisits } from '../steps/account_visits.ts';
import type { AuthorizationSteps } from '../steps/authorization.ts';
import type { Flow } from '../steps/routes.ts';
import { type DeviceProblem, deviceDonePage, devicePage } from './device_pages.ts';

interface DeviceNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly visits: AccountVisits;
  readonly visitors: Visitors;
  readonly authorization: AuthorizationSteps;
  readonly limits: AttemptLimits;
  readonly devices: Pick<DeviceOperations, 'find'>;
  readonly requestLog: Pick<RequestLog, 'pageEvent'>;
  readonly clock: () => number;
}

const TEN_MINUTES_MS = 10 * 60 * 1000;

/** Attempts with one code, by one user, and from one address. A right code does not count. */
const LIMITS = {
  code: { attempts: 10, windowMs: TEN_MINUTES_MS },
  user: { attempts: 10, windowMs: TEN_MINUTES_MS },
  address: { attempts: 50, windowMs: TEN_MINUTES_MS },
} as const satisfies Record<string, AttemptLimit>;

/** Only signed-in users reach the page, so that each guess counts for a user. */
export function deviceFlow(needs: DeviceNeeds): Flow {
  return {
    mount(routes) {
      routes.form('/device', showDevice(needs), submitDevice(needs));
      for (const outcome of ['approved', 'denied'] as const)
        routes.page(`/device/${outcome}`, (c: PageContext) =>
          renderPage(c, deviceDonePage(outcome, needs.drawing.setting(c))),
        );
    },
  };
}

/** `GET /device`: asks for the code. One in the link is shown, and never used without the user. */
function showDevice(needs: DeviceNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const typed = codeOf(c.req.query('user_code'));
    const session = await openSession(c, needs, typed);
    return session instanceof Response ? session : render(c, needs, session, typed);
  };
}

/** @returns the session, or the way to sign in, which leads back to the page with the code */
function openSession(c: PageContext, { visits }: DeviceNeeds, typed: string) {
  const below = typed === '' ? '' : `?${new URLSearchParams({ user_code: typed })}`;
  return visits.open(c, { page: 'device', below });
}

/** `POST /device`: leads on to sign-in, if the client needs more, and to consent. */
function submitDevice(needs: DeviceNeeds) {
  const submit = needs.visits.form('device', undefined, async (c, session, form) => {
    const typed = codeOf(form.get('user_code') ?? '');
    const counts = countsOf(typed, session, needs.visitors.unitOf(c));
    const reached = await needs.limits.begin(...counts);
    if (reached !== undefined) {
      const { secondsToWait } = reached;
      return refuse(c, needs, session, typed, { reason: 'too_many_device_codes', secondsToWait });
    }
    let isWrong = false;
    let request: DeviceRequest | undefined;
    try {
      request = await needs.devices.find(typed, requestIdOf(c));
      isWrong = request === undefined;
    } finally {
      // An outage is no guess.
      if (!isWrong) await needs.limits.end({ takenBack: counts });
    }
    if (request === undefined) return refuse(c, needs, session, typed, { reason: 'device_code_wrong' });
    const { parameters } = request;
    const browser = needs.formTokens.browserOf(c) ?? '';
    const pending = { kind: 'authorization', parameters, browser, begunAtMs: needs.clock() } as const;
    return needs.authorization.proceed(c, { authorization: request, pending }, session);
  });
  return async (c: PageContext): Promise<Response> => {
    // The session may have ended since the page was shown.
    const typed = codeOf(new URLSearchParams(bodyOf(c)).get('user_code') ?? '');
    const session = await openSession(c, needs, typed);
    return session instanceof Response ? session : submit(c);
  };
}

/** Longer texts are no codes. */
function codeOf(typed = ''): string {
  return typed.trim().slice(0, 40);
}

function countsOf(typed: string, { person }: BrowserSession, address: string): readonly Count[] {
  // No name of a user has a line break.
  const count = (what: keyof typeof LIMITS, place: string) => ({
    ...{ name: `device code of ${what}\n`, place, most: LIMITS[what] },
  });
  const letters = typed
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
  // The user comes first: what is refused for the user must not use up the attempts of everyone at the address.
  return [count('user', person.subject), count('address', address), count('code', letters)];
}

function refuse(
  c: PageContext,
  needs: DeviceNeeds,
  session: BrowserSession,
  typed: string,
  problem: DeviceProblem,
): Promise<Response> {
  const { subject } = session.person;
  const event = { type: 'refused', page: 'device', reason: problem.reason } as const;
  needs.requestLog.pageEvent({ ...event, requestId: requestIdOf(c), subject });
  return render(c, needs, session, typed, problem);
}

async function render(
  c: PageContext,
  { drawing, formTokens }: DeviceNeeds,
  session: BrowserSession,
  typed: string,
  problem?: DeviceProblem,
): Promise<Response> {
  const view = {
    action: `${drawing.basePath}/device`,
    formToken: await formTokens.make(c, 'account', session.id),
    typed,
    ...(problem !== undefined && { problem }),
  };
  const status = problem === undefined ? 200 : problem.secondsToWait === undefined ? 400 : 429;
  if (problem?.secondsToWait !== undefined) c.header('retry-after', String(problem.secondsToWait));
  return renderPage(c, { ...devicePage(view, drawing.setting(c)), status });
}
