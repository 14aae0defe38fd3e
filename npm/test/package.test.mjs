// The packages as they are published, installed from their archives into a clean folder.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test, { after, before } from "node:test";
import { PLATFORMS } from "../platform.mjs";
import { npm, program, ran } from "./common.mjs";

const isWindows = process.platform === "win32";
const libc =
  process.platform !== "linux" ? "" : process.report.getReport().header.glibcVersionRuntime ? "-gnu" : "-musl";
const platform = `${process.platform}-${process.arch}${libc}`;
const version = /^version = "(.*)"$/m.exec(fs.readFileSync(path.join(npm, "../Cargo.toml"), "utf8"))[1];
const root = fs.mkdtempSync(path.join(os.tmpdir(), "tcompact packages "));
const clean = path.join(root, "clean");
/** Neither the program of the tests, nor one that this machine has. */
const env = {
  ...process.env,
  TCOMPACT_BIN: "",
  PATH: path.dirname(process.execPath) + path.delimiter + "/usr/bin:/bin",
};
after(async () => {
  await Promise.all(Object.values(registry));
  fs.rmSync(root, { recursive: true, force: true });
});

function run(command, args, cwd = clean) {
  return ran(command, args, { cwd, env, shell: isWindows });
}

async function works(command, args, cwd) {
  const done = await run(command, args, cwd);
  assert.equal(done.code, 0, `${command} ${args.join(" ")}\n${done.out}${done.err}`);
  return done.out;
}

/** Installs packages of the registry, and returns their folder, or nothing if they cannot be had. */
async function installed(name) {
  const folder = path.join(root, "with", name);
  fs.mkdirSync(folder, { recursive: true });
  const quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
  const done = await run("npm", ["install", ...quiet, "--fetch-retries=0", "--fetch-timeout=20000", name], folder);
  return done.code === 0 ? folder : undefined;
}

/** Returns a folder with a package of the registry and ours; skips the test, with nothing, if it cannot be installed. */
async function folderWith(t, name) {
  const folder = await registry[name];
  if (folder) fs.cpSync(path.join(clean, "node_modules"), path.join(folder, "node_modules"), { recursive: true });
  else t.skip(`npm cannot install ${name}`);
  return folder;
}

const registry = {};
before(async () => {
  fs.mkdirSync(clean);
  for (const name of ["typescript", "ai"]) registry[name] = installed(name);
  await works(
    process.execPath,
    [path.join(npm, "platform.mjs"), path.join(root, "made"), `${platform}=${program}`],
    root,
  );
  await works("npm", ["pack", "--silent", "./made/tcompact", `./made/${platform}`], root);
  fs.writeFileSync(path.join(clean, "package.json"), "{}");
  const archives = fs
    .readdirSync(root)
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => path.join(root, name));
  assert.equal(archives.length, 2);
  await works("npm", ["install", "--offline", "--no-audit", "--no-fund", "--no-package-lock", ...archives]);
});

test("`npm test` has no list of its own", () => {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(npm, "package.json"), "utf8"));
  assert.deepEqual(scripts, { test: "bash run-tests" });
});

test("npx runs the program of the platform's package", async () => {
  assert.match(await works("npx", ["--no-install", "tcompact", "--version"]), new RegExp(`^tcompact ${version}\n`));
  assert.equal((await run("npx", ["--no-install", "tcompact", "--keep", "x"])).code, 2);
});

test("the packages name their platform, the version of Cargo.toml and what they may be used for", () => {
  const manifest = (name) =>
    JSON.parse(fs.readFileSync(path.join(clean, "node_modules", name, "package.json"), "utf8"));
  const main = manifest("tcompact");
  const names = Object.keys(PLATFORMS).map((name) => [`@tcompact/${name}`, version]);
  assert.deepEqual(main.optionalDependencies, Object.fromEntries(names));
  assert.deepEqual([main.version, main.dependencies, main.scripts], [version, undefined, undefined]);
  const own = manifest(`@tcompact/${platform}`);
  assert.deepEqual(
    [own.version, own.os, own.cpu, own.scripts],
    [version, [process.platform], [process.arch], undefined],
  );
  for (const name of ["tcompact", `@tcompact/${platform}`]) {
    const files = fs.readdirSync(path.join(clean, "node_modules", name));
    for (const file of ["LICENSE-MIT", "LICENSE-APACHE"]) assert.ok(files.includes(file), `${name}: ${file}`);
    assert.ok(!files.includes("test") && !files.includes("node_modules"));
  }
});

test("modules and CommonJS have the same functions", async () => {
  const use = `const short = await compact(Array(90).fill({ role: "user", content: "many words, ".repeat(40) }));
    const error = await compact([1]).catch((error) => error);
    console.log(short.status, error instanceof TcompactError, error.exitCode);`;
  fs.writeFileSync(path.join(clean, "use.mjs"), `import { compact, TcompactError } from "tcompact";\n${use}`);
  fs.writeFileSync(
    path.join(clean, "use.cjs"),
    `const { compact, TcompactError } = require("tcompact");\n(async () => {${use}})();`,
  );
  for (const file of ["use.mjs", "use.cjs"]) {
    assert.equal(await works(process.execPath, [file]), "compacted true 1\n");
  }
  const same =
    'import * as a from "tcompact"; import b from "node:module"; const c = b.createRequire(import.meta.url)("tcompact"); console.log(Object.keys(c).every((name) => a[name] === c[name]), Object.keys(a).filter((name) => name !== "default").join())';
  fs.writeFileSync(path.join(clean, "same.mjs"), same);
  assert.equal(await works(process.execPath, ["same.mjs"]), "true TcompactError,check,compact,plan,repair,search,show\n");
});

test("a program that is older than the module is refused", async () => {
  const old = path.join(clean, "old");
  fs.writeFileSync(old, "#!/bin/sh\necho tcompact 0.0.9\n", { mode: 0o755 });
  const done = await ran(process.execPath, ["node_modules/tcompact/bin/tcompact.cjs"], {
    cwd: clean,
    env: { ...env, TCOMPACT_BIN: old },
  });
  assert.equal(done.code, 127);
  assert.match(
    done.err,
    new RegExp(`old is tcompact 0.0.9, older than this module \\(${version}\\); install both from one version\n`),
  );
  fs.writeFileSync(old, `#!/bin/sh\necho tcompact ${version.replace(/\d+$/, "999")}\n`, { mode: 0o755 });
  const newer = await ran(process.execPath, ["node_modules/tcompact/bin/tcompact.cjs"], {
    cwd: clean,
    env: { ...env, TCOMPACT_BIN: old },
  });
  assert.equal(newer.code, 0);
});

test("a platform without its package is a sentence", async () => {
  const folder = path.join(root, "alone");
  fs.cpSync(path.join(clean, "node_modules/tcompact"), path.join(folder, "node_modules/tcompact"), { recursive: true });
  const done = await run(process.execPath, ["node_modules/tcompact/bin/tcompact.cjs", "--version"], folder);
  assert.equal(done.code, 127);
  assert.match(done.err, /^tcompact: there is no program for .*cargo install --path \./);
});

test("the types hold under tsc --strict, as a module and as CommonJS", async (t) => {
  const folder = await folderWith(t, "typescript");
  if (!folder) return;
  fs.writeFileSync(path.join(folder, "package.json"), "{}");
  for (const name of ["types.mts", "types.cts"])
    fs.copyFileSync(path.join(npm, "test/types.ts"), path.join(folder, name));
  const flags = [
    "--strict",
    "--noEmit",
    "--exactOptionalPropertyTypes",
    "--noUncheckedIndexedAccess",
    "--lib",
    "es2022,dom",
  ];
  for (const [module, resolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    await works(
      "npx",
      ["--no-install", "tsc", ...flags, "--module", module, "--moduleResolution", resolution, "types.mts", "types.cts"],
      folder,
    );
  }
  fs.appendFileSync(path.join(folder, "types.mts"), "\nexport const wrong: number = (await compact([])).summary;\n");
  const done = await run("npx", ["--no-install", "tsc", ...flags, "--module", "nodenext", "types.mts"], folder);
  assert.match(done.out, /Type 'string \| null' is not assignable to type 'number'|TS2322/);
});

test("an agent of the AI SDK goes on after its steps were compacted", async (t) => {
  const folder = await folderWith(t, "ai");
  if (!folder) return;
  fs.copyFileSync(path.join(npm, "examples/prepare-step.mjs"), path.join(folder, "prepare-step.mjs"));
  const printed = await works(process.execPath, ["prepare-step.mjs"], folder);
  const [, sizes] = /^messages of each prompt: ([\d ]+)\nI read all of them\.\n$/.exec(printed);
  const counts = sizes.split(" ").map(Number);
  assert.deepEqual(counts.slice(0, 4), [1, 3, 5, 7]);
  assert.equal(counts.length, 11);
  assert.ok(
    counts.every((count) => count <= 7),
    sizes,
  );
});
