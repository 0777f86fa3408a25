import type { Flow } from '../steps/routes.ts';
import { type FirstStepNeeds, showLogin, submitLogin } from './first_step.ts';
import { type SecondStepNeeds, showSecond, submitSecond } from './second_step.ts';

export type SignInNeeds = FirstStepNeeds & SecondStepNeeds;

/** `/login` and `/login/second`: a user signs in, for an application or for a page of this server. */
export function signInFlow(needs: SignInNeeds): Flow {
  return {
    mount(routes) {
      routes.form('/login', showLogin(needs), submitLogin(needs));
      routes.form('/login/second', showSecond(needs), submitSecond(needs));
    },
  };
}
