// Starts one MCP server inside the sandbox. Run as:
//   node run.mjs LIBRARY PLACE strict|lax DIRECTORY PROGRAM ARGUMENT…
//
// LIBRARY is the sandbox runtime's module, DIRECTORY where the server starts. PLACE is a private directory with
// the runtime's `settings.json` and a file `report`, where goes what is seen, one JSON object a line: what a
// probe in the same sandbox could not do (`observed`), what the server tried and was refused (`violation`), or
// why nothing was started (`refused`). The server has our standard streams; nothing is written to them here.

import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [library, place, mode, directory, ...command] = process.argv.slice(2);
const MOST_VIOLATIONS = 1000;
const NOT_STARTED = 126;
const LAST_REPORTS_MS = 100;
const inPlace = name => join(place, name);
const report = line => appendFileSync(inPlace('report'), JSON.stringify(line) + '\n');
const quoted = text => `'${text.replaceAll("'", `'\\''`)}'`;
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child?.kill(signal));

const { SandboxManager, SandboxRuntimeConfigSchema } = await import(pathToFileURL(library).href);
try {
  const settings = JSON.parse(readFileSync(inPlace('settings.json'), 'utf8'));
  await SandboxManager.initialize(SandboxRuntimeConfigSchema.parse(settings), undefined, true);
  const held = await probe();
  report({ observed: held });
  if (mode === 'strict' && !Object.values(held).every(Boolean)) throw new Error('a probe was not held');
  watch();
  child = await start(`cd -- ${quoted(directory)} && exec ${command.map(quoted).join(' ')}`, 'inherit');
  const status = await ended(child);
  await pause(LAST_REPORTS_MS); // they arrive over a socket, after the server has ended
  SandboxManager.cleanupAfterCommand();
  await SandboxManager.reset();
  process.exit(status);
} catch (error) {
  report({ refused: String(error?.message ?? error) });
  process.exit(NOT_STARTED);
}

async function start(inside, stdio) {
  const wrapped = await SandboxManager.wrapWithSandbox(inside, '/bin/bash');
  return spawn('/bin/bash', ['-c', wrapped], { stdio });
}

function ended(started) {
  return new Promise((resolve, reject) => {
    started.on('error', reject);
    started.on('close', (code, signal) => resolve(code ?? (signal === 'SIGTERM' ? 143 : 137)));
  });
}

// Each thing is tried in there; what came of it is looked at from out here, as far as it can be.
async function probe() {
  writeFileSync(inPlace('outside'), '');
  let arrived = false;
  const listener = createServer(socket => { arrived = true; socket.destroy(); });
  await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve));
  const tries = [
    `echo written > ${quoted(inPlace('outside'))}`,
    `cat ${quoted(inPlace('secret'))}`,
    `: > /dev/tcp/127.0.0.1/${listener.address().port}`,
    ': >> /proc/sys/kernel/core_pattern && echo system',
  ];
  const lines = tries.map(one => `( ${one} );`).join(' ');
  const run = await start(`exec 2> /dev/null; ${lines} echo; echo done`, ['ignore', 'pipe', 'ignore']);
  let said = '';
  run.stdout.on('data', data => { said += data; });
  await ended(run);
  listener.close();
  SandboxManager.cleanupAfterCommand();
  if (!said.endsWith('\ndone\n')) throw new Error('the probe did not run inside the sandbox');
  return {
    write: readFileSync(inPlace('outside'), 'utf8') === '',
    read: !said.includes(readFileSync(inPlace('secret'), 'utf8')),
    network: !arrived,
    system: !said.includes('system'),
  };
}

function watch() {
  const told = new Set();
  const store = SandboxManager.getSandboxViolationStore();
  const before = store.getTotalCount(); // the probe's own
  store.subscribe(all => {
    for (const { line } of all.slice(Math.max(0, all.length - (store.getTotalCount() - before)))) {
      if (told.has(line) || told.size >= MOST_VIOLATIONS) continue;
      told.add(line);
      report({ violation: line });
    }
  });
}
