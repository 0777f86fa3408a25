import { html } from 'hono/html';
import { textsIn } from '../../texts/texts.ts';
import { operatorMark } from '../drawing/brand.ts';
import { problemBox, textField } from '../drawing/fields.ts';
import type { FormShown, Page, PageSetting } from '../drawing/layout.ts';

/** Why a code was not accepted. */
export interface DeviceProblem {
  readonly reason: 'device_code_wrong' | 'too_many_device_codes';
  readonly secondsToWait?: number;
}

interface DeviceView extends FormShown {
  readonly typed: string;
  readonly problem?: DeviceProblem;
}

/** `/device`: field `user_code`, button `device-submit`. */
export function devicePage({ action, formToken, typed, problem }: DeviceView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { devices, signIn, formats } = texts;
  const text =
    problem?.secondsToWait === undefined
      ? devices.wrong
      : `${signIn.problems.too_many_attempts} ${signIn.tryAgainIn(formats.duration(problem.secondsToWait))}`;
  return {
    ...setting,
    title: problem === undefined ? devices.title : texts.problemTitle(devices.title),
    namesOperator: true,
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${devices.title}</h1>
<p class="lead">${typed === '' || problem !== undefined ? devices.lead : devices.compare}</p>
</header>
${problem === undefined ? '' : problemBox(text)}
<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
${textField({ id: 'user-code', name: 'user_code', label: devices.code, autocomplete: 'off', value: typed, hint: devices.check, isWrong: problem?.reason === 'device_code_wrong', isFocused: true, isCode: true })}
<button id="device-submit" type="submit" class="primary">${devices.submit}</button>
</form>`,
  };
}

/** `/device/approved` and `/device/denied`. */
export function deviceDonePage(outcome: 'approved' | 'denied', setting: PageSetting): Page {
  const { title, text } = textsIn(setting.language).devices[outcome];
  return {
    ...setting,
    title,
    namesOperator: true,
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${title}</h1>
<p class="lead">${text}</p>
</header>`,
  };
}
