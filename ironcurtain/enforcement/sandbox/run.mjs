// Starts one MCP server inside the sandbox. Run as:
//   node run.mjs LIBRARY PLACE strict|lax DIRECTORY PROGRAM ARGUMENT…
//
// LIBRARY is the sandbox runtime's module, DIRECTORY where the server starts. PLACE is a private directory with
// the runtime's `settings.json`, the server's `environment` and a file `report`, where goes what is seen, one JSON object a line: what a
// probe in the sandbox could not do (`observed`), what the server tried and was refused (`violation`), or why
// nothing was started (`refused`). The server has our standard streams; nothing is written to them here.
//
// The probe runs in the server's own sandbox, before the server: over a fourth stream it says that it has done,
// and waits there until it is told to become the server.

import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [library, place, mode, directory, ...command] = process.argv.slice(2);
const MOST_VIOLATIONS = 1000;
const NOT_STARTED = 126;
const LAST_REPORTS_MS = 100;
const inPlace = name => join(place, name);
const report = line => appendFileSync(inPlace('report'), JSON.stringify(line) + '\n');
const OUTSIDE = inPlace('here/outside');
const SETTING = '/proc/sys/kernel/core_pattern';
const SHELL = '/bin/sh'; // by this name, and without a terminal, no shell reads a start-up file
const quoted = text => `'${text.replaceAll("'", `'\\''`)}'`;
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child?.kill(signal));

const { SandboxManager, SandboxRuntimeConfigSchema } = await import(pathToFileURL(library).href);
try {
  const settings = JSON.parse(readFileSync(inPlace('settings.json'), 'utf8'));
  await SandboxManager.initialize(SandboxRuntimeConfigSchema.parse(settings), undefined, true);
  const probe = await newProbe();
  watch([OUTSIDE, SETTING]);
  const server = `cd -- ${quoted(directory)} && exec ${command.map(quoted).join(' ')}`;
  const wrapped = await SandboxManager.wrapWithSandbox(`${probe.script}; ${server}`, SHELL);
  child = spawn(SHELL, ['-c', wrapped], { env: environment(), stdio: ['inherit', 'inherit', 'inherit', 'pipe'] });
  child.stdio[3].on('error', () => {}); // it has ended; that is told of below
  const end = ended(child);
  const held = await probe.result(child.stdio[3]);
  report({ observed: held });
  const goes = mode !== 'strict' || Object.values(held).every(Boolean);
  child.stdio[3].end(goes ? 'go\n' : 'no\n', () => child.stdio[3].destroy());
  const status = await end;
  if (!goes) throw new Error('a probe was not held');
  await pause(LAST_REPORTS_MS); // they arrive over a socket, after the server has ended
  SandboxManager.cleanupAfterCommand();
  await SandboxManager.reset();
  process.exit(status);
} catch (error) {
  report({ refused: String(error?.message ?? error) });
  process.exit(NOT_STARTED);
}

function ended(started) {
  return new Promise(resolve => {
    started.on('error', () => resolve(NOT_STARTED));
    started.on('close', (code, signal) => resolve(code ?? (signal === 'SIGTERM' ? 143 : 137)));
  });
}

// Our environment is not the server's. bubblewrap gives the server its own; elsewhere it comes from here.
function environment() {
  if (process.platform === 'linux') return process.env;
  const words = readFileSync(inPlace('environment'), 'utf8').split('\0');
  unlinkSync(inPlace('environment'));
  const given = {};
  for (let at = 0; at + 2 < words.length; at += 3) given[words[at + 1]] = words[at + 2];
  return { ...given, TMPDIR: process.env.TMPDIR, CLAUDE_CODE_TMPDIR: process.env.CLAUDE_CODE_TMPDIR };
}

// Each thing is tried in there; what came of it is looked at from out here, as far as it can be.
async function newProbe() {
  writeFileSync(OUTSIDE, '');
  let arrived = false;
  const listener = createServer(socket => { arrived = true; socket.destroy(); });
  await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve));
  const tries = [
    `echo written > ${quoted(OUTSIDE)}`,
    `cat ${quoted(inPlace('secret'))}`,
    `BASH_ENV= /bin/bash --norc --noprofile -c ': > /dev/tcp/127.0.0.1/${listener.address().port}'`,
    `: >> ${SETTING} && echo system`,
  ];
  const lines = tries.map(one => `( ${one} );`).join(' ');
  const script = `{ ${lines} echo; echo done; } < /dev/null >&3 2> /dev/null; `
    + `goes() { local told; read -r told <&3; [ "$told" = go ]; }; goes || exit ${NOT_STARTED}; exec 3>&-`;

  async function result(stream) {
    let said = '';
    for await (const data of stream.iterator({ destroyOnReturn: false })) {
      said += data;
      if (said.endsWith('\ndone\n')) break;
    }
    listener.close();
    if (!said.endsWith('\ndone\n')) throw new Error('the probe did not run inside the sandbox');
    return {
      write: readFileSync(OUTSIDE, 'utf8') === '',
      read: !said.includes(readFileSync(inPlace('secret'), 'utf8')),
      network: !arrived,
      system: !said.includes('system'),
    };
  }

  return { script, result };
}

// What the probe tries comes first, and is not the server's.
function watch(probed) {
  const told = new Set();
  SandboxManager.getSandboxViolationStore().subscribe(all => { // for each that is added
    const line = all.at(-1)?.line;
    const own = probed.findIndex(path => line?.endsWith(` ${path}`));
    if (own >= 0) probed.splice(own, 1);
    else if (line && !told.has(line) && told.size < MOST_VIOLATIONS) {
      told.add(line);
      report({ violation: line });
    }
  });
}
