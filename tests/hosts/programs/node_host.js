// SPDX-License-Identifier: MIT
// A host program that uses workers, children and files.
'use strict';
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFileSync, spawnSync, fork } = require('child_process');
const fs = require('fs');

if (!isMainThread) {
  parentPort.postMessage(Array.from({ length: 10 }, (_, i) => i * i).join(' '));
} else if (process.argv[2] === 'child') {
  process.send('from the child', () => process.exit(6));
} else {
  console.log(execFileSync(process.env.PROCESS_FACTS, ['x'], { encoding: 'utf8' }));
  console.log(spawnSync('sh', ['-c', 'kill -9 $$']).signal, spawnSync('/nonexistent').error.code);
  fs.writeFileSync('written', Buffer.alloc(100000, 'x'));
  console.log(fs.readFileSync('written').length, fs.readdirSync('.').sort().join(' '));
  try { process.dlopen({ exports: {} }, '/nonexistent.node'); } catch (error) { console.log(error.message); }
  const child = fork(__filename, ['child']);
  child.on('message', (text) => console.log(text));
  child.on('exit', (code) => {
    console.log('child', code);
    const worker = new Worker(__filename);
    worker.on('message', (text) => console.log(text));
    worker.on('exit', () => console.log('node done'));
  });
}
