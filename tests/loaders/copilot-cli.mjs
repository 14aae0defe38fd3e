// GitHub Copilot CLI itself makes a session, tcompact compacts its events in many ways, and Copilot resumes each result:
// what it sends to the model is compared with what the file says.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { check, counted, finish, installed, sent, startModel, tcompact, work } from "./loader.mjs";

const platform = `@github/copilot-${process.platform}-${process.arch}`;
const program = join(installed(platform, "1.0.102"), platform, "copilot");
const model = await startModel({ name: "bash", input: { description: "Run" } });

const project = join(work, "project"), home = join(work, "copilot");
mkdirSync(project, { recursive: true });
const env = {
  ...process.env, HOME: work, COPILOT_HOME: home, COPILOT_OFFLINE: "true", COPILOT_AUTO_UPDATE: "false",
  COPILOT_PROVIDER_BASE_URL: model.url, COPILOT_MODEL: "stand-in", COPILOT_ALLOW_ALL: "true",
};
const folder = (id) => join(home, "session-state", id);
const events = (id) => join(folder(id), "events.jsonl");

/** Says something in a session. Returns what Copilot sent at first, and all that it printed. */
async function say(id, text, flag = "--resume") {
  const before = model.requests.length;
  const child = spawn(program, [flag, id, "-p", text, "--allow-all-tools", "--no-color"], { cwd: project, env });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk) => (printed += chunk));
  await new Promise((ended) => child.on("close", ended));
  const request = model.requests[before];
  return { lines: request ? sent(request).map(withoutFrame) : [printed], printed };
}

// The message in which Copilot sends a summary, with what it quotes of the user.
function withoutFrame(line) {
  if (!line.startsWith("user: Some of the conversation history has been summarized")) return line;
  const quotes = [...line.matchAll(/<user_message>\n([^]*?)\n<\/user_message>/g)].map(([, quote]) => quote);
  const summary = /Here is a summary of the prior context:\n<summary>\n([^]*)\n<\/summary>\n$/.exec(line)?.[1];
  return `summary: ${JSON.stringify(quotes)} ${summary}`;
}

/** What Copilot should send of a session, by the rules of Copilot, and how many messages that is. */
function expected(file) {
  const events = readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  const results = new Map(events.filter(({ type }) => type === "tool.execution_complete").map(({ data }) => [data.toolCallId, data]));
  let lines = [], said = [], messages = 0;
  for (const { type, data, agentId } of events) {
    if (agentId) continue;
    if (type === "user.message") {
      said.push(data.content);
      lines.push(`user: ${data.transformedContent ?? data.content}`);
      messages += 1;
    } else if (type === "assistant.message") {
      if (data.content !== "") lines.push(`assistant: ${data.content}`);
      const calls = (data.toolRequests ?? []).map(({ toolCallId }) => toolCallId);
      lines.push(...calls.map((id) => `call ${id}`));
      lines.push(...calls.map((id) => `result ${id}: ${results.get(id).success ? results.get(id).result.content : results.get(id).error.message}`));
      messages += 1 + calls.length;
    } else if (type === "session.compaction_complete" && data.success && data.summaryContent) {
      lines = [`summary: ${JSON.stringify(said)} ${data.summaryContent}`];
      messages = said.length + 1;
    }
  }
  return { lines, messages };
}

const withoutTime = (lines) => lines.map((line) => line.replace(/<current_datetime>.*?<\/current_datetime>\n\n/, ""));

/** Resumes a copy of a session with other events, and goes on. */
async function resumes(what, source, file) {
  const id = randomUUID(), old = folder(source);
  mkdirSync(folder(id), { recursive: true });
  for (const name of readdirSync(old)) {
    if (statSync(join(old, name)).isFile()) writeFileSync(join(folder(id), name), readFileSync(join(old, name), "utf8").replaceAll(source, id));
  }
  writeFileSync(events(id), readFileSync(file, "utf8").replaceAll(source, id));
  const { lines, messages } = expected(events(id));
  check(`${what}: tcompact counts what is sent`, counted(events(id)), messages);
  const { lines: found } = await say(id, "Go on.");
  check(`${what}: what is sent`, withoutTime(found), withoutTime([...lines, "user: Go on."]));
  return id;
}

const id = randomUUID();
for (const question of ["Please run nothing: what is a queue?", "Run 1 command, never touch config/prod.yaml.", "Run 2 commands at once.", "Say it once more.", "Run 1 command again."]) {
  await say(id, question, "--session-id");
}
const whole = join(work, "whole.jsonl");
writeFileSync(whole, readFileSync(events(id)));
const count = counted(whole);
await resumes("as it was", id, whole);

// Without what is not sent, the same is sent.
async function resumesSlim(what, file) {
  const slim = join(work, "slim.jsonl");
  writeFileSync(slim, readFileSync(file));
  check(`${what}: tcompact slim`, [tcompact("slim", "--force", "--no-archive", slim).code, statSync(slim).size < statSync(file).size], [0, true]);
  check(`${what}: what should be sent`, expected(slim), expected(file));
  await resumes(what, id, slim);
}
await resumesSlim("slim", whole);

// Each cut, and other ways.
const ways = Array.from({ length: count - 1 }, (_, cut) => ["--keep", `messages:${cut + 1}`]);
ways.push(["--keep", "messages:3", "--pin", "first:1"], ["--keep", "messages:2", "--pin", "user"], ["--fit", "tokens:900"]);
ways.push(["--prune", "all", "--keep", "messages:6"], ["--prune", "results:1", "--keep", "messages:9"], ["--keep", "messages:4", "--model", "none"]);
const out = join(work, "out.jsonl");
for (const flags of ways) {
  const done = tcompact("-q", "--exit-status", ...flags, "-o", out, whole);
  // A cut within the first turn can have nothing to remove.
  check(`${flags.join(" ")}: tcompact`, [0, 3].includes(done.code), true);
  if (done.code === 0) await resumes(flags.join(" "), id, out);
}

// Five rounds that grow.
const archive = join(work, "cut.jsonl");
for (const round of [1, 2, 3, 4, 5]) {
  check(`round ${round}: tcompact`, tcompact("-q", "--keep", "messages:3", "--archive", archive, "--in-place", events(id)).code, 0);
  await resumes(`round ${round}`, id, events(id));
  const { lines } = expected(events(id));
  const { lines: found } = await say(id, `Run 1 command in round ${round}.`);
  check(`round ${round}: what is sent`, withoutTime(found), withoutTime([...lines, `user: Run 1 command in round ${round}.`]));
}

// What Copilot compacted itself, and cuts behind that.
const { printed } = await say(id, "/compact");
const native = join(work, "native.jsonl");
writeFileSync(native, readFileSync(events(id)));
check("Copilot compacts", readFileSync(native, "utf8").split("\n").at(-3)?.includes("compaction") || printed, true);
await resumes("a compaction of Copilot", id, native);
await resumesSlim("slim behind a compaction of Copilot", native);
await say(id, "Run 1 command behind it.");
writeFileSync(native, readFileSync(events(id)));
for (let cut = 1; cut <= counted(native); cut++) {
  const done = tcompact("-q", "--keep", `messages:${cut}`, "--exit-status", "-o", out, native);
  check(`behind a compaction of Copilot, messages:${cut}: tcompact`, [0, 3].includes(done.code), true);
  if (done.code === 0) await resumes(`behind a compaction of Copilot, messages:${cut}`, id, out);
}
if (process.env.KEEP_SESSIONS) {
  for (const file of [whole, native]) writeFileSync(join(process.env.KEEP_SESSIONS, `copilot-${file.split("/").at(-1)}`), readFileSync(file));
}
model.stop();
finish("GitHub Copilot CLI");
