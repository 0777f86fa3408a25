import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { grantdPrints } from './commands.ts';

const ROOT = dirname(dirname(dirname(import.meta.dirname)));
const LONGEST_START_MS = 20_000;

/** Commands of a page that add a client or a user. */
const ADDITIONS = /^ *(?:echo '(.*)' \| )?npx grantd ((?:client|user) add .*)$/gm;

/** The pages of docs/tutorials, with their commands and files unchanged except for addresses. */
export class Tutorials {
  readonly folder: string;
  /** Secrets that commands have printed, by client. */
  readonly secrets = new Map<string, string>();
  readonly #addresses: ReadonlyMap<string, string>;
  readonly #running: ChildProcess[] = [];

  /**
   * @param folder of the reader
   * @param addresses in the pages, and those of this run
   */
  constructor(folder: string, addresses: ReadonlyMap<string, string>) {
    this.folder = folder;
    this.#addresses = addresses;
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  }

  /** A page with the addresses of this run. */
  read(page: string): string {
    const text = readFileSync(join(ROOT, 'docs', 'tutorials', `${page}.md`), 'utf8');
    return this.#moved(text);
  }

  /**
   * Runs the commands of a page that add a client or a user.
   * @param names of those to add; default: all
   */
  async add(
    page: string,
    folder: string,
    {
      environment = {},
      names,
    }: { environment?: Readonly<Record<string, string>>; names?: readonly string[] } = {},
  ): Promise<void> {
    for (const [, input = '', words = ''] of this.read(page).matchAll(ADDITIONS)) {
      const args = words.split(' ');
      const [, , name = ''] = args;
      if (names?.includes(name) === false) continue;
      const printed = await grantdPrints(folder, args, input, environment);
      this.secrets.set(name, printed.split('\n').at(-1) ?? '');
    }
  }

  /** The address of this run for one in the pages. */
  addressOf(printed: string): string {
    return this.#moved(printed);
  }

  secretOf(client: string): string {
    return this.secrets.get(client) ?? assert.fail(`no secret of ${client}`);
  }

  /** Saves a file as a page says. @returns its path */
  save(page: string, name: string): string {
    const text = readFileSync(join(ROOT, 'docs', 'tutorials', `${page}.md`), 'utf8');
    const block = new RegExp(`Save this as \`${name}\`[^\n]*:\n\n( *)\`\`\`\\w+\n(.*?)^ *\`\`\`$`, 'ms');
    const [, indent = '', code] = block.exec(text) ?? [];
    const path = join(this.folder, name);
    const shown = (code ?? assert.fail(`${page}.md has no ${name}`)).replaceAll(
      new RegExp(`^${indent}`, 'gm'),
      '',
    );
    writeFileSync(path, this.#moved(shown));
    return path;
  }

  /** Runs a saved file, or a file of a page. */
  run(
    page: string,
    name: string,
    environment: Readonly<Record<string, string>>,
    stdout: 'pipe' | 'ignore',
  ): ChildProcess {
    const file = this.save(page, name);
    const child = spawn(process.execPath, [file], {
      cwd: this.folder,
      stdio: ['ignore', stdout, 'pipe'],
      env: { PATH: process.env.PATH, ...environment },
    });
    this.#running.push(child);
    let problems = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      problems += text;
    });
    // Applications also report requests that a test makes wrong on purpose.
    child.once('exit', (code) => code !== null && code > 0 && console.error(`${name}: ${problems}`));
    return child;
  }

  /** Starts the server that a page tells to save, in place of an earlier one. @returns its address */
  async serve(
    page: string,
    name: string,
    printedAddress: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    await this.stop();
    const address = this.#moved(printedAddress);
    const child = this.run(page, name, environment, 'ignore');
    const ended = once(child, 'exit').then(() => assert.fail(`${name} ended`));
    ended.catch(() => {});
    const endsAtMs = performance.now() + LONGEST_START_MS;
    while (
      !(await fetch(address).then(
        () => true,
        () => false,
      ))
    ) {
      assert.ok(performance.now() < endsAtMs, `${name} does not listen`);
      await Promise.race([ended, pause(50)]);
    }
    return address;
  }

  /** Ends what runs. */
  async stop(): Promise<void> {
    for (const child of this.#running.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    }
  }

  #moved(text: string): string {
    return [...this.#addresses].reduce((moved, [printed, own]) => {
      const [from, to] = [new URL(printed).port, new URL(own).port];
      return moved.replaceAll(printed, own).replaceAll(`.listen(${from},`, `.listen(${to},`);
    }, text);
  }
}
