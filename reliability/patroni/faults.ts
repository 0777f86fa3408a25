import { setTimeout as pause } from 'node:timers/promises';
import type { Application } from './application.ts';
import type { Roles } from './database.ts';

/** The machines of a round, by what they are when it begins. */
export interface Stage extends Roles {
  readonly applications: readonly [Application, Application];
}

/** An accident. */
export interface Fault {
  readonly name: string;
  /** Whether another node must become the primary. */
  readonly failsOver: boolean;
  /** Servers that it keeps from the primary by itself. They must serve again after `heal`. Default: none. */
  readonly cuts?: (stage: Stage) => readonly Application[];
  /** Resolves when everything has happened. */
  strike(stage: Stage): Promise<void> | void;
  /** Undoes it on every machine. */
  heal(stage: Stage): Promise<void> | void;
}

/** When a second accident happens: late in the 20 seconds after which Patroni gives up a silent primary. */
const LATE_MS = 14_000;
const SHORTLY_MS = 8_000;

const killedPrimary = {
  failsOver: true,
  strike: ({ primary }: Stage) => primary.host.kill(),
  heal: ({ primary }: Stage) => primary.start(),
};

export const FAULTS: readonly Fault[] = [
  { name: 'the primary is killed', ...killedPrimary },
  {
    name: 'the primary is frozen, and continues after the failover',
    failsOver: true,
    strike: ({ primary }) => primary.host.freeze(),
    heal: ({ primary }) => primary.host.thaw(),
  },
  {
    name: 'the primary is cut off from every machine',
    failsOver: true,
    strike({ primary }) {
      primary.host.becomeDeaf();
      primary.host.becomeMute();
    },
    heal: ({ primary }) => primary.host.reconnect(),
  },
  {
    name: 'the primary receives nothing, but what it sends arrives',
    failsOver: true,
    strike: ({ primary }) => primary.host.becomeDeaf(),
    heal: ({ primary }) => primary.host.reconnect(),
  },
  {
    name: 'the primary sends nothing, but receives everything',
    failsOver: true,
    strike: ({ primary }) => primary.host.becomeMute(),
    heal: ({ primary }) => primary.host.reconnect(),
  },
  {
    name: 'the primary is cut off from the other nodes, and both servers still reach it',
    failsOver: true,
    strike: ({ primary, synchronous, other }) => primary.host.cutFrom([synchronous.host, other.host]),
    heal: ({ primary }) => primary.host.reconnect(),
  },
  {
    name: 'the same, and one server reaches only the previous primary',
    failsOver: true,
    cuts: ({ applications: [, isolated] }) => [isolated],
    strike({ primary, synchronous, other, applications: [, isolated] }) {
      primary.host.cutFrom([synchronous.host, other.host]);
      isolated.host.cutFrom([synchronous.host, other.host]);
    },
    heal({ primary, applications: [, isolated] }) {
      primary.host.reconnect();
      isolated.host.reconnect();
    },
  },
  {
    name: 'Patroni on the primary is frozen, PostgreSQL serves on, and one proxy still sends connections there',
    failsOver: true,
    cuts: ({ applications: [, misled] }) => [misled],
    async strike({ primary, applications: [, misled] }) {
      await misled.believe(primary.name, true);
      await primary.host.freeze((command) => command.includes('/patroni'));
    },
    async heal({ primary, applications: [, misled] }) {
      primary.host.thaw();
      await misled.believe(primary.name, false);
    },
  },
  {
    name: 'the synchronous standby is killed',
    failsOver: false,
    strike: ({ synchronous }) => synchronous.host.kill(),
    heal: ({ synchronous }) => synchronous.start(),
  },
  {
    name: 'the synchronous standby is frozen',
    failsOver: false,
    strike: ({ synchronous }) => synchronous.host.freeze(),
    heal: ({ synchronous }) => synchronous.host.thaw(),
  },
  {
    name: 'the synchronous standby sends nothing, but receives everything',
    failsOver: false,
    strike: ({ synchronous }) => synchronous.host.becomeMute(),
    heal: ({ synchronous }) => synchronous.host.reconnect(),
  },
  {
    name: 'the other standby is killed',
    failsOver: false,
    strike: ({ other }) => other.host.kill(),
    heal: ({ other }) => other.start(),
  },
  {
    name: 'the primary is killed, and during the failover one server is frozen',
    ...killedPrimary,
    cuts: ({ applications: [frozen] }) => [frozen],
    async strike(stage) {
      await stage.primary.host.kill();
      await pause(LATE_MS);
      stage.applications[0].freeze();
    },
    heal(stage) {
      stage.applications[0].thaw();
      stage.primary.start();
    },
  },
  {
    name: 'the primary is frozen, and continues when its standby is about to take over',
    failsOver: false,
    async strike({ primary }) {
      await primary.host.freeze();
      await pause(LATE_MS + 4000);
      primary.host.thaw();
    },
    heal() {},
  },
  {
    name: 'the primary is killed, and during the failover its standby is cut off for eight seconds',
    ...killedPrimary,
    async strike({ primary, synchronous }) {
      await primary.host.kill();
      await pause(LATE_MS);
      synchronous.host.becomeDeaf();
      await pause(SHORTLY_MS);
      synchronous.host.reconnect();
    },
  },
];
