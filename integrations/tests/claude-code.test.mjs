// Sessions of Claude Code itself, with a stand-in for the model: `/compact` as users type it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FAILURES, HERE, assertOneLine, folder, installed, pathWith } from "./help.mjs";
import { startModel } from "./model.mjs";

const home = installed(`@anthropic-ai/claude-code-${process.platform}-${process.arch}`);
const claude = home && join(home, "claude");
const skip = claude ? false : "@anthropic-ai/claude-code is not installed";

const environment = (place, more) => ({
  ...process.env, HOME: place, CLAUDE_CONFIG_DIR: join(place, ".claude"), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1", ANTHROPIC_API_KEY: "none", ...more,
});
const RULES = "The parser keeps line numbers, whatever the input is. ".repeat(700);
const QUESTIONS = [1, 2, 3, 4].map((count) => `Question ${count}: never touch migrations/${count}. ${RULES}`);

// Types the lines, one after the answer to the other. Returns the requests, and for each line the events until its end.
async function session(context, lines, flags, path = process.env.PATH) {
  const place = folder(context);
  const model = await startModel({ name: "Bash", input: { command: "echo out", description: "Echo" } });
  context.after(() => model.stop());
  const command = ["-p", "--allowedTools", "Bash", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", ...flags];
  const options = { cwd: place, env: environment(place, { PATH: path, ANTHROPIC_BASE_URL: model.url }) };
  const child = spawn(claude, command, options);
  const events = [[]], left = [...lines];
  const type = () => left.length === 0 ? child.stdin.end()
    : child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content: left.shift() } })}\n`);
  let rest = "", errors = "";
  child.stderr.on("data", (text) => (errors += text));
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const complete = (rest + text).split("\n");
    rest = complete.pop();
    for (const event of complete.map((line) => JSON.parse(line))) {
      events.at(-1).push({ ...event, requests: model.requests.length });
      if (event.type === "result") { events.push([]); type(); }
    }
  });
  type();
  assert.equal(await new Promise((end) => child.on("close", end)), 0, errors);
  return { requests: model.requests, events };
}
const logged = (events) => events.filter(({ subtype }) => subtype === "ui_log").map(({ text }) => text);
const text = ({ content }) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n"));

test("the mod passes its tests in Claude Code's kit", { skip }, (context) => {
  const place = folder(context);
  cpSync(join(HERE, "claude-code"), join(place, "mod"), { recursive: true });
  cpSync(join(HERE, "tests/claude-code.kit.ts"), join(place, "mod/kit.test.ts"));
  for (const command of ["validate", "test"]) {
    execFileSync(claude, ["plugin", command, join(place, "mod")], { env: environment(place), stdio: "pipe" });
  }
});

test("tcompact compacts a session, twice, and no model is asked", { skip }, async (context) => {
  const lines = [...QUESTIONS, "/compact", ...QUESTIONS, "/compact", "Last one"];
  const { requests, events } = await session(context, lines, ["--plugin-dir", join(HERE, "claude-code")]);
  for (const at of [4, 9]) {
    assert.deepEqual(logged(events[at]), []);
    assert.equal(events[at].at(-1).requests, events[at - 1].at(-1).requests, "nobody else wrote a summary");
  }
  const [summary, ...kept] = requests.at(-1).messages;
  assert.match(text(summary), /^Here is a summary of the conversation to date:\n\n<summary>\n[^]*never touch migrations\/1[^]*<\/summary>/);
  assert.equal(text(summary).split("<summary>").length, 2, "the first summary is carried on, not quoted");
  assert.ok(kept.some((message) => text(message).startsWith(QUESTIONS[3])), "the newest are unchanged");
  const ids = (kind, key) => kept.flatMap(({ content }) => [content].flat()).filter(({ type }) => type === kind).map((part) => part[key]);
  assert.deepEqual(ids("tool_use", "id"), ids("tool_result", "tool_use_id"));
});

for (const [name, script, line] of FAILURES) {
  test(`Claude Code compacts the session itself where tcompact ${name}`, { skip }, async (context) => {
    const place = folder(context), mod = join(place, "mod");
    cpSync(join(HERE, "claude-code"), mod, { recursive: true });
    const code = readFileSync(join(mod, "hooks/compact.js"), "utf8");
    writeFileSync(join(mod, "hooks/compact.js"), code.replace("TIMEOUT_MS = 120_000", "TIMEOUT_MS = 500"));
    const { events } = await session(context, [QUESTIONS[0], "/compact"], ["--plugin-dir", mod], pathWith(join(place, "bin"), script));
    assertOneLine(logged(events[1]), line);
    assert.ok(events[1].at(-1).requests > events[0].at(-1).requests, "a model was asked");
    assert.ok(events[1].some(({ subtype }) => subtype === "compact_boundary"), JSON.stringify(events[1]).slice(0, 2000));
  });
}
