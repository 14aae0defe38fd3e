// Checks that Qwen Code sends what tcompact writes: makes a session with Qwen Code itself, compacts it at every cut, with
// pins, with --fit and with --prune all, resumes each result, and reads what the stand-in for the model was sent.
// usage: node qwen-code.mjs TCOMPACT [FOLDER]      FOLDER keeps the npm package for the next run
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compacted, installed, run, standIn, textOf } from "./stand-in.mjs";

const tcompact = resolve(process.argv[2] ?? "target/debug/tcompact");
const work = mkdtempSync(join(tmpdir(), "qwen-code-"));
const { program, node } = installed(resolve(process.argv[3] ?? join(work, "packages")), "@qwen-code/qwen-code@0.24.4", "qwen");
const home = join(work, "home");
const project = join(work, "project");
mkdirSync(home);
mkdirSync(project);
const model = await standIn("run_shell_command", (command) => ({ command, description: "say", is_background: false }));

// Qwen Code asks the model beside the conversation, too: what it asks there has another prompt at its end.
async function ask(args, prompt) {
  const env = { ...process.env, HOME: home, OPENAI_API_KEY: "none", OPENAI_BASE_URL: model.url, OPENAI_MODEL: "mock", QWEN_TELEMETRY_ENABLED: "false" };
  const first = model.requests.length;
  const done = await run(node, [program, "--auth-type", "openai", "--approval-mode", "yolo", ...args, "-p", prompt], { cwd: project, env });
  if (done.code !== 0) throw new Error(`Qwen Code: ${done.code} ${done.err} ${done.out}`);
  return model.requests.slice(first).filter(({ messages }) => messages.some((one) => one.role === "user" && textOf(one).includes(prompt)));
}

const PROMPTS = [
  "first question about zebras, RUN a command",
  "second question, RUN2 two commands",
  "third question, no command",
  "fourth question, RUN a command again",
  "fifth question, no command",
];
for (const [index, prompt] of PROMPTS.entries()) await ask(index > 0 ? ["--continue"] : [], prompt);
const projects = join(home, ".qwen", "projects");
const chat = readdirSync(projects, { recursive: true }).map((name) => join(projects, name)).find((name) => /chats\/[0-9a-f-]{36}\.jsonl$/.test(name));
const id = chat.match(/([0-9a-f-]{36})\.jsonl$/)[1];
const original = join(work, "original.jsonl");
cpSync(chat, original);
const state = join(work, "state");
cpSync(home, state, { recursive: true });

function restoreState(file) {
  for (const name of readdirSync(home)) rmSync(join(home, name), { recursive: true });
  cpSync(state, home, { recursive: true });
  cpSync(file, chat);
}

// Qwen Code puts its own start-up context in front of all, and joins what one speaker says in a row.
function shaped(messages) {
  const out = [];
  for (const { role, text, calls } of messages) {
    const own = text.replace(/<system-reminder>[^]*?<\/system-reminder>/g, "").trim();
    const last = out.at(-1);
    if (last?.role === role && role === "user") last.text = `${last.text}\n${own}`.trim();
    else out.push({ role, text: own, calls });
  }
  return out.filter((one) => one.text !== "" || one.calls.length > 0);
}

// The messages of a request before the last prompt, which can be joined to the message before it.
function before(request, prompt) {
  const messages = request.messages.filter((message) => message.role !== "system");
  const read = shaped(messages.map((one) => ({ role: one.role, text: textOf(one), calls: (one.tool_calls ?? []).map((call) => call.id) })));
  const last = read.findLastIndex((message) => message.role === "user" && message.text.includes(prompt));
  const rest = read[last].text.slice(0, read[last].text.lastIndexOf(prompt)).trim();
  return [...read.slice(0, last), ...(rest === "" ? [] : [{ role: "user", text: rest, calls: [] }])];
}

async function sent(file) {
  restoreState(file);
  const [request] = await ask(["--resume", id], "what comes next?");
  return before(request, "what comes next?");
}

// What the lines of the chain are.
function held(file) {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const byId = new Map(lines.map((line) => [line.uuid, line]));
  const chain = [];
  for (let at = lines.at(-1); at !== undefined; at = byId.get(at.parentUuid)) chain.unshift(at);
  let messages = [];
  const add = ({ role, parts }) => {
    const text = parts.filter((part) => part.text && !part.thought).map((part) => part.text).join("\n");
    const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall.id);
    const results = parts.filter((part) => part.functionResponse);
    for (const { functionResponse } of results) messages.push({ role: "tool", text: functionResponse.response.output ?? functionResponse.response.error, calls: [] });
    if (results.length === 0) messages.push({ role: role === "model" ? "assistant" : "user", text, calls });
  };
  for (const line of chain) {
    if (line.subtype === "chat_compression") {
      messages = [];
      line.systemPayload.compressedHistory.forEach(add);
    } else if (line.message) add(line.message);
  }
  return shaped(messages);
}

const written = (messages) => messages.map((message) => JSON.stringify(message)).join("\n");
let failed = 0;
function check(name, holds, why) {
  console.log(`${holds ? "ok" : "FAILED"}: ${name}${holds ? "" : `\n${why}`}`);
  failed += holds ? 0 : 1;
}

const whole = await sent(original);
check("the session as it was", written(whole) === written(held(original)), `${written(whole)}\n--\n${written(held(original))}`);
// Without what is not sent, the same is sent.
const slim = join(work, "slim.jsonl");
cpSync(original, slim);
const slimmed = await run(tcompact, ["slim", "--force", slim], {});
check("slim: the file is smaller", slimmed.code === 0 && statSync(slim).size < statSync(original).size, slimmed.err);
check("slim: the same is sent", written(await sent(slim)) === written(whole), "");
const counted = JSON.parse((await run(tcompact, ["-n", "--json", "--keep", "from:1", original], {})).out);
const ways = [];
for (let cut = 1; cut < counted.messages; cut += 1) ways.push(["--keep", `from:${cut}`]);
ways.push(["--keep", "none"], ["--keep", "messages:6", "--pin", "first:1"], ["--keep", "messages:6", "--pin", "user"]);
ways.push(["--keep", "messages:4", "--pin", "match:output-2"], ["--keep", "messages:9", "--prune", "all"]);
ways.push(["--keep", "messages:9", "--prune", "results:1", "-m", "none"], ["--fit", "tokens:500"], ["--fit", "tokens:900"]);
for (const flags of ways) {
  const out = join(work, "out.jsonl");
  await compacted(tcompact, original, out, flags);
  const [got, expected] = [await sent(out), held(out)];
  const name = flags.join(" ");
  check(name, written(got) === written(expected), `${written(got)}\n--\n${written(expected)}`);
  const isPlain = flags[0] === "--keep" && flags.length === 2;
  if (isPlain) check(`${name}: the end of the session`, written(whole).endsWith(written(got.slice(1))), written(got));
}

// Five rounds that Qwen Code itself goes on with, and all of them back.
const archive = join(work, "archive.jsonl");
restoreState(original);
for (let round = 1; round <= 5; round += 1) {
  const done = await run(tcompact, ["-q", "-i", "--accept", "any", "--keep", "messages:5", "--archive", archive, chat], {});
  if (done.code !== 0) throw new Error(done.err);
  const prompt = `round ${round}, RUN it`;
  const [request] = await ask(["--resume", id], prompt);
  const first = before(request, prompt)[0];
  check(`round ${round}: the summary comes first`, /summary of the conversation/.test(first?.text ?? ""), JSON.stringify(first));
}
const restored = join(work, "restored.jsonl");
const back = await run(tcompact, ["restore", archive, chat, "-o", restored], {});
check("restore", back.code === 0 && readFileSync(restored, "utf8").startsWith(readFileSync(original, "utf8")), back.err);
check("the restored session has no compression", back.code === 0 && !readFileSync(restored, "utf8").includes("chat_compression"), "");
model.close();
if (failed === 0) rmSync(work, { recursive: true });
console.log(failed === 0 ? "all checked" : `${failed} failed; see ${work}`);
process.exit(failed === 0 ? 0 : 1);
