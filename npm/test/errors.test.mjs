import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import test from "node:test";
import { TcompactError, check, compact, plan, repair, search, show } from "../lib/index.mjs";
import { NOTES, conversation, folderOf, launcher, program, ran, withVariables } from "./common.mjs";

const messages = conversation(12);
const rules = { keep: "messages:5" };

async function failure(promise) {
  const error = await promise.then(
    (value) => assert.fail(`no error: ${JSON.stringify(value).slice(0, 200)}`),
    (reason) => reason,
  );
  assert.ok(
    error instanceof TcompactError && error instanceof Error && error.name === "TcompactError",
    String(error.stack),
  );
  assert.ok(
    !/--quiet|--report|--cache|--emit|--summarizer-cmd/.test(`${error.message}${error.hint}`),
    "only the caller's flags",
  );
  return error;
}

test("1: no transcript", async () => {
  for (const call of [compact, plan, check, repair]) {
    for (const given of [[1, 2], { a: 1 }, "words", null, undefined, [undefined]]) {
      const error = await failure(call(given));
      assert.deepEqual([error.exitCode, error.cause], [1, undefined]);
      assert.match(error.message, /^standard input is not a transcript/);
      assert.match(error.hint, /^tcompact list formats/);
    }
  }
});

test("1: several conversations", async () => {
  const turns = (from) => ({
    conversations: [
      { from, value: "a question" },
      { from: "gpt", value: "an answer" },
    ],
  });
  for (const call of [compact, plan]) {
    const error = await failure(call([turns("human"), turns("human")]));
    assert.deepEqual([error.exitCode, error.message], [1, "these are 2 conversations; give one at a time"]);
  }
});

test("2: a wrong option", async () => {
  const error = await failure(compact(messages, { keep: "messages:5x" }));
  assert.deepEqual([error.exitCode, error.hint], [2, "tcompact --keep=messages:20"]);
  assert.match(error.message, /^invalid value 'messages:5x' for '--keep/);
  assert.equal((await failure(compact(messages, { kep: "messages:5" }))).exitCode, 2);
  const pattern = await failure(search("a(", "none.jsonl"));
  assert.deepEqual([pattern.exitCode, /a\(/.test(pattern.message)], [2, true]);
  assert.equal((await failure(search(/a(?=b)/, "none.jsonl"))).exitCode, 2);
  for (const looked of [() => search("a", "none.jsonl"), () => show("none.jsonl", 1)]) {
    const none = await failure(looked());
    assert.deepEqual([none.exitCode, /none\.jsonl/.test(none.message)], [1, true]);
  }
  assert.match((await failure(compact(messages, { show: 1 }))).message, /^show is a command of the program/);
  for (const name of ["emit", "output", "exitStatus", "dryRun", "inPlace", "help", "version", "report", "force"]) {
    assert.match(
      (await failure(compact(messages, { [name]: true }))).message,
      new RegExp(`^${name}: this flag decides`),
    );
  }
  const calls = {
    compact: (options) => compact(messages, options),
    plan: (options) => plan(messages, options),
    check: (options) => check(messages, options),
    repair: (options) => repair(messages, "drop", options),
    search: (options) => search("a", "none.jsonl", options),
    show: (options) => show("none.jsonl", 1, options),
  };
  const keys = "output=x.json,output ,--output,-o,keep=messages:4,keep\n,,Output,9,ke.ep,kéep,keep\0,output\u00a0=x,__proto__";
  for (const [name, call] of Object.entries(calls)) {
    for (const key of keys.split(",")) {
      const error = await failure(call({ [key]: true }));
      const expected = [2, `${JSON.stringify(key)} is not the name of an option`];
      assert.deepEqual([error.exitCode, error.message], expected, name);
    }
    assert.match((await failure(call({ output: "x.json" }))).message, /^output: this flag decides/, name);
  }
  assert.ok(!fs.existsSync("x.json"));
  for (const key of ["output-dir", "output_dir", "in_place"]) {
    assert.match((await failure(compact(messages, { [key]: true }))).message, /this flag decides/);
  }
});

test("4: a summarizer that fails, with what it threw as the cause", async () => {
  const thrown = new RangeError("the model is away");
  const error = await failure(compact(messages, { ...rules, summarizer: () => Promise.reject(thrown) }));
  assert.deepEqual([error.exitCode, error.cause], [4, thrown]);
  assert.match(error.message, /RangeError: the model is away/);
  assert.match(error.hint, /--on-error extractive --keep=messages:5$/m);
  assert.match(
    (await failure(compact(messages, { ...rules, summarizer: () => 7 }))).message,
    /must return a string, and returned number/,
  );
  const late = compact(messages, {
    ...rules,
    timeout: 1,
    summarizer: () => new Promise((done) => setTimeout(done, 1500, "x")),
  });
  assert.match((await failure(late)).message, /took longer than --timeout 1 second/);
  await assert.rejects(compact(messages, { ...rules, summarizerCmd: "exit 3" }), {
    exitCode: 4,
    message: /`exit 3` ended/,
  });
});

test("5: a summary that is refused, and a size that cannot be reached", async () => {
  assert.equal((await failure(compact(messages, { ...rules, summarizer: () => "" }))).exitCode, 5);
  assert.equal((await failure(compact(messages, { ...rules, summarizer: () => "long ".repeat(20_000) }))).exitCode, 5);
  const error = await failure(compact(messages, { fit: "tokens:10" }));
  assert.equal(error.exitCode, 5);
  assert.match(error.hint, /^tcompact --fit=tokens:\d+/);
});

test("onError says what else happens, and a warning why", async () => {
  const warnings = [];
  const listen = (warning) => warnings.push(warning);
  process.on("warning", listen);
  const fails = () => {
    throw new Error("away");
  };
  const results = {};
  for (const onError of ["passthrough", "extractive", "embed"]) {
    results[onError] = await compact(messages, { ...rules, onError, summarizer: fails });
  }
  await new Promise(setImmediate);
  process.off("warning", listen);
  assert.deepEqual([results.passthrough.status, results.passthrough.summary], ["unchanged", null]);
  assert.match(results.extractive.summary, /Question 2/);
  assert.match(results.embed.summary, /Error: away/);
  for (const name of ["extractive", "embed"])
    assert.ok(JSON.stringify(results[name].messages).includes(JSON.stringify(results[name].summary).slice(1, -1)));
  assert.deepEqual(
    warnings.map(({ name }) => name),
    Array(3).fill("TcompactWarning"),
  );
  assert.match(warnings[1].message, /Error: away; the embedded summarizer is used instead/);
});

test("a model that fails is asked once", async (t) => {
  let asked = 0;
  const server = http
    .createServer((request, response) => ((asked += 1), response.writeHead(400).end("{}")))
    .listen(0, "127.0.0.1");
  t.after(() => (server.close(), server.closeAllConnections()));
  await once(server, "listening");
  const to = {
    model: "openai:a",
    baseUrl: `http://127.0.0.1:${server.address().port}`,
    apiKeyEnv: "A_KEY",
    requestJson: { a: 1 },
    onError: "extractive",
  };
  await withVariables({ A_KEY: "key-of-tests" }, async () => {
    assert.match((await compact(messages, { ...rules, ...to })).summary, /Question 2/);
  });
  assert.equal(asked, 1);
});

test("a program that is killed, and messages that are not JSON", async (t) => {
  const killed = path.join(folderOf(t), "killed");
  fs.writeFileSync(killed, '#!/bin/sh\n[ "$1" = --version ] && echo tcompact 9.0.0 && exit\nkill -9 $$\n', {
    mode: 0o755,
  });
  await withVariables({ TCOMPACT_BIN: killed }, async () => {
    const error = await failure(compact(messages));
    assert.deepEqual([error.exitCode, error.message], [null, "the program ended with SIGKILL"]);
  });
  await assert.rejects(compact([{ role: "user", content: 1n }]), TypeError);
});

test("nothing is left behind, whatever happens", async (t) => {
  const folder = folderOf(t);
  await withVariables({ TMPDIR: folder }, async () => {
    await compact(messages, { ...rules, archive: path.join(folder, "a.jsonl") });
    await failure(compact(messages, { ...rules, summarizer: () => "" }));
    await failure(compact([1]));
  });
  assert.deepEqual(fs.readdirSync(folder), ["a.jsonl"]);
});

test("nobody else is answered by the summarizer", { skip: process.platform === "win32" }, async (t) => {
  const folder = folderOf(t);
  const said = (address, text) =>
    new Promise((resolve) => {
      let answer = "";
      const socket = net
        .connect(address)
        .on("error", () => {})
        .on("close", () => resolve(answer));
      socket.on("data", (chunk) => (answer += chunk)).end(text);
    });
  let asked = 0;
  const summarizer = async () => {
    asked += 1;
    const [own] = fs.readdirSync(folder);
    assert.equal(fs.statSync(path.join(folder, own)).mode & 0o077, 0, "nobody else may look into the folder");
    for (const text of ["{}\n", `${"0".repeat(64)}"prompt"\n`, `${"é".repeat(64)}"prompt"\n`]) {
      assert.equal(await said(path.join(folder, own, "socket"), text), "");
    }
    return NOTES;
  };
  const short = await withVariables({ TMPDIR: folder }, () =>
    compact(messages, { ...rules, ledger: "off", summarizer }),
  );
  assert.deepEqual([short.summary, asked], [NOTES, 1]);
});

test("the launcher has the program's exit codes and streams", async (t) => {
  const folder = folderOf(t);
  const file = path.join(folder, "chat.json");
  fs.writeFileSync(file, JSON.stringify(messages));
  const broken = JSON.stringify(messages.filter((message) => message.tool_call_id !== "c3"));
  const none = path.join(folder, "none.json");
  const cases = [
    [0, ["--keep", "messages:5", file]],
    [1, [none]],
    [2, ["--keep", "x", file]],
    [3, ["-e", "--keep", "messages:500", file]],
    [4, ["--keep", "messages:5", "--summarizer-cmd", "exit 3", file]],
    [5, ["--fit", "tokens:10", file]],
    [6, ["check"]],
    [7, ["-n", file, none]],
  ];
  const codes = cases.map(
    async ([, args]) => (await ran(process.execPath, [launcher, ...args, "-q"], { input: broken })).code,
  );
  assert.deepEqual(
    await Promise.all(codes),
    cases.map(([code]) => code),
  );
  const through = await ran(process.execPath, [launcher, "-q", "--keep", "messages:5"], {
    input: JSON.stringify(messages),
  });
  const direct = await ran(program, ["-q", "--keep", "messages:5"], { input: JSON.stringify(messages) });
  assert.deepEqual(through, direct);
});

test("the launcher passes signals on", async (t) => {
  const folder = folderOf(t);
  const ended = ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => {
    const slow = [launcher, "--keep", "messages:5", "--summarizer-cmd", `echo > ${signal}; sleep 20`];
    const kill = (child) => {
      const looking = setInterval(() => {
        if (!fs.existsSync(path.join(folder, signal))) return;
        clearInterval(looking);
        child.kill(signal);
      }, 20);
    };
    return ran(process.execPath, slow, { cwd: folder, input: JSON.stringify(messages), started: kill });
  });
  for (const { code, out } of await Promise.all(ended)) assert.deepEqual([code, out], [130, ""]);
});

test("a program that cannot be used is a sentence", async (t) => {
  const folder = folderOf(t);
  const fake = (name, line) => {
    fs.writeFileSync(path.join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    return path.join(folder, name);
  };
  for (const [named, sentence] of [
    [path.join(folder, "none"), /none: the program cannot be started: .*ENOENT/],
    [fake("other", "echo other 2.0.0"), /other is not tcompact; set TCOMPACT_BIN to its path/],
    [fake("fails", "exit 1"), /fails is not tcompact/],
  ]) {
    await withVariables({ TCOMPACT_BIN: named }, async () => {
      const error = await failure(compact(messages));
      assert.equal(error.exitCode, null);
      assert.match(error.message, sentence);
      const launched = await ran(process.execPath, [launcher]);
      assert.equal(launched.code, 127);
      assert.match(launched.err, sentence);
    });
  }
  // A launcher on the path is not the program, and neither is a folder.
  fs.mkdirSync(path.join(folder, "sub/tcompact"), { recursive: true });
  fs.symlinkSync(launcher, path.join(folder, "tcompact"));
  await withVariables(
    { TCOMPACT_BIN: undefined, PATH: [folder, path.join(folder, "sub")].join(path.delimiter) },
    async () => {
      const error = await failure(plan(messages));
      assert.match(
        error.message,
        /^there is no program for \S+: none of @tcompact\/.* is installed; build one .* `cargo install --path \.`/,
      );
      assert.equal(error.hint, "cargo install --path .");
      process.env.PATH += path.delimiter + path.join(folder, "real");
      fs.mkdirSync(path.join(folder, "real"));
      fs.symlinkSync(program, path.join(folder, "real/tcompact"));
      assert.equal((await plan(messages, rules)).messages, messages.length);
    },
  );
});
