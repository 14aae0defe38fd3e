// The extension in pi itself, over its RPC mode, with a stand-in for the model.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FAILURES, HERE, assertArchive, assertFound, assertOneLine, folder, installed, standIn } from "./help.mjs";
import { FACT, startModel } from "./model.mjs";

const home = installed("pi", "@earendil-works/pi-coding-agent");
// pi needs a newer Node.js than these tests; a package has one.
const node = [installed("pi", `node-${process.platform}-${process.arch}`)].map((at) => at ? join(at, "bin/node") : process.execPath)[0];
const skip = home ? false : "@earendil-works/pi-coding-agent is not installed";
const EXTENSION = join(HERE, "pi/tcompact.ts");

// Sends the commands, one after the end of the other; a function makes its command just then. Returns the requests, and for each command the events until then.
async function session(context, commands, extension = EXTENSION, path = process.env.PATH) {
  const place = folder(context), agent = join(place, "agent");
  const model = await startModel({ name: "bash", input: {} });
  context.after(() => model.stop());
  mkdirSync(agent);
  const models = [{ id: "stand-in", contextWindow: 200_000, maxTokens: 4096 }];
  const providers = { local: { baseUrl: model.url, api: "anthropic-messages", apiKey: "none", models } };
  writeFileSync(join(agent, "models.json"), JSON.stringify({ providers }));
  writeFileSync(join(agent, "settings.json"), JSON.stringify({ compaction: { keepRecentTokens: 6000 } }));
  const flags = [join(home, "dist/cli.js"), "--mode", "rpc", "--provider", "local", "--model", "stand-in", "-e", extension];
  const env = { ...process.env, PATH: path, HOME: place, PI_CODING_AGENT_DIR: agent, PI_OFFLINE: "1", PI_TELEMETRY: "0" };
  const child = spawn(node, flags, { cwd: place, env });
  const events = [[]], left = [...commands];
  const send = () => {
    if (left.length === 0) return child.stdin.end();
    const command = left.shift();
    child.stdin.write(`${JSON.stringify(typeof command === "function" ? command() : command)}\n`);
  };
  let rest = "", errors = "";
  child.stderr.on("data", (text) => (errors += text));
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const complete = (rest + text).split("\n");
    rest = complete.pop();
    for (const event of complete.map((line) => JSON.parse(line))) {
      events.at(-1).push({ ...event, requests: model.requests.length });
      if (event.type === "agent_settled" || event.command === "compact") { events.push([]); send(); }
    }
  });
  send();
  assert.equal(await new Promise((end) => child.on("close", end)), 0, errors);
  return { requests: model.requests, events, home: place };
}

const RULES = "The parser keeps line numbers, whatever the input is. ".repeat(300);
const ask = (count) => ({ type: "prompt", message: `Question ${count}: never touch migrations/${count}. ${RULES}` });
const COMPACT = { type: "compact" };
const result = (events) => events.find(({ command }) => command === "compact");
const notices = (events) => events.filter(({ method }) => method === "notify").map(({ message }) => message);

test("tcompact writes pi's summary, twice, and no model is asked", { skip }, async (context) => {
  const commands = [ask(1), ask(2), ask(3), COMPACT, ask(4), ask(5), ask(6), COMPACT, ask(7), ask(8), ask(9), { ...COMPACT, customInstructions: "Only the parser's $HOME." }, { type: "prompt", message: "Question: which port is it?" }];
  const { requests, events, home } = await session(context, commands);
  for (const [round, at] of [3, 7, 11].entries()) {
    const { success, data, error } = result(events[at]);
    assert.ok(success, error);
    assert.match(data.summary, /<summary>\n## The user, in order[^]*- \[(\d+:)?\d+\] Question 1: never touch migrations\/1[^]*\n<\/summary>/);
    // Each round names itself, so that its places are not taken for those of another.
    assert.equal(/\(Round (\d+)/.exec(data.summary)?.[1], round ? String(round + 1) : undefined);
    assert.deepEqual(notices(events[at]), []);
    assert.equal(events[at].at(-1).requests, events[at - 1].at(-1).requests, "nobody else wrote a summary");
  }
  const sent = JSON.stringify(requests[events[8].at(-1).requests - 1].messages);
  assert.ok(sent.includes("migrations/1") && sent.includes("Question 6") && sent.includes("Question 7"));
  assert.equal(sent.split("## The user, in order").length, 2, "the first summary is carried on, not quoted");
  assertArchive(home, "pi", 3);
  assertFound(requests, FACT);
});

test("pi compacts a session itself, and one line says why, however tcompact fails", { skip }, async (context) => {
  const place = folder(context), extension = join(place, "tcompact.ts"), { path, become } = standIn(join(place, "bin"));
  writeFileSync(extension, readFileSync(EXTENSION, "utf8").replace("TIMEOUT_MS = 120_000", "TIMEOUT_MS = 500"));
  const commands = FAILURES.flatMap(([, script]) => [ask(1), ask(2), ask(3), () => (become(script), COMPACT)]);
  const { events } = await session(context, commands, extension, path);
  for (const [index, [name, , line]] of FAILURES.entries()) {
    const compaction = events[4 * index + 3];
    assert.match(result(compaction).data?.summary ?? JSON.stringify(result(compaction)), /^Answer/, name);
    assertOneLine(notices(compaction), line, name);
  }
});

test("tcompact writes the summary where the archive cannot be written, and one line says so", { skip }, async (context) => {
  const own = process.env.XDG_STATE_HOME, state = join(folder(context), "state");
  context.after(() => { if (own === undefined) delete process.env.XDG_STATE_HOME; else process.env.XDG_STATE_HOME = own; });
  process.env.XDG_STATE_HOME = state;
  const inTheWay = () => (writeFileSync(state, "a file"), COMPACT);
  const { events } = await session(context, [ask(1), ask(2), ask(3), inTheWay], EXTENSION);
  const { success, data, error } = result(events[3]);
  assert.ok(success, error);
  assert.match(data.summary, /<summary>\n## The user, in order[^]*<\/summary>/);
  assert.doesNotMatch(data.summary, /tcompact search/);
  assertOneLine(notices(events[3]), /^tcompact: .*state.*; it goes on without an archive$/, "pi");
  process.env.XDG_STATE_HOME = `${state}.other`;
  const { path, become } = standIn(join(folder(context), "bin"));
  become(`cat > /dev/null; case "$*" in *--archive*) echo 'tcompact: a.jsonl cannot be written: no space; --archive names another place' >&2; exit 1; esac; echo '{"message": "Digest."}'`);
  const full = await session(context, [ask(1), ask(2), ask(3), COMPACT], EXTENSION, path);
  assert.equal(result(full.events[3]).data?.summary, "Digest.");
  assert.deepEqual(notices(full.events[3]), ["tcompact: a.jsonl cannot be written: no space; it goes on without an archive"]);
});

test("what was typed behind /compact is one argument, and a setting turns the archive off", { skip }, async (context) => {
  const place = folder(context), { path, become } = standIn(join(place, "bin")), own = process.env.TCOMPACT_NO_ARCHIVE;
  context.after(() => { if (own === undefined) delete process.env.TCOMPACT_NO_ARCHIVE; else process.env.TCOMPACT_NO_ARCHIVE = own; });
  process.env.TCOMPACT_NO_ARCHIVE = "1";
  become(`cat > /dev/null; printf '%s\\n' "$@" > '${place}/asked'; echo '{"message": "Digest."}'`);
  const { events } = await session(context, [ask(1), ask(2), ask(3), { ...COMPACT, customInstructions: "-- it's \"$HOME\"" }], EXTENSION, path);
  assert.equal(result(events[3]).data?.summary, "Digest.");
  const asked = readFileSync(join(place, "asked"), "utf8").split("\n");
  assert.ok(asked.includes("--focus=-- it's \"$HOME\"") && !asked.includes("--archive"), asked.join());
});

test("a pi that is too old for the extension is told so, and compacts the session itself", { skip }, async (context) => {
  const place = folder(context), code = readFileSync(EXTENSION, "utf8");
  const older = (name, from, to) => (writeFileSync(join(place, name), code.replace(from, to)), join(place, name));
  for (const extension of [
    // The name of the package before 0.74, and an event without what the extension needs.
    older("name.ts", 'import("@earendil-works/pi-coding-agent")', 'import("@earendil-works/another-agent")'),
    older("event.ts", 'pi.on("session_before_compact", async (event, ctx) => {', '$&\n    event = { ...event, preparation: undefined as never };'),
  ]) {
    const { events } = await session(context, [ask(1), ask(2), ask(3), COMPACT], extension);
    assertOneLine(notices(events[3]), /^tcompact: this pi is too old, and 1\.3\.0 or later is needed; pi compacts the session itself$/, extension);
    assert.match(result(events[3]).data?.summary ?? JSON.stringify(result(events[3])), /^Answer/);
  }
});
