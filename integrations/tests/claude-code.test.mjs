// The mod of Claude Code, in sessions of Claude Code itself.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { QUESTIONS, claude, environment, logged, session, skip, text } from "./claude-code.mjs";
import { FAILURES, HERE, OTHER_VERSIONS, assertArchive, assertFound, assertOneLine, folder, standIn } from "./help.mjs";
import { FACT } from "./model.mjs";

const skipHook = spawnSync("jq", ["--version"]).status === 0 ? false : "jq is not installed";

test("the mod passes its tests in Claude Code's kit", { skip }, (context) => {
  const place = folder(context);
  cpSync(join(HERE, "claude-code"), join(place, "mod"), { recursive: true });
  cpSync(join(HERE, "tests/claude-code.kit.ts"), join(place, "mod/kit.test.ts"));
  for (const command of ["validate", "test"]) {
    execFileSync(claude, ["plugin", command, join(place, "mod")], { env: environment(place), stdio: "pipe" });
  }
});

test("a Claude Code without mods is told so, and the version that has them", { skip: skipHook }, (context) => {
  const place = join(folder(context), "a folder"), file = join(place, "session.jsonl");
  const command = JSON.parse(readFileSync(join(HERE, "claude-code/hooks/hooks.json"), "utf8")).hooks.PreCompact[0].hooks[0].command;
  mkdirSync(place);
  cpSync(join(HERE, "claude-code"), join(place, "mod"), { recursive: true });
  const ran = (input, agent = "") => {
    const env = { PATH: "", AI_AGENT: agent, CLAUDE_PLUGIN_ROOT: join(place, "mod") };
    return spawnSync("/bin/sh", ["-c", command], { input, env, cwd: place, encoding: "utf8" });
  };
  const of = (version, more, agent) => {
    const line = { type: "user", version, message: { content: 'It said "version":"0.0.1".' } };
    writeFileSync(file, [line, { type: "summary" }].map((one) => `${JSON.stringify(one)}\n`).join("") + (more ?? ""));
    return ran(JSON.stringify({ session_id: "a", transcript_path: file, trigger: "auto" }), agent);
  };
  for (const version of ["2.1.286", "2.0.999", "1.0.120", "0.2.9"]) {
    const { status, stdout, stderr } = of(version);
    assert.deepEqual([status, stdout], [1, ""], version);
    assert.equal(stderr, `tcompact: this Claude Code is ${version}, and mods need 2.1.287 or later; it compacts the session itself\n`);
  }
  for (const done of [...["2.1.287", "2.1.1000", "2.2.0", "10.0.0", undefined].map((one) => of(one)), ran(""), ran('{"transcript_path": "/nonexistent"}')]) {
    assert.deepEqual([done.status, done.stdout, done.stderr], [0, "", ""]);
  }
  for (const [version, more, status] of OTHER_VERSIONS("2.1.300", "1.0.3", "2.1.286", "3.0.3")) {
    assert.equal(of(version, more).status, status, more.slice(0, 200));
  }
  // It is the one that runs, whoever began the session.
  for (const [agent, status] of [["claude-code_2-1-330_harness", 0], ["claude-code_2-1-287", 0], ["claude-code_2-1-286_harness", 1], ["codex", 1]]) {
    assert.equal(of("2.1.178", "", agent).status, status, agent);
  }
  const script = join(place, "mod/hooks/old-claude-code");
  writeFileSync(script, readFileSync(script, "utf8").replace(/^PATH=.*$/m, `PATH='${place}'`));
  writeFileSync(join(place, "sed"), "#!/bin/sh\nPATH=/usr/bin:/bin exec sed \"$@\"\n", { mode: 0o755 });
  assert.deepEqual([of("1.0.3").status, of("1.0.3").stderr], [0, ""], "without jq");
});

test("tcompact compacts a session, twice, and no model is asked", { skip }, async (context) => {
  const lines = [...QUESTIONS, "/compact", ...QUESTIONS, "/compact Only the parser's $HOME.", "Last one", "Question: which port is it?"];
  const { requests, events, home } = await session(context, lines, ["--plugin-dir", join(HERE, "claude-code")]);
  for (const at of [4, 9]) {
    assert.deepEqual(logged(events[at]), []);
    assert.equal(events[at].at(-1).requests, events[at - 1].at(-1).requests, "nobody else wrote a summary");
  }
  const [summary, ...kept] = requests.at(-1).messages;
  assert.match(text(summary), /^Here is a summary of the conversation to date:\n\n<summary>\n[^]*never touch migrations\/1[^]*<\/summary>\n\n\([^]*\(Round 2\./);
  assert.equal(text(summary).split("<summary>").length, 2, "the first summary is carried on, not quoted");
  assert.ok(kept.some((message) => text(message).startsWith(QUESTIONS[3])), "the newest are unchanged");
  const ids = (kind, key) => kept.flatMap(({ content }) => [content].flat()).filter(({ type }) => type === kind).map((part) => part[key]);
  assert.deepEqual(ids("tool_use", "id"), ids("tool_result", "tool_use_id"));
  assertArchive(home, "claude-code", 2);
  assertFound(requests, FACT);
});

test("tcompact compacts a session where the archive cannot be written, and one line says so", { skip }, async (context) => {
  const own = process.env.XDG_STATE_HOME, state = join(folder(context), "state");
  context.after(() => { if (own === undefined) delete process.env.XDG_STATE_HOME; else process.env.XDG_STATE_HOME = own; });
  process.env.XDG_STATE_HOME = state;
  writeFileSync(state, "a file");
  const { requests, events } = await session(context, [...QUESTIONS, "/compact", "Last one"], ["--plugin-dir", join(HERE, "claude-code")]);
  assertOneLine(logged(events[4]), /state.* cannot be written: .*; it goes on without an archive$/, "Claude Code");
  assert.match(text(requests.at(-1).messages[0]), /<summary>\n[^]*never touch migrations\/1/);
});

test("Claude Code compacts a session itself, and one line says why, however tcompact fails", { skip }, async (context) => {
  const place = folder(context), mod = join(place, "mod"), { path, become } = standIn(join(place, "bin"));
  cpSync(join(HERE, "claude-code"), mod, { recursive: true });
  const code = readFileSync(join(mod, "hooks/compact.js"), "utf8");
  writeFileSync(join(mod, "hooks/compact.js"), code.replace("TIMEOUT_MS = 120_000", "TIMEOUT_MS = 500"));
  const lines = FAILURES.flatMap(([, script]) => [() => (become(script), QUESTIONS[0]), "/compact"]);
  const { events } = await session(context, lines, ["--plugin-dir", mod], path);
  for (const [index, [name, , line]] of FAILURES.entries()) {
    const [before, after] = events.slice(2 * index);
    assertOneLine(logged(after), line, name);
    assert.ok(after.at(-1).requests > before.at(-1).requests, `${name}: a model was asked`);
    assert.ok(after.some(({ subtype }) => subtype === "compact_boundary"), name);
  }
});
