// pi itself makes a session, tcompact compacts its file in many ways, and pi resumes each result: what it sends to the
// model is compared with what the file says.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { check, counted, finish, installed, sent, skip, startModel, tcompact, work } from "./loader.mjs";

// pi needs a newer Node.js than these scripts; a package has one.
const VERSION = "1.6.0", NODE = `node-${process.platform}-${process.arch}`;
const packages = installed("@earendil-works/pi-coding-agent", VERSION, `${NODE}@22.23.3`);
const node = join(packages, NODE, "bin/node"), program = join(packages, "@earendil-works/pi-coding-agent/dist/cli.js");
const model = await startModel({ name: "bash", input: {} });

const project = join(work, "project"), agent = join(work, "agent");
for (const folder of [project, agent]) mkdirSync(folder, { recursive: true });
const models = [{ id: "stand-in", contextWindow: 200_000, maxTokens: 4096, reasoning: true }];
writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { local: { baseUrl: model.url, api: "openai-completions", apiKey: "none", models } } }));
writeFileSync(join(agent, "settings.json"), JSON.stringify({ compaction: { keepRecentTokens: 300 } }));
const env = { ...process.env, HOME: work, PI_CODING_AGENT_DIR: agent, PI_OFFLINE: "1", PI_TELEMETRY: "0" };

function start(flags) {
  const child = spawn(node, [program, "--provider", "local", "--model", "stand-in", ...flags], { cwd: project, env });
  child.on("error", (error) => skip(`pi: ${error.message}`));
  return child;
}

/** Says something in a session. Returns what pi sent at first: its lines, its system prompts and tools, and all of it. */
async function say(text, flags) {
  const before = model.requests.length, child = start(["-p", ...flags, text]);
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk) => (printed += chunk));
  child.stdin.end();
  await new Promise((ended) => child.on("close", ended));
  if (model.requests.length === before) return { lines: [printed] };
  const messages = model.requests[before], body = model.bodies[before];
  const places = messages.flatMap(({ role }, place) => (["system", "developer"].includes(role) ? [place] : []));
  return { lines: sent(messages), frame: [places, messages[0], JSON.parse(body).tools], body };
}

/** Gives commands to pi, one after the end of the other. */
async function command(file, ...commands) {
  const child = start(["--mode", "rpc", "--session", file]);
  let rest = "";
  const next = () => (commands.length > 0 ? child.stdin.write(`${JSON.stringify(commands.shift())}\n`) : child.stdin.end());
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    const complete = (rest + chunk).split("\n");
    rest = complete.pop();
    for (const event of complete.map((line) => JSON.parse(line))) if (event.type === "response") next();
  });
  next();
  await new Promise((ended) => child.on("close", ended));
}

const read = (file) => readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
const words = (content) => (typeof content === "string" ? content : content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n"));

/** What pi should send of a session, by the rules of pi, and how many messages that is. Its system prompt is one, too. */
function expected(file) {
  const entries = read(file), byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path = [];
  for (let at = entries.at(-1); at !== undefined && at.type !== "session"; at = byId.get(at.parentId)) path.unshift(at);
  const last = path.findLastIndex(({ type }) => type === "compaction");
  const first = path.findIndex(({ id }) => id === path[last]?.firstKeptEntryId);
  const isSystem = ({ message }) => message?.role === "system";
  const tail = first >= 0 ? path.slice(first, last).filter((entry) => !isSystem(entry)) : [];
  const kept = last < 0 ? path : [path[last], ...tail, ...path.slice(last + 1)];
  const edits = new Map(kept.filter(({ type }) => type === "context_edit").map(({ targetId, replacement }) => [targetId, replacement]));
  const lines = [];
  let messages = 0;
  for (const { id, type, summary, message } of kept) {
    if (edits.get(id) === null) continue;
    if (type === "compaction" && id === path[last].id) {
      lines.push(`user: The conversation history before this point was compacted into the following summary:\n\n<summary>\n${summary}\n</summary>`);
    } else if (message?.role === "user") {
      lines.push(`user: ${words(message.content)}`);
    } else if (message?.role === "toolResult") {
      lines.push(`result ${message.toolCallId}: ${words(edits.get(id)?.content ?? message.content)}`);
    } else if (message?.role === "assistant") {
      if (words(message.content) !== "") lines.push(`assistant: ${words(message.content)}`);
      message.content.filter((part) => part.type === "toolCall").forEach((call) => lines.push(`call ${call.id}`));
    } else if (message?.role === "bashExecution" && !message.excludeFromContext) {
      lines.push(`user: Ran \`${message.command}\`\n\`\`\`\n${message.output}\n\`\`\``);
    } else continue; // The system prompt, too, is no message.
    messages += 1;
  }
  return { lines, messages };
}

/** Resumes a copy of a session and goes on. */
async function resumes(what, file) {
  const copy = join(work, "copy.jsonl");
  writeFileSync(copy, readFileSync(file));
  const { lines, messages } = expected(copy);
  check(`${what}: tcompact counts what is sent`, counted(copy), messages);
  const found = await say("Go on.", ["--session", copy]);
  check(`${what}: what is sent`, found.lines, [...lines, "user: Go on."]);
  check(`${what}: the system prompt and the tools`, found.frame, frame);
  return found;
}

const sessions = join(agent, "sessions");
const made = () => readdirSync(sessions, { recursive: true }).map((name) => join(sessions, name)).find((name) => name.endsWith(".jsonl"));
const { frame } = await say("Please run nothing: what is a queue?", []);
const short = join(work, "short.jsonl");
writeFileSync(short, readFileSync(made()));
const questions = ["Run 1 command, never touch config/prod.yaml.", "Run 2 commands at once.", "Say it once more."];
questions.push('Call bash with {"command": "seq 3000"}', "Run 1 command again.");
for (const question of questions) await say(question, ["--continue"]);
await command(made(), { type: "bash", command: "echo by hand" }, { type: "bash", command: "echo not sent", excludeFromContext: true });
await say("Thanks.", ["--continue"]);
const whole = join(work, "whole.jsonl");
writeFileSync(whole, readFileSync(made()));
await resumes("one question", short);
const before = await resumes("as it was", whole);
const count = expected(whole).messages;

/** Without what is not sent, the same is sent, to the byte; and all of it comes back. */
async function resumesSlim(what, file) {
  const slim = join(work, "slim.jsonl"), { body, lines } = await resumes(`before ${what}`, file);
  writeFileSync(slim, readFileSync(file));
  const done = tcompact("slim", "-q", "--force", slim);
  check(`${what}: tcompact`, [done.code, done.error, statSync(slim).size < statSync(file).size], [0, "", true]);
  check(`${what}: all that is sent`, (await resumes(what, slim)).body === body, true);
  const back = tcompact("restore", "-q", "--force", "-i", `${slim}.cut.jsonl.zst`, slim);
  check(`${what}: restore`, [back.code, back.error, readFileSync(slim, "utf8") === readFileSync(file, "utf8")], [0, "", true]);
  return { lines };
}
await resumesSlim("slim", whole);

// Each cut, and other ways.
const ways = Array.from({ length: count - 1 }, (_, cut) => ["--keep", `messages:${cut + 1}`]);
ways.push(["--keep", "none"], ["--keep", "messages:3", "--pin", "first:1"], ["--keep", "messages:2", "--pin", "user"], ["--fit", "tokens:2000"]);
ways.push(["--keep", "messages:3", "--pin", "match:row 4"], ["--prune", "all", "--keep", "messages:9"], ["--prune", "all", "--keep", "messages:9", "--model", "none"]);
ways.push(["--prune", "results:1", "--keep", "messages:6"], ["--keep", "messages:4", "--model", "none"]);
const out = join(work, "out.jsonl");
async function compacts(what, flags, file, uncut) {
  const done = tcompact("-q", "--accept", "any", "--exit-status", ...flags, "-o", out, file);
  check(`${what}: tcompact`, [[0, 3].includes(done.code), done.error], [true, ""]);
  if (![0, 3].includes(done.code)) return;
  const { lines } = await resumes(what, out);
  const isPlain = flags[0] === "--keep" && flags.length === 2;
  if (!isPlain || done.code !== 0) return;
  check(`${what}: the summary comes first`, lines[0].startsWith("user: The conversation history before this point was compacted"), true);
  check(`${what}: the end as it was`, lines.slice(1), lines.length > 1 ? uncut.slice(1 - lines.length) : []);
}
for (const flags of ways) await compacts(flags.join(" "), flags, whole, before.lines);

// Five rounds that grow, and all of them back.
const archive = join(work, "cut.jsonl"), grown = join(work, "grown.jsonl");
writeFileSync(grown, readFileSync(whole));
for (const round of [1, 2, 3, 4, 5]) {
  const done = tcompact("-q", "--accept", "any", "--keep", "messages:3", "--archive", archive, "--in-place", grown);
  check(`round ${round}: tcompact`, [done.code, done.error], [0, ""]);
  await resumes(`round ${round}`, grown);
  const { lines } = expected(grown), question = `Run 1 command in round ${round}.`;
  check(`round ${round}: what is sent`, (await say(question, ["--session", grown])).lines, [...lines, `user: ${question}`]);
}
const back = tcompact("restore", "-q", archive, grown, "-o", out);
check("restore", [back.code, back.error], [0, ""]);
check("restore: all of it", back.code === 0 && readFileSync(out, "utf8").startsWith(readFileSync(whole, "utf8")), true);
check("restore: no compaction", back.code === 0 && read(out).some(({ type }) => type === "compaction"), false);

// What pi compacted itself, and cuts behind that.
const native = join(work, "native.jsonl");
writeFileSync(native, readFileSync(whole));
await command(native, { type: "compact" });
check("pi compacts", read(native).at(-1).type, "compaction");
await say("Run 1 command behind it.", ["--session", native]);
const { lines: uncut } = await resumesSlim("slim behind a compaction of pi", native);
for (let cut = 1; cut < expected(native).messages; cut++) await compacts(`behind a compaction of pi, messages:${cut}`, ["--keep", `messages:${cut}`], native, uncut);

// A branch that was left, as /tree leaves it: the last line follows an earlier one.
const left = join(work, "left.jsonl");
const answers = read(whole).filter(({ message }) => message?.role === "assistant");
const [question] = read(whole).filter(({ message }) => message?.role === "user");
const turned = { ...question, id: "0badcafe", parentId: answers[4].id, message: { ...question.message, content: "Another way." } };
writeFileSync(left, `${readFileSync(whole, "utf8")}${JSON.stringify(turned)}\n`);
await say("Run 1 command on this branch.", ["--session", left]);
const branch = await resumesSlim("slim with a branch that was left", left);
for (const flags of [["--keep", "messages:1"], ["--keep", "messages:5"], ["--fit", "tokens:600"]]) {
  await compacts(`with a branch that was left, ${flags.join(" ")}`, flags, left, branch.lines);
}

// A result that pi sends with other words, and an answer that it no longer sends.
const edited = join(work, "edited.jsonl"), end = read(whole).at(-1);
const output = read(whole).findLast(({ message }) => message?.role === "toolResult").id;
for (const [what, targetId, replacement] of [["a result with other words", output, { content: "Other words." }], ["an answer that is not sent", end.id, null]]) {
  const edit = { type: "context_edit", id: "0badcafe", parentId: end.id, timestamp: end.timestamp, targetId, replacement };
  writeFileSync(edited, `${readFileSync(whole, "utf8")}${JSON.stringify(edit)}\n`);
  const { lines } = await resumesSlim(`slim with ${what}`, edited);
  const ways = [["--keep", "messages:2"], ["--keep", "messages:8"], ["--keep", "none"], ["--keep", "messages:2", "--pin", "first:12"], ["--prune", "all", "--keep", "messages:8"]];
  for (const flags of ways) await compacts(`${what}, ${flags.join(" ")}`, flags, edited, lines);
}
if (process.env.KEEP_SESSIONS) {
  for (const file of [short, whole, native, left, edited]) writeFileSync(join(process.env.KEEP_SESSIONS, `pi-${file.split("/").at(-1)}`), readFileSync(file));
}
model.stop();
finish("pi");
