// What is outside of the package: the working directory, the path, the environment, and whoever connects.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import test from "node:test";
import { NOTES, conversation, folderOf, launcher, npm, program, ran, withVariables } from "./common.mjs";

const messages = conversation(12);
const isWindows = process.platform === "win32";
const rules = { keep: "messages:5", ledger: "off" };
const use = `const { compact } = require(${JSON.stringify(path.join(npm, "lib/index.cjs"))});
  const rules = { ...${JSON.stringify(rules)}, summarizer: () => ${JSON.stringify(NOTES)} };
  compact(${JSON.stringify(messages)}, rules)
    .then(({ summary }) => console.log(summary), (error) => console.log(error.message));`;

/** Fills a folder with programs and modules of all names that somebody could look up; each notes that it was run. */
function hostile(folder) {
  const taken = path.join(folder, "TAKEN");
  const packages = ["-musl", "-gnu", ""].map((kind) => `@tcompact/${process.platform}-${process.arch}${kind}`);
  const places = [".", "bin", "node_modules", "node_modules/.bin", ...packages];
  for (const place of [...places, ...packages.map((name) => `node_modules/${name}`)]) {
    fs.mkdirSync(path.join(folder, place), { recursive: true });
    for (const name of ["tcompact", "tcompact.exe", "sh", "node", "true"]) {
      const shell = isWindows ? "" : `#!/bin/sh\necho ${name} >> '${taken}'\n`;
      fs.writeFileSync(path.join(folder, place, name), shell, { mode: 0o755 });
    }
    for (const name of ["callback", "net", "fs", "tcompact", "index"]) {
      for (const end of [".js", ".cjs", ".mjs"]) {
        const noted = `require("node:fs").appendFileSync(${JSON.stringify(taken)}, ${JSON.stringify(name + end)});`;
        fs.writeFileSync(path.join(folder, place, name + end), noted);
      }
    }
  }
  fs.writeFileSync(path.join(folder, "package.json"), '{ "main": "callback.cjs", "type": "module" }');
  fs.writeFileSync(path.join(folder, ".env"), "NODE_OPTIONS=--require ./callback.cjs\n");
  fs.writeFileSync(path.join(folder, ".npmrc"), "node-options=--require ./callback.cjs\n");
  fs.writeFileSync(path.join(folder, "config.toml"), "summarizer-cmd = 'touch TAKEN'\n");
  return taken;
}

test("nothing of the working directory is run", async (t) => {
  const folder = folderOf(t);
  const taken = hostile(folder);
  const deep = path.join(folder, "deep/er");
  fs.mkdirSync(deep, { recursive: true });
  const relative = ["", ".", "bin", "./bin", "node_modules/.bin"];
  const searches = [process.env.PATH, [...relative, process.env.PATH, ""].join(path.delimiter)];
  for (const cwd of [folder, deep]) {
    for (const search of searches) {
      for (const modules of ["", ".", "node_modules", ["..", "../.."].join(path.delimiter)]) {
        const env = { ...process.env, PATH: search, NODE_PATH: modules };
        const done = await ran(process.execPath, ["-e", use], { cwd, env });
        assert.deepEqual([done.out, done.err], [`${NOTES}\n`, ""]);
        assert.ok(!fs.existsSync(taken), fs.existsSync(taken) && `${cwd} ${search}: ${fs.readFileSync(taken)}`);
      }
    }
  }
});

test("the program is never one of the working directory", { skip: isWindows }, async (t) => {
  const [folder, real] = [folderOf(t), folderOf(t)];
  const taken = hostile(folder);
  fs.symlinkSync(program, path.join(real, "tcompact"));
  const version = (TCOMPACT_BIN, search, NODE_PATH = ".") => {
    const PATH = [...search, path.dirname(process.execPath)].join(path.delimiter);
    return ran(process.execPath, [launcher, "--version"], { cwd: folder, env: { TCOMPACT_BIN, PATH, NODE_PATH } });
  };
  for (const before of ["", ".", "bin", "./bin", "node_modules/.bin"]) {
    for (const named of ["", "tcompact"]) {
      const found = await version(named, [before, real]);
      assert.match(found.out, /^tcompact \d/, found.err);
    }
    const none = await version("tcompact", [before]);
    assert.match(none.err, /^tcompact: TCOMPACT_BIN=tcompact: there is no program of this name on the path/);
    assert.match((await version("", [before])).err, /^tcompact: there is no program for /);
  }
  for (const named of ["./tcompact", "bin/tcompact", "../x/tcompact"]) {
    const refused = await version(named, [real]);
    assert.deepEqual([refused.code, refused.out], [127, ""]);
    assert.match(refused.err, /give the whole path/);
  }
  assert.ok(!fs.existsSync(taken));
});

test("a cache key does not depend on where the package is", async (t) => {
  const { commandFor } = await import("../lib/summarizer.cjs").then(({ default: lib }) => lib);
  const copy = folderOf(t);
  fs.cpSync(path.join(npm, "lib"), path.join(copy, "it's here/lib"), { recursive: true });
  fs.copyFileSync(path.join(npm, "package.json"), path.join(copy, "it's here/package.json"));
  const there = await import(path.join(copy, "it's here/lib/index.cjs"));
  const cache = path.join(copy, "cache");
  let asked = 0;
  function writer() {
    asked += 1;
    return NOTES;
  }
  const { compact } = await import("../lib/index.mjs");
  for (const run of [there.default.compact, compact]) {
    assert.equal((await run(messages, { ...rules, cache, summarizer: writer })).summary, NOTES);
  }
  assert.equal(asked, 1);
  assert.ok(!commandFor(writer).includes(npm));
});

test("whoever connects keeps nobody waiting", { skip: isWindows }, async (t) => {
  const { compact } = await import("../lib/index.mjs");
  const folder = folderOf(t);
  const sayings = {
    nothing: "",
    half: "0".repeat(10),
    garbage: "\u00ff".repeat(4096),
    wrong: `${"0".repeat(64)}"x"\n`,
  };
  for (const [how, text] of Object.entries(sayings)) {
    for (const number of [1, 200]) {
      const sockets = [];
      // The first prompt waits until all of them have connected.
      const summarizer = async () => {
        const [own] = fs.readdirSync(folder);
        const connected = Array.from({ length: number }, () => {
          const socket = net.connect(path.join(folder, own, "socket"));
          sockets.push(socket.on("error", () => {}));
          const said = (resolve) => (text && socket.write(text), resolve());
          return new Promise((resolve) => socket.on("connect", () => said(resolve)).on("close", resolve));
        });
        await Promise.all(connected);
        return NOTES;
      };
      const short = await withVariables({ TMPDIR: folder }, () =>
        compact(messages, { ...rules, timeout: 8, summarizer }),
      );
      assert.equal(short.summary, NOTES, how);
      // None keeps the process alive afterwards.
      const closed = (socket) => socket.destroyed || new Promise((resolve) => socket.resume().on("close", resolve));
      await Promise.all(sockets.map(closed));
    }
  }
});

test("a folder for temporary files that cannot be used is not needed", { skip: isWindows }, async (t) => {
  const folder = folderOf(t);
  const deep = (length) => {
    let deepest = folder;
    while (deepest.length < length) deepest = path.join(deepest, "d".repeat(Math.min(199, length - deepest.length)));
    fs.mkdirSync(deepest, { recursive: true });
    return deepest;
  };
  fs.writeFileSync(path.join(folder, "file"), "");
  fs.mkdirSync(path.join(folder, "closed"), { mode: 0o500 });
  fs.mkdirSync(path.join(folder, "relative"));
  const usable = [deep(210), deep(4010)];
  const unusable = ["missing", "file", "closed"].map((name) => path.join(folder, name));
  for (const TMPDIR of [...usable, ...unusable, `/${"m/".repeat(2500)}`, "relative", ""]) {
    for (const code of [use, use.replace(/, summarizer: .*? };/, ' , preset: "langchain", model: "extractive" };')]) {
      const done = await ran(process.execPath, ["-e", code], { cwd: folder, env: { ...process.env, TMPDIR } });
      assert.deepEqual([done.out.trim() !== "", done.err], [true, ""], TMPDIR.slice(-40));
      assert.ok(code !== use || done.out === `${NOTES}\n`, done.out);
    }
  }
  for (const left of [...usable, path.join(folder, "relative")]) {
    const names = fs.readdirSync(left).filter((name) => !name.startsWith("d"));
    assert.deepEqual(names, [], "nothing is left behind");
  }
});

test("where no folder for temporary files can be made, the error says what to do", { skip: isWindows }, async () => {
  const refuse = `const fs = require("node:fs/promises");
    fs.mkdtemp = () => Promise.reject(Object.assign(new Error("EACCES: denied"), { code: "EACCES" }));`;
  const done = await ran(process.execPath, ["-e", refuse + use], {});
  assert.match(done.out, /^no temporary folder can be made: EACCES; set TMPDIR to one with a short path/);
});
