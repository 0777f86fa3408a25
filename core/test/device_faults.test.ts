// The grant of devices while storage fails. § refers to RFC 8628.
import assert from 'node:assert/strict';
import { DEVICE_GRANT, type DeviceRequest, deviceAuthorization } from '@grantd/core';
import { asResponse, CALLER, OPEN_OUTAGE, runScenes, type Scene, SIGNING } from './harness/fault_scenes.ts';
import { OUTAGE } from './harness/responses.ts';
import { addClient } from './harness/token_endpoint.ts';
import type { World } from './harness/world.ts';

const options = { deviceAuthorization: deviceAuthorization() };

interface Codes {
  readonly device_code: string;
  readonly user_code: string;
}

/** A command line with the codes that it shows and polls with. */
async function withCodes(world: World): Promise<Codes> {
  await addClient(world, { id: 'cli', grantTypes: [DEVICE_GRANT], scopes: ['read'], redirectUris: [] }, true);
  return JSON.parse((await world.post('/device_authorization', { client_id: 'cli' })).body);
}

const poll = (world: World, { device_code }: Codes) =>
  world.post('/token', { client_id: 'cli', grant_type: DEVICE_GRANT, device_code });

async function found({ server }: World, { user_code }: Codes): Promise<DeviceRequest> {
  return (await server.device?.find(user_code)) ?? assert.fail('no device waits');
}

/** The response of a host to a step of its page. */
const stepOf = (step: Promise<unknown> | undefined) => asResponse(Promise.resolve(step).then(() => ({})));

const SCENES: readonly Scene[] = [
  {
    sentence: '§3.1 a request of a device is 503 whenever storage fails, and gets no codes',
    asks: [...CALLER, 'clients.findApis', 'pending.add'],
    status: 200,
    outage: OPEN_OUTAGE,
    options,
    async arrange(world) {
      await withCodes(world);
      return () => world.post('/device_authorization', { client_id: 'cli' });
    },
  },
  {
    sentence: '§3.3 entering a code is 503 whenever storage fails, and never finds it wrong',
    asks: [...CALLER, 'clients.findApis', 'pending.getByOtherId'],
    status: 200,
    outage: OUTAGE,
    options,
    async arrange(world) {
      const codes = await withCodes(world);
      return () => stepOf(found(world, codes));
    },
  },
  {
    sentence: '§3.3 a later page of a request is 503 whenever storage fails, and never too late',
    asks: [...CALLER, 'clients.findApis', 'pending.get'],
    status: 200,
    outage: OUTAGE,
    options,
    async arrange(world) {
      const { parameters } = await found(world, await withCodes(world));
      return () => stepOf(world.server.device?.resume(parameters));
    },
  },
  {
    sentence: '§3.3 an approval is 503 whenever storage fails, and can be given again until it is stored',
    asks: ['authorizationCodes.issue', 'pending.get', 'pending.change'],
    status: 200,
    statusOnceDone: 400,
    outage: OUTAGE,
    options,
    async arrange(world) {
      const request = await found(world, await withCodes(world));
      return () => stepOf(world.server.device?.approve(request, { subject: 'alice' }));
    },
  },
  {
    sentence: '§3.3 a denial is 503 whenever storage fails, and can be given again until it is stored',
    asks: ['pending.get', 'pending.change'],
    status: 200,
    statusOnceDone: 400,
    outage: OUTAGE,
    options,
    async arrange(world) {
      const request = await found(world, await withCodes(world));
      return () => stepOf(world.server.device?.deny(request));
    },
  },
  {
    sentence: '§3.5 a poll is 503 whenever storage fails, which no device takes for a denial',
    asks: [...CALLER, 'pending.get', 'pending.change'],
    status: 400,
    outage: OPEN_OUTAGE,
    options,
    async arrange(world) {
      const codes = await withCodes(world);
      return () => poll(world, codes);
    },
  },
  {
    sentence: '§3.4 a redemption is 503 whenever storage fails, and the approval waits for the next poll',
    asks: [
      ...CALLER,
      ...SIGNING,
      'pending.get',
      'authorizationCodes.get',
      'clients.findApis',
      'authorizationCodes.redeem',
    ],
    status: 200,
    statusOnceDone: 400,
    outage: OPEN_OUTAGE,
    options,
    async arrange(world) {
      const codes = await withCodes(world);
      await world.server.device?.approve(await found(world, codes), { subject: 'alice' });
      return () => poll(world, codes);
    },
  },
];

runScenes(SCENES);
