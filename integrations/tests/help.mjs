// What the tests of all agents need.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";

export const HERE = resolve(dirname(new URL(import.meta.url).pathname), "..");

// The folder of a package that `run-tests` installed for an agent, or undefined, for tests that are skipped then.
export function installed(agent, name) {
  const folder = join(process.env.AGENT_PACKAGES ?? "/nonexistent", agent, "node_modules", name);
  return existsSync(join(folder, "package.json")) ? folder : undefined;
}

export function folder(context) {
  const path = mkdtempSync(join(tmpdir(), "tcompact-agents-"));
  context.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

// A search path on which `tcompact` is a script that can be exchanged, and missing until then.
export function standIn(folder) {
  const without = process.env.PATH.split(delimiter).filter((place) => !existsSync(join(place, "tcompact")));
  mkdirSync(folder, { recursive: true });
  const program = join(folder, "tcompact");
  const become = (script) => {
    rmSync(program, { force: true });
    if (script !== undefined) writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  return { path: [folder, ...without].join(delimiter), become };
}

// How tcompact can fail, and a word of the line that says so; after half a second, time is up in these tests.
export const FAILURES = [
  ["is not on the path", undefined, /^tcompact: the program tcompact is not on your path; /],
  ["is too old", "cat > /dev/null; echo \"tcompact: there is no flag '--emit'\" >&2; echo 'try: tcompact --help' >&2; exit 2", /there is no flag '--emit'; update tcompact/],
  ["fails", "echo 'tcompact: the summarizer failed' >&2; echo 'try: another' >&2; exit 4", /the summarizer failed/],
  ["prints half of its answer", "cat > /dev/null; printf '{\"text\": \"half'", /JSON|exit code 0/],
  ["prints nothing", "cat > /dev/null", /JSON|exit code 0|empty/],
  ["takes too long", "exec sleep 20", /tim|abort|kill|exit/i],
];

// Sessions of a new version and an old one with a line at their end: the first, the line, and the exit code of a hook
// that refuses `old`. In a line, `said` is a version of something else.
export const OTHER_VERSIONS = (recent, said, old, other) => {
  const line = (value) => `${JSON.stringify(value)}\n`, call = (version) => ({ role: "assistant", content: [{ type: "tool_use", id: "a", name: "foo", input: { name: "foo", version } }] });
  return [
    [recent, line({ type: "assistant", version: recent, message: call(said) }), 0],
    [recent, line({ type: "assistant", message: call(said), version: recent }), 0],
    [recent, line({ type: "system", toolUseResult: { version: said } }), 0],
    [recent, `{"type":"user","version":"${said}","mess`, 0],
    [recent, line([{ version: said }]) + line(said) + "null\n7\n", 0],
    [recent, line({ version: { version: said } }) + line({ version: 1.2 }) + line({ version: null }), 0],
    [recent, line({ version: `${said} \u001b[31m` }), 0],
    // Only the end of a session is read.
    [said, line({ type: "user", message: { role: "user", content: "a".repeat(2_000_000) } }), 0],
    [recent, line({ type: "user", message: { role: "user", content: "é".repeat(2_000_000) } }) + line({ version: old }), 1],
    [recent, line({ type: "assistant", message: call(other), version: old }), 1],
    [old, line({ type: "assistant", message: call(other) }), 1],
  ];
};

export function assertOneLine(lines, pattern, name) {
  assert.equal(lines.length, 1, `${name}: ${lines.join("\n")}`);
  assert.match(lines[0], pattern, `${name}: ${lines[0]}`);
  assert.doesNotMatch(lines[0].trim(), /\n/, name);
}

// The archive of an agent whose home is `home`: one file, for the user's eyes alone.
export function assertArchive(home, agent, records) {
  const place = join(home, ".local/state/tcompact", agent), files = readdirSync(place);
  assert.equal(files.length, 1, files.join());
  const file = join(place, files[0]);
  assert.deepEqual([statSync(place).mode & 0o777, statSync(file).mode & 0o777], [0o700, 0o600]);
  assert.equal(readFileSync(file, "utf8").trimEnd().split("\n").length, records);
  return file;
}

// The agent asked a model that only knew the line in the result, which found what was cut away.
export function assertFound(requests, fact) {
  const asked = requests.findIndex(({ messages }) => JSON.stringify(messages.at(-1)).includes("which port"));
  assert.ok(asked >= 0 && !JSON.stringify(requests[asked].messages).includes(fact), "it was cut away");
  assert.ok(JSON.stringify(requests[asked + 1].messages.at(-1)).includes(fact), JSON.stringify(requests[asked + 1].messages.at(-1)).slice(0, 2000));
}
