// opencode itself makes a session, tcompact compacts its export in many ways, and opencode imports each result and goes
// on with it: what it sends to the model is compared with what the file says.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { FIXTURES, check, counted, finish, installed, sent, skip, startModel, tcompact, work } from "./loader.mjs";

const platform = `opencode-${process.platform}-${process.arch}`;
const program = join(installed(platform, "1.18.33"), platform, "bin/opencode");
const model = await startModel({ name: "bash", input: { description: "Run" } });

const project = join(work, "project");
mkdirSync(project, { recursive: true });
const models = { "stand-in": { limit: { context: 200_000, output: 4096 } } };
const local = { npm: "@ai-sdk/openai-compatible", options: { baseURL: model.url, apiKey: "none" }, models };
const config = { model: "local/stand-in", small_model: "local/stand-in", permission: "allow", share: "disabled", provider: { local }, compaction: { tail_turns: 2 } };
const env = {
  ...process.env, HOME: work, PWD: project, OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
  OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1",
  XDG_CONFIG_HOME: "", XDG_DATA_HOME: "", XDG_CACHE_HOME: "", XDG_STATE_HOME: "",
};
const server = spawn(program, ["serve", "--port", "0"], { cwd: project, env, stdio: ["ignore", "pipe", "ignore"] });
server.on("error", (error) => skip(`opencode: ${error.message}`));
process.on("exit", () => server.kill("SIGKILL"));
const url = await new Promise((found) => {
  server.stdout.setEncoding("utf8").on("data", (text) => /http:\S+/.test(text) && found(/http:\S+/.exec(text)[0]));
});

async function ask(method, where, body) {
  const response = await fetch(url + where, { method, headers: { "content-type": "application/json" }, body: body && JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${where}: ${text}`);
  return text ? JSON.parse(text) : undefined;
}

/** Says something in a session. Returns what opencode sent at first. */
async function say(id, text) {
  const before = model.requests.length;
  await ask("POST", `/session/${id}/message`, { parts: [{ type: "text", text }] });
  return sent(model.requests[before]);
}

const cli = (...args) => spawnSync(program, args, { cwd: project, env, encoding: "utf8", maxBuffer: 1e9 });
const exported = (id, file) => { writeFileSync(file, cli("export", id).stdout); return file; };

/** What opencode should send of an exported session, by the rules of opencode. */
function expected(file) {
  const messages = JSON.parse(readFileSync(file, "utf8")).messages;
  messages.sort((one, other) => one.info.time.created - other.info.time.created || (one.info.id < other.info.id ? -1 : 1));
  const isMark = (message) => message.info.role === "user" && message.parts.some((part) => part.type === "compaction");
  const answers = (mark) => messages.find(({ info }) => info.summary && info.finish && !info.error && info.parentID === mark.info.id);
  const at = messages.findLastIndex((message) => isMark(message) && answers(message));
  let kept = messages;
  if (at >= 0) {
    const first = messages[at].parts.find((part) => part.type === "compaction").tail_start_id;
    const tail = messages.findIndex(({ info }) => info.id === first);
    kept = [...messages.slice(at, at + 2), ...(tail >= 0 ? messages.slice(tail, at) : []), ...messages.slice(at + 2)];
  }
  const lines = [];
  for (const { info, parts } of kept) {
    const texts = parts.filter((part) => part.type === "text").map((part) => part.text);
    if (parts.some((part) => part.type === "compaction")) texts.push("What did we do so far?");
    if (texts.length > 0) lines.push(`${info.role}: ${texts.join("\n")}`);
    const calls = parts.filter((part) => part.type === "tool");
    calls.forEach(({ callID }) => lines.push(`call ${callID}`));
    calls.forEach(({ callID, state }) => lines.push(`result ${callID}: ${state.output ?? state.error}`));
  }
  return { lines, messages: kept.filter((message) => !isMark(message)).length };
}

/** Imports a file in the place of its session, and goes on. */
async function resumes(what, file) {
  const { info } = JSON.parse(readFileSync(file, "utf8"));
  await ask("DELETE", `/session/${info.id}`);
  const done = cli("import", file);
  check(`${what}: opencode imports it`, done.stdout.includes("Imported session"), true);
  const { lines, messages } = expected(file);
  check(`${what}: tcompact counts what is sent`, counted(file), messages);
  check(`${what}: what is sent`, await say(info.id, "Go on."), [...lines, "user: Go on."]);
}

const { id } = await ask("POST", "/session", { title: "A title" });
for (const question of ["Please run nothing: what is a queue?", "Run 1 command, never touch config/prod.yaml.", "Run 2 commands at once.", "Say it once more.", "Run 1 command again."]) {
  await say(id, question);
}
const whole = exported(id, join(work, "whole.json"));
if (process.env.KEEP_SESSIONS) writeFileSync(join(process.env.KEEP_SESSIONS, "whole.json"), readFileSync(whole));
const count = counted(whole);
check("tcompact counts what is there", count, expected(whole).messages);

// Without what is not sent, the same is sent.
const slim = join(work, "slim.json");
writeFileSync(slim, readFileSync(whole));
check("slim: tcompact", [tcompact("slim", "--force", "--no-archive", slim).code, statSync(slim).size < statSync(whole).size], [0, true]);
check("slim: what should be sent", expected(slim), expected(whole));
await resumes("slim", slim);

// Each cut, and other ways.
const ways = Array.from({ length: count - 1 }, (_, cut) => ["--keep", `messages:${cut + 1}`]);
ways.push(["--keep", "messages:3", "--pin", "first:1"], ["--keep", "messages:2", "--pin", "user"], ["--fit", "tokens:900"]);
ways.push(["--prune", "all", "--keep", "messages:4"], ["--prune", "results:1", "--keep", "messages:6"], ["--keep", "messages:4", "--model", "none"]);
const out = join(work, "out.json");
for (const flags of ways) {
  const done = tcompact("-q", ...flags, "-o", out, whole);
  check(`${flags.join(" ")}: tcompact`, [done.code, done.error], [0, ""]);
  if (done.code === 0) await resumes(flags.join(" "), out);
}

// Five rounds that grow, each from what opencode exports of the last.
const archive = join(work, "cut.jsonl");
let last = whole;
const grown = join(work, "grown.json");
writeFileSync(grown, readFileSync(whole));
for (const round of [1, 2, 3, 4, 5]) {
  check(`round ${round}: tcompact`, tcompact("-q", "--keep", "messages:3", "--archive", archive, "--in-place", grown).code, 0);
  await resumes(`round ${round}`, grown);
  await say(id, `Run 1 command in round ${round}.`);
  exported(id, grown);
  check(`round ${round}: tcompact counts what is sent`, counted(grown), expected(grown).messages);
}

// What opencode compacted itself, before and behind a cut of ours.
await ask("POST", `/session/${id}/summarize`, { providerID: "local", modelID: "stand-in" });
const native = exported(id, join(work, "native.json"));
check("a compaction of opencode: tcompact counts what is sent", counted(native), expected(native).messages);
await resumes("a compaction of opencode", native);
await say(id, "Run 1 command behind it.");
exported(id, native);
for (let cut = 1; cut <= counted(native); cut++) {
  const done = tcompact("-q", "--keep", `messages:${cut}`, "--exit-status", "-o", out, native);
  check(`behind a compaction of opencode, messages:${cut}: tcompact`, [0, 3].includes(done.code), true);
  await resumes(`behind a compaction of opencode, messages:${cut}`, done.code === 0 ? out : native);
}

// Parts of all kinds, also pruned: an import takes each message.
const kinds = join(FIXTURES, "opencode/session.json");
for (const flags of [["--keep", "messages:5"], ["--keep", "messages:1", "--prune", "all", "--model", "none"], ["--keep", "messages:2", "--prune", "media:0", "--prune", "results:0", "--model", "none"]]) {
  check(`all kinds of parts, ${flags.join(" ")}: tcompact`, tcompact("-q", "--exit-status", ...flags, "-o", out, kinds).code, 0);
  const file = JSON.parse(readFileSync(out, "utf8"));
  check(`all kinds of parts, ${flags.join(" ")}: opencode imports it`, cli("import", out).stdout.includes("Imported session"), true);
  const back = JSON.parse(readFileSync(exported(file.info.id, join(work, "kinds.json")), "utf8"));
  const parts = ({ messages }) => messages.map((message) => message.parts.length);
  check(`all kinds of parts, ${flags.join(" ")}: all of it comes back`, parts(back), parts(file));
  await ask("DELETE", `/session/${file.info.id}`);
}

// A session of which you take something back is left alone.
const messages = await ask("GET", `/session/${id}/message`);
await ask("POST", `/session/${id}/revert`, { messageID: messages.findLast(({ info }) => info.role === "user").info.id });
const reverted = exported(id, join(work, "reverted.json"));
const done = tcompact("-q", "--keep", "messages:1", "-o", out, reverted);
check("a session that was reverted stays", readFileSync(out, "utf8") === readFileSync(reverted, "utf8"), true);
if (process.env.KEEP_SESSIONS) {
  for (const file of [whole, grown, native, reverted]) writeFileSync(join(process.env.KEEP_SESSIONS, file.split("/").at(-1)), readFileSync(file));
}
model.stop();
finish("opencode");
