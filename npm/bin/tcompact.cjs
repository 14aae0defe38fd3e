#!/usr/bin/env node
"use strict";
// Runs the program in the place of this one: with its streams, its signals and its exit code.
const { spawn } = require("node:child_process");
const { find } = require("../lib/program.cjs");

try {
  // Before the program starts, since a signal can come at once.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  const child = spawn(find(), process.argv.slice(2), { stdio: "inherit", windowsHide: true });
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
} catch (error) {
  console.error(`tcompact: ${error.message}${error.hint ? `\ntry: ${error.hint}` : ""}`);
  process.exitCode = 127; // as a shell says that there is no program; 1 to 7 have a meaning
}
