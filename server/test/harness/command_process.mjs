// Runs commands of the program one after the other, for `commands.ts`.
import { Readable } from 'node:stream';

const { run } = await import(process.argv[2]);
/** The channel to `commands.ts`, and a read of a file, which Node goes on to list after its end. */
const REMAINING = new Set(['PipeWrap', 'FileHandleReadWrap']);
const ownEnvironment = { ...process.env };

process.on('message', async ({ args, folder, environment, input }) => {
  process.chdir(folder);
  setEnvironment(environment);
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from(input ? [input] : []) });
  const [stdout, stderr] = [process.stdout, process.stderr].map(captured);
  const listeners = process.eventNames().flatMap((event) => process.rawListeners(event));
  await run([process.execPath, 'grantd', ...args]);
  // A process ends when nothing keeps it running, so a command that leaves something open does not end here either.
  while (process.getActiveResourcesInfo().some((resource) => !REMAINING.has(resource)))
    await new Promise((resolve) => setTimeout(resolve, 1));
  const { exitCode = 0 } = process;
  process.exitCode = undefined;
  process.stdout.removeAllListeners('error');
  // A server that was refused has prepared for signals, and its log for the exit.
  for (const event of process.eventNames()) {
    for (const listener of process.rawListeners(event)) {
      if (listeners.includes(listener)) continue;
      if (event === 'exit') listener.call(process, exitCode);
      process.removeListener(event, listener);
    }
  }
  setEnvironment(ownEnvironment);
  process.send({ code: exitCode, stdout: stdout(), stderr: stderr() });
});
process.send('ready');

function setEnvironment(environment) {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
}

/** Collects what is written to a stream. The result returns it, and lets the stream write again. */
function captured(stream) {
  const parts = [];
  stream.write = (part, ...others) => {
    parts.push(Buffer.from(part));
    others.find((other) => typeof other === 'function')?.();
    return true;
  };
  return () => {
    delete stream.write;
    return Buffer.concat(parts).toString();
  };
}
