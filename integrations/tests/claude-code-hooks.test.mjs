// The hooks for a Claude Code without mods, in sessions of Claude Code itself and alone.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { FAILURES, HERE, OTHER_VERSIONS, assertArchive, assertFound, assertOneLine, folder, standIn } from "./help.mjs";
import { FACT } from "./model.mjs";
import { QUESTIONS, session, skip, text } from "./claude-code.mjs";

const HOOK = join(HERE, "claude-code-hooks/give-back");
const skipHook = spawnSync("jq", ["--version"]).status === 0 ? false : "jq is not installed";

// The settings of the README's step, with the hook of this repository.
function settings(place) {
  const file = join(place, "settings.json");
  const text = readFileSync(join(HERE, "claude-code-hooks/settings.json"), "utf8");
  writeFileSync(file, text.replaceAll("~/.claude/hooks/give-back", HOOK));
  return ["--settings", file];
}

test("a session has the digest after Claude Code's own compaction", { skip: skip || skipHook }, async (context) => {
  const lines = [...QUESTIONS, "/compact", "Question 5: and never touch schema/", "/compact", "Question 6", "Question: which port is it?"];
  const { requests, home } = await session(context, lines, settings(folder(context)));
  const [, given] = requests.at(-1).messages.map(text).join("\n").split("What was said and done before the compaction");
  for (const words of [/- \[\d+\] Question 1: never touch migrations\/1/, /- \[\d+\] Question 5: and never touch schema/]) {
    assert.match(given?.slice(0, 9500) ?? "nothing", words);
  }
  assert.doesNotMatch(given, /said and done|being continued from/, "neither it nor a summary is in the digest");
  assertArchive(home, "hooks", 1);
  assertFound(requests, FACT);
});

test("a compaction goes on where tcompact fails", { skip: skip || skipHook }, async (context) => {
  const place = folder(context);
  const { path } = standIn(join(place, "bin"));
  const { requests, events } = await session(context, [QUESTIONS[0], "/compact", "Question 2"], settings(place), path);
  assert.ok(events[1].some(({ subtype }) => subtype === "compact_boundary"));
  assert.doesNotMatch(requests.at(-1).messages.map(text).join("\n"), /What was said and done/);
});

// Runs the hook alone, on a session of the fixtures.
function hook(event, file, path = process.env.PATH, variables = {}) {
  const input = JSON.stringify({ hook_event_name: event, transcript_path: file, trigger: "auto", source: "compact" });
  const env = { ...process.env, AI_AGENT: "", PATH: path, HOME: dirname(file), ...variables };
  return spawnSync(HOOK, { input, encoding: "utf8", env, cwd: dirname(file), timeout: 30_000 });
}

test("SessionStart prints once what PreCompact noted", { skip: skipHook }, (context) => {
  // Codex has hooks of the same names.
  for (const [session, words] of [["claude-code/parallel", "Prices in the cart are a cent off"], ["codex/rollout", "How much flour"]]) {
    const place = join(folder(context), "it's \"here\" $HOME"), file = join(place, "a session.jsonl"), digest = `${file}.digest`;
    mkdirSync(place);
    cpSync(join(HERE, `../fixtures/${session}.jsonl`), file);
    const noted = hook("PreCompact", file);
    assert.deepEqual([noted.status, noted.stdout, noted.stderr, statSync(digest).mode & 0o777], [0, "", "", 0o600]);
    const { stdout, status } = hook("SessionStart", file);
    assert.equal(status, 0);
    assert.ok(stdout.includes(words), stdout);
    assertArchive(place, "hooks", 1);
    // The line is a command for a shell, whatever the name of the folder is.
    const [, search] = /`(tcompact search [^`]*)`/.exec(stdout), [, show] = /`(tcompact show [^`]*)`/.exec(stdout);
    const found = spawnSync("/bin/sh", ["-c", search.replace("REGEX", "'(?i).' --count")], { encoding: "utf8" });
    assert.ok(Number(found.stdout) > 3, found.stderr);
    assert.match(spawnSync("/bin/sh", ["-c", show.replace("12", "2")], { encoding: "utf8" }).stdout, /^\[(1:)?2\] /);
    assert.deepEqual([hook("SessionStart", file).stdout, existsSync(digest)], ["", false]);
  }
});

test("the archive is the whole session each time, one that failed leaves it, and a setting turns it off", { skip: skipHook }, (context) => {
  const place = folder(context), file = join(place, "session.jsonl"), { path, become } = standIn(join(place, "bin"));
  cpSync(join(HERE, "../fixtures/claude-code/parallel.jsonl"), file);
  for (const at of [1, 2]) assert.equal(hook("PreCompact", file).status, 0, `${at}`);
  const archive = assertArchive(place, "hooks", 1), before = readFileSync(archive);
  become("cat > /dev/null; exit 1");
  hook("PreCompact", file, path);
  assert.deepEqual(readFileSync(archive), before);
  assert.equal(hook("PreCompact", file, undefined, { XDG_STATE_HOME: "relative" }).status, 0);
  assert.ok(!existsSync(join(place, "relative")));
  // No other file is touched, however its name looks.
  for (const name of [".jsonl", ".new.jsonl"]) writeFileSync(join(place, name), "mine");
  for (const variables of [{ TCOMPACT_NO_ARCHIVE: "1" }, { HOME: "", XDG_STATE_HOME: "" }]) {
    assert.equal(hook("PreCompact", file, undefined, variables).status, 0);
    assert.doesNotMatch(hook("SessionStart", file, undefined, variables).stdout, /tcompact search/);
  }
  for (const name of [".jsonl", ".new.jsonl"]) assert.equal(readFileSync(join(place, name), "utf8"), "mine");
});

test("the digest is noted where the archive cannot be written", { skip: skipHook }, (context) => {
  const within = (name) => (state) => mkdirSync(join(state, "tcompact/hooks", name), { recursive: true });
  for (const prepare of [(state) => writeFileSync(state, "a file"), within("session.jsonl.new.jsonl"), within("session.jsonl/session.jsonl.new.jsonl/a")]) {
    const place = folder(context), file = join(place, "session.jsonl"), state = join(place, "state");
    cpSync(join(HERE, "../fixtures/claude-code/parallel.jsonl"), file);
    prepare(state);
    const { status, stdout, stderr } = hook("PreCompact", file, undefined, { XDG_STATE_HOME: state });
    assert.deepEqual([status, stdout], [0, ""]);
    assertOneLine([stderr], /^tcompact: .*; the digest has no new archive\n$/, state);
    assert.doesNotMatch(stderr, /--archive/);
    assert.match(hook("SessionStart", file, undefined, { XDG_STATE_HOME: state }).stdout, /Prices in the cart are a cent off/);
  }
});

test("one line says why nothing was noted, however tcompact fails", { skip: skipHook }, (context) => {
  const place = folder(context), file = join(place, "session.jsonl"), { path, become } = standIn(join(place, "bin"));
  cpSync(join(HERE, "../fixtures/claude-code/parallel.jsonl"), file);
  // Claude Code ends a hook that takes too long by itself.
  for (const [name, script, line] of FAILURES.filter(([name]) => name !== "takes too long")) {
    hook("PreCompact", file);
    become(script);
    const { status, stdout, stderr } = hook("PreCompact", file, path);
    // 2 would stop the compaction.
    assert.deepEqual([status, stdout], [1, ""]);
    assertOneLine([stderr], name.startsWith("prints") ? /^tcompact: / : line, name);
    assert.match(stderr, /the session is compacted without its digest\n$/);
    assert.equal(hook("SessionStart", file).stdout, "", "what an earlier compaction noted is not given back");
  }
});

test("a Claude Code that gives nothing back is told so", { skip: skipHook }, (context) => {
  const place = folder(context), file = join(place, "session.jsonl");
  const session = readFileSync(join(HERE, "../fixtures/claude-code/parallel.jsonl"), "utf8");
  const noted = (version, more = "") => (writeFileSync(file, session.replaceAll("2.0.76", version) + more), hook("PreCompact", file));
  for (const version of ["1.0.9", "1.0.48", "1.0.61", "0.2.126"]) {
    const { status, stderr } = noted(version);
    assert.equal(status, 1);
    assertOneLine([stderr], new RegExp(`^tcompact: this Claude Code is ${version}, and 1.0.62 or later gives a digest back; none is written\n$`), version);
    assert.ok(!existsSync(`${file}.digest`));
  }
  for (const version of ["1.0.62", "1.0.100", "1.1.0", "2.1.287", "10.0.1"]) assert.deepEqual([noted(version).status, noted(version).stderr], [0, ""], version);
  const resumed = (noted("1.0.48"), hook("PreCompact", file, undefined, { AI_AGENT: "claude-code_2-1-330_harness" }));
  assert.deepEqual([resumed.status, resumed.stderr], [0, ""], "a newer one resumed the session");
  // The version in a call, in a text, of a line that is cut off, or of no known form is not that of Claude Code.
  for (const [version, more, status] of OTHER_VERSIONS("2.1.300", "1.0.3", "1.0.3", "3.0.3")) {
    rmSync(`${file}.digest`, { force: true });
    const { stderr } = noted(version, more);
    assert.equal(/this Claude Code is/.test(stderr), status === 1, more.slice(0, 200));
    if (status === 1 || more.includes("tool_use")) assert.equal(existsSync(`${file}.digest`), status === 0, stderr);
  }
});

test("nothing of the working directory is run", (context) => {
  const place = folder(context), taken = join(place, "TAKEN"), file = join(place, "session.jsonl");
  cpSync(join(HERE, "../fixtures/claude-code/parallel.jsonl"), file);
  mkdirSync(join(place, "bin"));
  for (const name of ["tcompact", "jq", "cat", "sed", "rm", "mv", "sh", "printf"]) {
    for (const at of [name, join("bin", name)]) {
      writeFileSync(join(place, at), `#!/bin/sh\necho ${at} >> '${taken}'\n`, { mode: 0o755 });
    }
  }
  for (const event of ["PreCompact", "SessionStart"]) {
    const input = JSON.stringify({ hook_event_name: event, transcript_path: file });
    for (const before of ["", ".", "bin", "./bin", "..:.", "a*"]) {
      const env = { ...process.env, HOME: place, PATH: `${before}:${process.env.PATH}:` };
      spawnSync(HOOK, { input, env, cwd: place, timeout: 30_000 });
      assert.ok(!existsSync(taken), `${event} with ${before}`);
    }
  }
});

test("an input without a transcript stops nothing", { skip: skipHook }, () => {
  for (const input of ["", "{}", "[", '{"transcript_path": "/nonexistent"}']) {
    assert.equal(spawnSync(HOOK, { input }).status, 1, input);
  }
});
