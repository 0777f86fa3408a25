// Who becomes an administrator, and who no longer is one: the console asks first, and everything that does it says so.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { DE } from '../src/texts/texts.ts';
import { type Browser, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';

let set: Awaited<ReturnType<typeof startConsole>>;
let browser: Browser;

before(async () => {
  set = await startConsole();
  await set.addUser('alice', ['admins']);
  browser = await set.browserOf('alice');
});
after(() => set.close());

const groupsOf = async (subject: string) => (await set.instance.people.bySubject(subject))?.groups ?? [];
const at = (path: string) => browser.get(`${set.url}/console/${path}`);
const confirmed = { confirmed: 'yes' };

describe('the group of administrators', () => {
  test('on the page of a user, it asks before the user is added or removed', async () => {
    const { subject } = await set.addUser('bea');
    const join = async (group: string) =>
      browser.submit(await at(`users?sub=${subject}&ask=join`), { group, do: 'join' });
    for (const typed of ['admins', 'ADMINS']) {
      const question = await join(typed);
      assert.match(
        question.html,
        /<h1>Make bea an administrator\?<\/h1>[\s\S]*do everything in this console/,
      );
      assert.match(question.html, /id="console-yes"[^>]*>Make administrator</);
      assert.deepEqual(await groupsOf(subject), [], typed);
    }
    const added = await browser.submit(await join('admins'), { do: 'join', ...confirmed });
    assert.match(unescaped(added.html), /class="caution"[\s\S]*bea is now an administrator/);
    assert.deepEqual(await groupsOf(subject), ['admins']);
    const leaving = await at(`users?sub=${subject}&group=admins&ask=leave`);
    assert.match(leaving.html, /<h1>Remove bea from the administrators\?<\/h1>/);
    assert.match(leaving.html, /id="console-yes"[^>]*>Remove administrator</);
    const left = await browser.submit(leaving, { do: 'leave' });
    assert.match(unescaped(left.html), /bea is no longer an administrator/);
    assert.deepEqual(await groupsOf(subject), []);
  });

  test('on its own page, it asks before a member is added or removed', async () => {
    const { subject } = await set.addUser('cid');
    const join = async (username: string) =>
      browser.submit(await at('groups?name=admins&ask=join'), { username, do: 'join' });
    assert.match((await join('nobody')).html, /no user with this name/i);
    assert.match((await join('alice')).html, /Nothing has changed\./);
    const question = await join('Cid');
    assert.match(question.html, /<h1>Make cid an administrator\?<\/h1>/);
    assert.deepEqual(await groupsOf(subject), []);
    await browser.submit(question, { do: 'join', ...confirmed });
    assert.deepEqual(await groupsOf(subject), ['admins']);
    const leaving = await at(`groups?name=admins&sub=${subject}&ask=leave`);
    assert.match(leaving.html, /<h1>Remove cid from the administrators\?<\/h1>/);
  });

  test('a new user who is to be an administrator is added after a question only', async () => {
    const fields = { username: 'dot', password: 'a long enough phrase', groups: 'admins', do: 'add' };
    const question = await browser.submit(await at('users?ask=add'), fields);
    assert.match(question.html, /<h1>Add dot as an administrator\?<\/h1>/);
    assert.equal(await set.instance.people.byName('dot'), undefined);
    assert.ok(!question.html.includes(fields.password), 'no page contains the password');
    const unsealed = { do: 'add', ...confirmed, password: 'another long phrase' };
    assert.match((await browser.submit(question, unsealed)).html, /This took too long\. Type it again/);
    const added = await browser.submit(question, { do: 'add', ...confirmed });
    assert.match(unescaped(added.html), /dot is now an administrator/);
    assert.deepEqual((await set.instance.people.byName('dot'))?.groups, ['admins']);
    const other = { ...fields, username: 'eli', groups: '' };
    assert.match((await browser.submit(await at('users?ask=add'), other)).html, /The user is added\./);
  });

  test('other groups get members without a question', async () => {
    const { subject } = await set.addUser('flo');
    await set.instance.groups.add({ name: 'staff', description: '' }, Date.now());
    const form = await at(`users?sub=${subject}&ask=join`);
    const added = await browser.submit(form, { group: 'staff', do: 'join' });
    assert.match(added.html, /The user is now a member\./);
    assert.doesNotMatch(added.html, /an administrator/);
    assert.doesNotMatch((await at(`users?sub=${subject}&group=staff&ask=leave`)).html, /administrator/i);
  });

  test('for several users, no group is chosen before, and the question names the rights', async () => {
    const subjects = [(await set.addUser('gus')).subject, (await set.addUser('hal')).subject];
    const picked = subjects.map((subject) => `&picked=${subject}`).join('');
    const choice = await at(`users?ask=bulk&do=join${picked}`);
    assert.match(choice.html, /<select id="group" name="group" required><option value="">Choose a group</);
    const asked = await at(`users?ask=bulk&do=join${picked}&group=admins`);
    assert.match(asked.html, /<h1>Give 2 users administrator rights\?<\/h1>/);
    assert.match(
      asked.html,
      /gus[\s\S]*Becomes an administrator\.[\s\S]*hal[\s\S]*Becomes an administrator\./,
    );
    assert.match(asked.html, /id="console-yes"[^>]*>Give administrator rights</);
    for (const subject of subjects) await set.instance.groups.addMember({ subject, group: 'admins' }, 0);
    const leaving = await at(`users?ask=bulk&do=leave${picked}&group=admins`);
    assert.match(leaving.html, /<h1>Take administrator rights from 2 users\?<\/h1>/);
    assert.match(leaving.html, /Is no longer an administrator\./);
    const others = await at(`users?ask=bulk&do=leave${picked}&group=staff`);
    assert.doesNotMatch(others.html, /administrator rights/);
  });

  test('operations warn who becomes an administrator and who no longer is one', async () => {
    const { subject: sub } = await set.addUser('ida');
    const calls = localCalls({ ...set.instance.actingAs('cli'), configuration: set.configuration });
    const warned = async (operation: 'addMember' | 'removeMember', group: string) => {
      const { warnings } = await call(calls, operation, { group, sub });
      return JSON.parse(JSON.stringify(warnings)).map((text: string) => text.split(',')[0]);
    };
    assert.deepEqual(await warned('addMember', 'staff'), []);
    assert.deepEqual(await warned('addMember', 'admins'), ['ida is now an administrator']);
    assert.deepEqual(await warned('addMember', 'admins'), [], 'nothing changed');
    assert.deepEqual(await warned('removeMember', 'admins'), ['ida is no longer an administrator']);
    assert.deepEqual(await warned('removeMember', 'staff'), []);
  });
});

test('in German, the questions name the user who becomes an administrator', () => {
  const { groups, users } = DE.console.acts;
  assert.equal(groups.join_administrators.title('admins', 'bea'), 'bea zum Administrator machen?');
  assert.equal(users.join_administrators.title('bea'), 'bea zum Administrator machen?');
  assert.equal(users.add_administrator.title('', 'bea'), 'bea als Administrator hinzufügen?');
});
