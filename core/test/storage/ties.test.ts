import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORES } from '../harness/stores.ts';
import { newClient, newToken } from './samples.ts';

for (const store of STORES) {
  for (const tie of [{ pairId: 'pair' }, { familyId: 'family' }]) {
    test(`${store.name} refuses to store a token with ${Object.keys(tie)} but without a grant`, async (t) => {
      const { storage, dispose } = await store.open('https://issuer.example', Date.now);
      t.after(dispose);
      await storage.clients.add(newClient('app'));
      const [free, tied] = [newToken('app'), newToken('app', tie)];
      await assert.rejects(async () => storage.tokens.issue([free, tied], {}), TypeError);
      for (const { id } of [free, tied]) assert.equal(await storage.tokens.getByAccessToken(id), undefined);
      assert.equal(await storage.tokens.issue([{ ...tied, grantId: 'grant' }], {}), 'issued');
    });
  }
}

for (const store of STORES) {
  for (const tie of [{ pairId: 'pair' }, { familyId: 'family' }]) {
    test(`${store.name} refuses to store tokens with one ${Object.keys(tie)} and two grants`, async (t) => {
      const { storage, dispose } = await store.open('https://issuer.example', Date.now);
      t.after(dispose);
      await storage.clients.add(newClient('app'));
      const tokens = ['one', 'another'].map((grantId) => newToken('app', { ...tie, grantId }));
      await assert.rejects(async () => storage.tokens.issue(tokens, {}), TypeError);
      for (const { id } of tokens) assert.equal(await storage.tokens.getByAccessToken(id), undefined);
    });
  }
}

for (const store of STORES) {
  test(`${store.name} refuses what rests upon a refresh token and names another grant, and leaves it as it was`, async (t) => {
    const { storage, dispose } = await store.open('https://issuer.example', Date.now);
    t.after(dispose);
    await storage.clients.add(newClient('app'));
    const ties = { subject: 'subject', grantId: 'grant', familyId: 'family' };
    const first = newToken('app', { ...ties, kind: 'refresh_token' });
    assert.equal(await storage.tokens.issue([first], {}), 'issued');
    const next = newToken('app', { ...ties, kind: 'refresh_token' });
    for (const other of [{ grantId: 'another' }, { subject: 'another' }, { sessionId: 'another' }]) {
      const strange = newToken('app', { ...ties, ...other });
      await assert.rejects(async () => storage.tokens.rotate({ ...first }, next, [next, strange]), TypeError);
    }
    assert.equal(await storage.tokens.rotate({ ...first }, next, [next]), 'issued');
  });
}
