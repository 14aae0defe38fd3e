// Checks that Kimi Code sends what tcompact writes: makes a session with Kimi Code itself, compacts it at every cut, with
// pins, with --fit and with --prune all, resumes each result, and reads what the stand-in for the model was sent.
// usage: node kimi-code.mjs TCOMPACT [FOLDER]      FOLDER keeps the npm package for the next run
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compacted, installed, run, standIn, textOf } from "./stand-in.mjs";

const tcompact = resolve(process.argv[2] ?? "target/debug/tcompact");
const work = mkdtempSync(join(tmpdir(), "kimi-code-"));
const { program, node } = installed(resolve(process.argv[3] ?? join(work, "packages")), "@moonshot-ai/kimi-code@2.1.0", "kimi");
const home = join(work, "home");
const project = join(work, "project");
mkdirSync(home);
mkdirSync(project);
const model = await standIn("Bash", (command) => ({ command, description: "say" }));
writeFileSync(
  join(home, "config.toml"),
  `default_model = "mock"\ntelemetry = false\ndefault_permission_mode = "auto"\n
[providers.stand]\ntype = "openai"\nbase_url = "${model.url}"\napi_key = "none"\n
[models.mock]\nprovider = "stand"\nmodel = "mock"\nmax_context_size = 262144\ncapabilities = ["thinking", "tool_use"]\n`,
);

function kimi(args) {
  return run(node, [program, ...args], { cwd: project, env: { ...process.env, KIMI_CODE_HOME: home, HOME: home } });
}

const PROMPTS = [
  "first question about zebras, RUN a command",
  "second question, RUN2 two commands",
  "third question, no command",
  "fourth question, RUN a command again",
  "fifth question, no command",
];
for (const [index, prompt] of PROMPTS.entries()) {
  const done = await kimi([...(index > 0 ? ["-c"] : []), "-p", prompt]);
  if (done.code !== 0) throw new Error(`Kimi Code: ${done.err}`);
}
const sessions = join(home, "sessions");
const wire = readdirSync(sessions, { recursive: true }).map((name) => join(sessions, name)).find((name) => name.endsWith("wire.jsonl"));
const id = wire.match(/session_[0-9a-f-]+/)[0];
const original = join(work, "original.jsonl");
cpSync(wire, original);
const state = join(work, "state");
cpSync(home, state, { recursive: true });

// What Kimi Code sends of a file before the next prompt.
async function sent(file) {
  for (const name of readdirSync(home)) rmSync(join(home, name), { recursive: true });
  cpSync(state, home, { recursive: true });
  cpSync(file, wire);
  const first = model.requests.length;
  const done = await kimi(["-S", id, "-p", "what comes next?"]);
  if (done.code !== 0) throw new Error(`Kimi Code: ${done.err}`);
  const messages = model.requests[first].messages;
  const system = messages.filter((message) => message.role === "system").length;
  const next = messages.findIndex((message) => textOf(message).includes("what comes next?"));
  return messages.slice(system, next).map((message) => ({ role: message.role, text: textOf(message), calls: (message.tool_calls ?? []).map((call) => call.id) }));
}

// What the lines behind a compaction are. Kimi Code joins prompts that follow each other.
function held(file) {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const last = lines.findLastIndex((line) => line.type === "context.apply_compaction");
  const messages = last < 0 ? [] : [{ role: "user", text: lines[last].summary, calls: [] }];
  const steps = new Map();
  let prompt = false;
  for (const { type, message, event } of lines.slice(last + 1)) {
    if (type === "context.append_message") {
      const typed = message.origin?.kind === "user";
      if (typed && prompt) messages.at(-1).text += `\n\n${textOf(message)}`;
      else messages.push({ role: message.role, text: textOf(message), calls: [] });
      prompt = typed;
    }
    if (type !== "context.append_loop_event") continue;
    prompt = false;
    if (event.type === "step.begin") steps.set(event.uuid, messages.push({ role: "assistant", text: "", calls: [] }) - 1);
    const step = messages[steps.get(event.stepUuid)];
    if (event.type === "content.part" && event.part.type === "text") step.text += event.part.text;
    if (event.type === "tool.call") step.calls.push(event.toolCallId);
    if (event.type === "tool.result") messages.push({ role: "tool", text: event.result.output, calls: [] });
  }
  return messages;
}

// Kimi Code writes the time that a command took before its output.
const clean = (messages) => messages.map((one) => JSON.stringify({ ...one, text: one.text.replace(/^Wall time: .*\n/, "").trim() }));
let failed = 0;
function check(name, holds, why) {
  console.log(`${holds ? "ok" : "FAILED"}: ${name}${holds ? "" : `\n${why}`}`);
  failed += holds ? 0 : 1;
}

const whole = clean(await sent(original));
check("the session as it was", whole.join() === clean(held(original)).join(), `${whole.join("\n")}\n--\n${clean(held(original)).join("\n")}`);
// Without what is not sent, the same is sent.
const slim = join(work, "slim.jsonl");
cpSync(original, slim);
const slimmed = await run(tcompact, ["slim", "--force", slim], {});
check("slim: the file is smaller", slimmed.code === 0 && statSync(slim).size < statSync(original).size, slimmed.err);
check("slim: the same is sent", clean(await sent(slim)).join() === whole.join(), "");
const counted = JSON.parse((await run(tcompact, ["-n", "--json", "--keep", "from:1", original], {})).out);
const ways = [];
for (let cut = 1; cut < counted.messages; cut += 1) ways.push(["--keep", `from:${cut}`]);
ways.push(["--keep", "none"], ["--keep", "messages:6", "--pin", "first:1"], ["--keep", "messages:6", "--pin", "user"]);
ways.push(["--keep", "messages:4", "--pin", "match:output-2"], ["--keep", "messages:9", "--prune", "all"]);
ways.push(["--keep", "messages:9", "--prune", "results:1", "-m", "none"], ["--fit", "tokens:500"], ["--fit", "tokens:900"]);
for (const flags of ways) {
  const out = join(work, "out.jsonl");
  await compacted(tcompact, original, out, flags);
  const [got, expected] = [clean(await sent(out)), clean(held(out))];
  const name = flags.join(" ");
  check(name, got.join() === expected.join(), `${got.join("\n")}\n--\n${expected.join("\n")}`);
  const isPlain = flags[0] === "--keep" && flags.length === 2;
  if (isPlain) check(`${name}: the end of the session`, whole.join("\n").endsWith(got.slice(1).join("\n")), got.join("\n"));
}

// Five rounds that Kimi Code itself goes on with, and all of them back.
const archive = join(work, "archive.jsonl");
for (const name of readdirSync(home)) rmSync(join(home, name), { recursive: true });
cpSync(state, home, { recursive: true });
cpSync(original, wire);
for (let round = 1; round <= 5; round += 1) {
  const done = await run(tcompact, ["-q", "-i", "--accept", "any", "--keep", "messages:5", "--archive", archive, wire], {});
  if (done.code !== 0) throw new Error(done.err);
  const first = model.requests.length;
  await kimi(["-S", id, "-p", `round ${round}, RUN it`]);
  const { messages } = model.requests[first];
  const summary = messages.filter((message) => message.role !== "system")[0];
  check(`round ${round}: the summary comes first`, /summary of the conversation/.test(textOf(summary)), textOf(summary).slice(0, 200));
}
const grown = readFileSync(wire, "utf8");
const restored = join(work, "restored.jsonl");
const back = await run(tcompact, ["restore", archive, wire, "-o", restored], {});
check("restore", back.code === 0 && readFileSync(restored, "utf8").startsWith(readFileSync(original, "utf8")), back.err);
check("the restored session has no compaction", existsSync(restored) && !readFileSync(restored, "utf8").includes("apply_compaction") && grown.includes("apply_compaction"), "");
model.close();
if (failed === 0) rmSync(work, { recursive: true });
console.log(failed === 0 ? "all checked" : `${failed} failed; see ${work}`);
process.exit(failed === 0 ? 0 : 1);
