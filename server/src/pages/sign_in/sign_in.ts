import type { Flow } from '../steps/routes.ts';
import { type LoginNeeds, showLogin, submitLogin } from './login.ts';
import { type SecondStepNeeds, showSecond, submitSecond } from './second_step.ts';

export type SignInNeeds = LoginNeeds & SecondStepNeeds;

/** `/login` and `/login/second`: a user signs in, for an application or for a page of this server. */
export function signInFlow(needs: SignInNeeds): Flow {
  return {
    mount(routes) {
      routes.form('/login', showLogin(needs), submitLogin(needs));
      routes.form('/login/second', showSecond(needs), submitSecond(needs));
    },
  };
}
