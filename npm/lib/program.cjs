"use strict";
// Finds the program, looks at its version once, and runs it.
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { version } = require("../package.json");

class TcompactError extends Error {
  constructor(message, { exitCode = null, hint = null } = {}) {
    super(message);
    Object.assign(this, { name: "TcompactError", exitCode, hint });
  }
}

// They decide what is printed and where, which the functions of this module do themselves.
const NOT_HERE = new Set(
  (
    "color count diff dry-run emit exit-status explain force help in-place jobs json latest lines output output-dir " +
    "progress quiet repair report rescue resume sort verbose version"
  ).split(" "),
);
// Commands of the program that are not a flag, too.
const COMMANDS = new Set("check completions list man restore search show".split(" "));
const FILE = process.platform === "win32" ? "tcompact.exe" : "tcompact";
const HERE = `${process.platform}-${process.arch}`;
// Where an old npm installed both, the one for musl runs with either library.
const PACKAGES = (process.platform === "linux" ? ["-musl", "-gnu"] : [""]).map((kind) => `@tcompact/${HERE}${kind}`);

/**
 * Returns the path of the program: TCOMPACT_BIN, else in the package for this platform, else on the path. Nothing is
 * looked for in the working directory, which can be anybody's.
 */
function find() {
  const named = process.env.TCOMPACT_BIN;
  const program = named ? byName(named) : (inPackage() ?? onPath(FILE));
  if (!program) {
    const hint = "cargo install --path .";
    const why = `there is no program for ${HERE}: none of ${PACKAGES.join(", ")} is installed`;
    throw new TcompactError(
      `${why}; build one in a checkout of tcompact with \`${hint}\`, or set TCOMPACT_BIN to its path`,
      { hint },
    );
  }
  if (!looked.has(program)) looked.set(program, problem(program));
  if (looked.get(program)) throw new TcompactError(looked.get(program));
  return program;
}
const looked = new Map();

/** Returns the program that TCOMPACT_BIN names by its whole path, or by a name on the path. */
function byName(named) {
  if (path.isAbsolute(named)) return named;
  const isName = path.basename(named) === named;
  const program = isName ? onPath(named) : undefined;
  if (program) return program;
  const why = isName
    ? "there is no program of this name on the path"
    : "give the whole path, or a name alone, which is looked up on the path";
  throw new TcompactError(`TCOMPACT_BIN=${named}: ${why}`);
}

function inPackage() {
  if (process.versions.pnp) return resolved();
  // As `require.resolve` looks, but for NODE_PATH and what else is not above this file.
  for (let folder = __dirname; ; folder = path.dirname(folder)) {
    const files = PACKAGES.map((name) => path.join(folder, "node_modules", name, FILE));
    const found = files.find((file) => fs.existsSync(file));
    if (found || folder === path.dirname(folder)) return found;
  }
}

/** Returns the program where Yarn has put it, which needs no folders. */
function resolved() {
  for (const name of PACKAGES) {
    try {
      return require.resolve(`${name}/${FILE}`);
    } catch {} // It is not installed.
  }
}

/** Returns a program on the path, but for entries that depend on the working directory. */
function onPath(file) {
  const folders = (process.env.PATH ?? "").split(path.delimiter).filter(path.isAbsolute);
  return folders.map((folder) => path.join(folder, file)).find(isProgram);
}

/** Whether a file is a program. A script of that name is a launcher like ours, which would look for a program again. */
function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    const [opened, start] = [fs.openSync(file), Buffer.alloc(2)];
    fs.readSync(opened, start);
    fs.closeSync(opened);
    return start.toString() !== "#!";
  } catch {
    return false; // also for a folder, which cannot be read
  }
}

/** Says in a sentence why a program cannot be used. */
function problem(program) {
  const options = { encoding: "utf8", windowsHide: true, timeout: 10_000, env: environment() };
  const done = spawnSync(program, ["--version"], options);
  if (done.error) return `${program}: the program cannot be started: ${done.error.message}`;
  const [, found] = /^tcompact (\d+\.\d+\.\d+)/.exec(done.stdout) ?? [];
  if (done.status !== 0 || !found) return `${program} is not tcompact; set TCOMPACT_BIN to its path`;
  if (found.localeCompare(version.split("-")[0], "en", { numeric: true }) >= 0) return null;
  return `${program} is tcompact ${found}, older than this module (${version}); install both from one version`;
}

/** Returns the arguments for options: `contextWindow: 9` is `--context-window=9`. */
function argumentsOf(options) {
  return Object.entries(options).flatMap(([key, value]) => {
    const name = key.replace(/_/g, "-").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    // Without an equals sign, which would begin a value.
    if (!/^[a-z][a-z0-9-]*$/.test(name)) {
      throw new TcompactError(`${JSON.stringify(key)} is not the name of an option`, { exitCode: 2 });
    }
    if (COMMANDS.has(name)) {
      throw new TcompactError(`${key} is a command of the program and not an option`, { exitCode: 2 });
    }
    if (NOT_HERE.has(name)) {
      const why = "this flag decides what the program prints; it works on the command line only";
      throw new TcompactError(`${key}: ${why}`, { exitCode: 2 });
    }
    const given = [value].flat().filter((one) => one !== undefined && one !== null && one !== false);
    const text = (one) => (typeof one === "object" ? JSON.stringify(one) : one);
    return given.map((one) => (one === true ? `--${name}` : `--${name}=${text(one)}`));
  });
}

/** Returns the environment without settings of the program: what is not an option here is not set. */
function environment() {
  const isSetting = (name) => name !== "TCOMPACT_BIN" && name.toUpperCase().startsWith("TCOMPACT_");
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)));
}

/**
 * Runs the program on a text, with arguments `own` of this module, whose flags no error names, and those that were `given`.
 * Returns its exit code, its standard output and what it printed beside it; `passes` are the exit codes that are not an error.
 */
async function run(own, given, text, { env, cwd, passes = [0] } = {}) {
  const child = spawn(find(), [...own, ...given], { cwd, env: { ...environment(), ...env }, windowsHide: true });
  let [out, printed] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk) => (out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk) => (printed += chunk));
  child.stdin.on("error", () => {}).end(text); // It may end before it has read everything.
  const ended = await new Promise((resolve, reject) => child.on("error", reject).on("close", (...how) => resolve(how)));
  const [exitCode, signal] = ended;
  const flags = own.filter((one) => one.startsWith("-"));
  printed = flags.reduce((rest, one) => rest.replaceAll(` ${quoted(one)}`, ""), printed.trim());
  if (passes.includes(exitCode)) return { code: exitCode, out, printed };
  const last = `\n${printed}`.split("\ntcompact: ").at(-1).trim();
  const [message, hint] = last.split(/\ntry: (.*)/s);
  throw new TcompactError(message || `the program ended with ${signal ?? `exit code ${exitCode}`}`, { exitCode, hint });
}

/** Returns an argument as the program's `try:` lines show it. */
function quoted(argument) {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

module.exports = { TcompactError, argumentsOf, find, run };
