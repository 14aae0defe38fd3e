// The plugin of opencode as opencode calls it, but without opencode; and its types.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { FAILURES, HERE, assertOneLine, folder, installed, standIn } from "./help.mjs";

const PLUGIN = readFileSync(join(HERE, "opencode/tcompact.js"), "utf8").replace("TIMEOUT_MS = 120_000", "TIMEOUT_MS = 500");

// The hook, what it tells the user, and the `tcompact` that it finds.
async function loaded(context) {
  const place = folder(context), { path, become } = standIn(join(place, "bin")), lines = [], toasts = [], own = { ...process.env };
  const state = join(place, "state");
  context.after(() => { for (const name of Object.keys(variables)) if (name in own) process.env[name] = own[name]; else delete process.env[name]; });
  const variables = { PATH: path, XDG_STATE_HOME: state, TCOMPACT_NO_ARCHIVE: "" };
  Object.assign(process.env, variables);
  writeFileSync(join(place, "tcompact.mjs"), PLUGIN);
  const { Tcompact } = await import(join(place, "tcompact.mjs"));
  const keep = (list) => ({ body }) => list.push(body.message);
  const hooks = await Tcompact({ client: { app: { log: keep(lines) }, tui: { showToast: keep(toasts) } } });
  return { transform: hooks["experimental.chat.messages.transform"], event: hooks.event, become, lines, toasts, place, state };
}

const opened = (name) => {
  const messages = [1, 2, 3].flatMap((count) => ["user", "assistant"].map((role) => ({
    info: { id: `msg_${name}_${count}_${role}`, sessionID: `ses_${name}`, role },
    parts: [{ type: "text", text: `Question ${count}` }],
  })));
  return { messages, ids: () => messages.map(({ info, parts }) => [info.id, parts[0].text]) };
};

test("opencode goes on with the whole session, and one line says why, however tcompact fails", async (context) => {
  const { transform, become, lines, toasts } = await loaded(context);
  for (const [name, script, line] of FAILURES) {
    const { messages, ids } = opened(name), before = ids();
    become(script);
    // The second request behind a question does not ask again.
    await transform({}, { messages });
    await transform({}, { messages });
    assert.deepEqual(ids(), before, name);
    assertOneLine(lines.splice(0), line, name);
    assertOneLine(toasts.splice(0), line, name);
  }
});

test("an opencode that never calls the hook is told so, once", async (context) => {
  const answered = (output) => ({ event: { type: "message.updated", properties: { info: { role: "assistant", tokens: { output } } } } });
  const others = [{ type: "session.idle", properties: {} }, { type: "message.updated", properties: { info: { role: "user" } } }];
  const { event, lines, toasts } = await loaded(context);
  for (const one of others) await event({ event: one });
  await event(answered(0));
  assert.deepEqual(lines, []);
  for (let count = 0; count < 3; count += 1) await event(answered(9));
  for (const told of [lines, toasts]) assertOneLine(told, /^tcompact: this opencode shows its plugins no messages, .*1\.18\.33 does$/, "opencode");
  const calls = await loaded(context);
  calls.become("cat > /dev/null; echo null");
  await calls.transform({}, { messages: opened("a").messages });
  await calls.event(answered(9));
  assert.deepEqual(calls.lines, []);
});

test("what the user takes back undoes a cut", async (context) => {
  const { transform, become } = await loaded(context);
  become(`cat > /dev/null; echo '{"message": "Digest.", "cutoff": 4}'`);
  const sent = async (messages) => (await transform({}, { messages }), messages.map(({ info, parts }) => parts[0].synthetic ? "summary" : info.id));
  assert.deepEqual(await sent(opened("a").messages), ["summary", "msg_a_3_user", "msg_a_3_assistant"]);
  become("cat > /dev/null; echo null");
  assert.deepEqual(await sent(opened("a").messages), ["summary", "msg_a_3_user", "msg_a_3_assistant"]);
  assert.deepEqual(await sent(opened("b").messages), opened("b").messages.map(({ info }) => info.id), "another session");
  const shorter = opened("a").messages.slice(0, 3);
  assert.deepEqual(await sent([...shorter]), shorter.map(({ info }) => info.id));
});

test("each session has an archive of its own, and a new one where it is cut from its start again", async (context) => {
  const { transform, become, place, state } = await loaded(context), folder = join(state, "tcompact/opencode");
  // The last argument is the archive.
  become(`cat > /dev/null; for file; do :; done; echo '{}' >> "$file"; echo '{"message": "Digest.", "cutoff": 2}'`);
  for (const name of ["a", "b", "../b c", "a"]) await transform({}, { messages: opened(name).messages });
  assert.deepEqual(readdirSync(folder), ["ses_.._b_c.msg_.._b_c_3_user.jsonl", "ses_a.msg_a_3_user.jsonl", "ses_b.msg_b_3_user.jsonl"]);
  const records = (name, count) => readFileSync(join(folder, `ses_${name}.msg_${name}_${count}_user.jsonl`), "utf8").split("\n").length - 1;
  assert.deepEqual([records("a", 3), records("b", 3)], [2, 1], "a second cut adds to the archive");
  // As for a title: it is short, and leaves the session's archive alone.
  become("cat > /dev/null; echo null");
  await transform({}, { messages: opened("a").messages.slice(0, 1) });
  assert.equal(records("a", 3), 2);
  become(`cat > /dev/null; for file; do :; done; echo '{}' >> "$file"; echo '{"message": "Digest.", "cutoff": 2}'`);
  await transform({}, { messages: opened("a").messages.slice(0, 3) });
  assert.deepEqual([records("a", 2), records("a", 3)], [1, 2], "no archive has two records of one round");
  process.env.TCOMPACT_NO_ARCHIVE = "1";
  become(`cat > /dev/null; echo "$*" > '${place}/flags'; echo '{"message": "Digest.", "cutoff": 4}'`);
  await transform({}, { messages: opened("c").messages });
  assert.doesNotMatch(readFileSync(join(place, "flags"), "utf8"), /archive/);
});

test("what is too long is cut where the archive cannot be written, and the user is told so once", async (context) => {
  const { transform, become, state, lines, toasts } = await loaded(context);
  const refuse = "case \"$*\" in *--archive*) echo 'tcompact: a.jsonl cannot be written: no space; --archive names another place' >&2; exit 1; esac";
  writeFileSync(state, "a file");
  for (const [name, check] of [["mkdir", ""], ["full", refuse]]) {
    for (const answer of ["null", '{"message": "Digest.", "cutoff": 4}', '{"message": "Digest.", "cutoff": 2}']) {
      become(`cat > /dev/null; ${check}; echo '${answer}'`.replaceAll("; ;", ";"));
      const { messages } = opened(name);
      await transform({}, { messages });
      assert.equal(messages[0].parts[0].synthetic, answer === "null" ? undefined : true);
    }
    for (const told of [lines, toasts]) assertOneLine(told.splice(0), /^tcompact: [^;]*; it goes on without an archive$/, name);
    rmSync(state, { recursive: true, force: true });
  }
});

const types = installed("opencode-types", "@opencode-ai/plugin"), compiler = installed("opencode-types", "typescript");
test("the plugin has the types of @opencode-ai/plugin", { skip: types && compiler ? false : "@opencode-ai/plugin or typescript is not installed" }, (context) => {
  const place = folder(context);
  copyFileSync(join(HERE, "opencode/tcompact.js"), join(place, "tcompact.js"));
  symlinkSync(join(types, "../.."), join(place, "node_modules"));
  const flags = ["--checkJs", "--noEmit", "--target", "es2023", "--module", "nodenext", "--skipLibCheck", "--types", "node"];
  execFileSync(process.execPath, [join(compiler, "bin/tsc"), ...flags, "tcompact.js"], { cwd: place });
});
