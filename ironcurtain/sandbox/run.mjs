// Starts one MCP server inside the sandbox. Run as:
//   node run.mjs LIBRARY SETTINGS REPORT DIRECTORY -- PROGRAM ARGUMENT…
//
// LIBRARY is the sandbox runtime's module, SETTINGS its configuration, DIRECTORY where the server starts. What
// is seen goes to REPORT, one JSON object a line: first what a probe could do inside an identical sandbox
// (`observed`), then each thing that the server tried and was refused (`violation`), or why nothing was started
// (`refused`). The server has our standard streams; this program writes nothing to them.

import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [library, settings, reportFile, directory, , ...command] = process.argv.slice(2);
const MOST_VIOLATIONS = 1000;
const NOT_STARTED = 126;
const place = dirname(reportFile);
const report = line => appendFileSync(reportFile, JSON.stringify(line) + '\n');
const quoted = text => `'${text.replaceAll("'", `'\\''`)}'`;

const { SandboxManager } = await import(pathToFileURL(library).href);
let child;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child?.kill(signal));

try {
  await SandboxManager.initialize(JSON.parse(readFileSync(settings, 'utf8')), undefined, true);
  report({ observed: await probe() });
  watch();
  const inside = `cd -- ${quoted(directory)} && exec ${command.map(quoted).join(' ')}`;
  child = await start(inside, 'inherit');
  const status = await ended(child);
  await settle();
  process.exit(status);
} catch (error) {
  report({ refused: String(error?.message ?? error) });
  process.exit(NOT_STARTED);
}

async function start(inside, stdio) {
  const wrapped = await SandboxManager.wrapWithSandbox(inside, '/bin/bash');
  return spawn('/bin/bash', ['-c', wrapped], { stdio });
}

function ended(process_) {
  return new Promise((resolve, reject) => {
    process_.on('error', reject);
    process_.on('close', (code, signal) => resolve(code ?? (signal === 'SIGTERM' ? 143 : 137)));
  });
}

// What is asked for is tried, and what came of it is looked at from out here.
async function probe() {
  const outside = join(place, 'outside');
  const secret = join(place, 'secret');
  writeFileSync(outside, '', { mode: 0o666 });
  let arrived = false;
  const listener = createServer(socket => { arrived = true; socket.destroy(); });
  await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address();
  const tries = [
    `echo written > ${quoted(outside)}`,
    `cat ${quoted(secret)}`,
    `: > /dev/tcp/127.0.0.1/${port}`,
    `kill -0 ${process.pid}`,
  ];
  const run = await start(`exec 2> /dev/null; ${tries.map(one => `( ${one} );`).join(' ')} echo; echo done`, ['ignore', 'pipe', 'ignore']);
  let said = '';
  run.stdout.on('data', data => { said += data; });
  await ended(run);
  listener.close();
  SandboxManager.cleanupAfterCommand();
  if (!said.endsWith('\ndone\n')) throw new Error('the probe did not run inside the sandbox');
  const seen = {
    write: readFileSync(outside, 'utf8') === '',
    read: !said.includes(readFileSync(secret, 'utf8')),
    network: !arrived,
  };
  return seen;
}

function watch() {
  let told = 0;
  const seen = new Set();
  SandboxManager.getSandboxViolationStore().subscribe(all => {
    for (const { line } of all) {
      if (seen.has(line) || told >= MOST_VIOLATIONS) continue;
      seen.add(line);
      told += 1;
      report({ violation: line });
    }
  });
}

// The last reports arrive over a socket, after the server has ended.
async function settle() {
  await new Promise(resolve => setTimeout(resolve, 100));
  SandboxManager.cleanupAfterCommand();
  await SandboxManager.reset();
}
