// Gemini CLI itself makes a session, tcompact compacts its file in many ways, and Gemini CLI resumes each result: what it
// sends to the model is compared with what the file says. Three versions, since each writes another form: one object, one
// record a line, and one record a line with records that set all messages at once.
// usage: node gemini-cli.mjs TCOMPACT [MAKER:READER…]      by default, all of PAIRS
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";

import { answer, check, counted, finish, installed, skip, tcompact, work } from "./loader.mjs";

const PAIRS = ["0.38.2:0.38.2", "0.38.2:0.61.0", "0.40.0:0.40.0", "0.40.0:0.61.0", "0.61.0:0.61.0"];
const NODE = `node-${process.platform}-${process.arch}`;
const model = await startModel();

/** Starts a stand-in for the Gemini API. Keeps what it was asked with tools. */
async function startModel() {
  const bodies = [];
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const asked = JSON.parse(body || "{}"), isOfAgent = asked.tools?.length > 0 && /enerateContent/.test(request.url);
    const part = asked.contents?.at(-1).parts.at(-1);
    const spoken = { role: part?.functionResponse ? "tool" : "user", content: part?.text ?? "" };
    if (isOfAgent) bodies.push(body);
    const tool = { name: "run_shell_command", input: { description: "Run" } };
    const { text, reasoning, calls } = isOfAgent ? answer([spoken], bodies.length, tool) : { text: "Words.", calls: [] };
    const parts = [...(reasoning ? [{ text: reasoning, thought: true }] : []), { text }];
    for (const { function: call } of calls) parts.push({ functionCall: { name: call.name, args: JSON.parse(call.arguments) } });
    const usageMetadata = { promptTokenCount: 5000 + bodies.length, candidatesTokenCount: 20, totalTokenCount: 5020 + bodies.length };
    const said = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }], usageMetadata, totalTokens: 5000 };
    const isStream = request.url.includes("alt=sse");
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? `data: ${JSON.stringify(said)}\n\n` : JSON.stringify(said));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { bodies, url: `http://127.0.0.1:${server.address().port}`, stop: () => { server.closeAllConnections(); server.close(); } };
}

// Newer versions write and take off again the name of the tool before the id of a call.
const short = (id) => id.replace(/^run_shell_command__/, "");
const output = ({ response }) => response.output ?? response.error ?? JSON.stringify(response);

function linesOf(role, parts) {
  return parts.flatMap((part) => {
    if (part.thought) return [];
    if (part.functionCall) return [`call ${short(part.functionCall.id)}`];
    if (part.functionResponse) return [`result ${short(part.functionResponse.id)}: ${output(part.functionResponse)}`];
    return part.text ? [`${role}: ${part.text}`] : [];
  });
}

/** What a request sends beside the system prompt and the words about the folder, one line a text, call and result. */
function sent(body) {
  const { contents } = JSON.parse(body);
  return contents.flatMap(({ role, parts }) => linesOf(role, parts)).filter((line) => !/^user: (<session_context>|This is the Gemini CLI)/.test(line));
}

const isObject = (text) => !text.trimStart().includes("\n{") && text.trimStart().startsWith("{\n");

/** The messages of a session after its records were replayed. */
function replayed(file) {
  const text = readFileSync(file, "utf8");
  if (isObject(text)) return JSON.parse(text).messages;
  let messages = new Map();
  for (const record of text.split("\n").filter((line) => line.trim() !== "").map((line) => JSON.parse(line))) {
    if (record.$rewindTo !== undefined) {
      const ids = [...messages.keys()], at = ids.indexOf(record.$rewindTo);
      ids.slice(Math.max(at, 0)).forEach((id) => messages.delete(id));
    } else if (record.id !== undefined) messages.set(record.id, record);
    else if (record.$set?.messages) messages = new Map(record.$set.messages.map((message) => [message.id, message]));
  }
  return [...messages.values()];
}

const listOf = (content) => (Array.isArray(content) ? content : content ? [content] : []).map((part) => (typeof part === "string" ? { text: part } : part));

/** What Gemini CLI should send of a session, by its rules, and how many messages that is. */
function expected(file) {
  const lines = [];
  let messages = 0;
  for (const { type, content, toolCalls } of replayed(file)) {
    const parts = listOf(content), text = parts.map((part) => part.text ?? "").join("").trim();
    if (!["user", "gemini"].includes(type) || (type === "user" && /^(\/|\?|<session_context>|<hook_context>)/.test(text))) continue;
    messages += 1;
    lines.push(...linesOf(type === "user" ? "user" : "model", parts));
    const calls = toolCalls ?? [];
    if (!parts.some((part) => part.functionCall)) lines.push(...calls.map(({ id }) => `call ${short(id)}`));
    lines.push(...calls.flatMap(({ result }) => linesOf("user", listOf(result))));
  }
  return { lines, messages };
}

/** The program of a version, with a home of its own. */
function agentOf(version, home, project) {
  const packages = installed("@google/gemini-cli", version, `${NODE}@22.23.3`);
  const { bin } = JSON.parse(readFileSync(join(packages, "@google/gemini-cli/package.json"), "utf8"));
  const program = join(packages, "@google/gemini-cli", bin.gemini);
  const env = { ...process.env, HOME: home, GEMINI_CLI_HOME: home, GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_CLI_TRUST_WORKSPACE: "true" };
  /** Says something. Returns what Gemini CLI sent at first: its lines, and all of it. */
  return async (text, ...flags) => {
    const before = model.bodies.length;
    const child = spawn(join(packages, NODE, "bin/node"), [program, "--yolo", "--model", "gemini-2.5-flash", ...flags, "-p", text], { cwd: project, env });
    child.on("error", (error) => skip(`Gemini CLI: ${error.message}`));
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk) => (printed += chunk));
    child.stdin.end();
    await new Promise((ended) => child.on("close", ended));
    const body = model.bodies[before];
    return { lines: body ? sent(body) : [printed], body };
  };
}

async function checkPair(maker, reader) {
  const named = maker === reader ? maker : `${maker} in ${reader}`;
  const home = join(work, named.replaceAll(" ", "-")), project = join(home, "project");
  mkdirSync(join(home, ".gemini"), { recursive: true });
  mkdirSync(project);
  const settings = { security: { auth: { selectedType: "gemini-api-key" } }, privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } };
  writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify(settings));
  const make = agentOf(maker, home, project), say = agentOf(reader, home, project);

  const questions = ["Please run nothing: what is a queue?", "Run 1 command, never touch config/prod.yaml.", "Run 2 commands at once.", "Say it once more.", "Run 1 command again."];
  for (const [index, question] of questions.entries()) await make(question, ...(index > 0 ? ["--resume", "latest"] : []));
  const folder = join(home, ".gemini/tmp");
  const place = readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).find((name) => /chats\/session-[^/]*\.jsonl?$/.test(name));
  if (place === undefined) return check(`${named}: a session`, false, true);
  const whole = join(work, `whole${place.slice(place.lastIndexOf("."))}`);
  writeFileSync(whole, readFileSync(place));
  if (process.env.KEEP_SESSIONS) writeFileSync(join(process.env.KEEP_SESSIONS, `gemini-cli-${maker}${place.slice(place.lastIndexOf("."))}`), readFileSync(whole));

  /** Puts a file in the place of its session, and goes on. */
  async function resumes(what, file) {
    const chats = join(place, "..");
    const { lines, messages } = expected(file);
    check(`${what}: tcompact counts what is sent`, counted(file), messages);
    for (const name of readdirSync(chats)) rmSync(join(chats, name), { recursive: true });
    writeFileSync(place, readFileSync(file));
    const found = await say("Go on.", "--resume", "latest");
    check(`${what}: what is sent`, found.lines, [...lines, "user: Go on."]);
    return found;
  }

  const before = await resumes(`${named}, as it was`, whole);
  // Without what is not sent, the same is sent, to the byte; and all of it comes back.
  const slim = join(work, `slim${place.slice(place.lastIndexOf("."))}`);
  writeFileSync(slim, readFileSync(whole));
  const slimmed = tcompact("slim", "-q", "--force", slim);
  check(`${named}, slim: tcompact`, [slimmed.code, slimmed.error, statSync(slim).size < statSync(whole).size], [0, "", true]);
  check(`${named}, slim: all that is sent`, (await resumes(`${named}, slim`, slim)).body === before.body, true);
  const unslimmed = tcompact("restore", "-q", "--force", "-i", `${slim}.cut.jsonl.zst`, slim);
  check(`${named}, slim: restore`, [unslimmed.code, unslimmed.error, readFileSync(slim, "utf8") === readFileSync(whole, "utf8")], [0, "", true]);
  rmSync(`${slim}.cut.jsonl.zst`, { force: true });

  const first = tcompact("-q", "--accept", "any", "--exit-status", "--keep", "messages:3", "-o", slim, whole);
  check(`${named}: tcompact compacts it`, [first.code, first.error], [0, ""]);
  if (first.code !== 0) return;

  // Each cut, and other ways.
  const count = expected(whole).messages, out = join(work, `out${place.slice(place.lastIndexOf("."))}`);
  const ways = Array.from({ length: count - 1 }, (_, cut) => ["--keep", `messages:${cut + 1}`]);
  ways.push(["--keep", "none"], ["--keep", "messages:3", "--pin", "first:1"], ["--keep", "messages:2", "--pin", "user"], ["--fit", "tokens:900"]);
  ways.push(["--keep", "messages:3", "--pin", "match:row 2"], ["--prune", "all", "--keep", "messages:6"], ["--prune", "all", "--keep", "messages:6", "--model", "none"]);
  for (const flags of ways) {
    const what = `${named}, ${flags.join(" ")}`;
    const done = tcompact("-q", "--accept", "any", "--exit-status", ...flags, "-o", out, whole);
    check(`${what}: tcompact`, [[0, 3].includes(done.code), done.error], [true, ""]);
    if (done.code !== 0) continue;
    const { lines } = await resumes(what, out);
    const isPlain = flags[0] === "--keep" && flags.length === 2;
    if (!isPlain) continue;
    check(`${what}: the summary comes first`, lines[0].startsWith("user: Here is a summary of the conversation"), true);
    check(`${what}: the end as it was`, lines.slice(1), before.lines.slice(1 - lines.length));
  }

  // Five rounds that grow, and all of them back.
  if (maker !== reader) return;
  const archive = join(work, `${named}.cut.jsonl`);
  await resumes(`${named}, before the rounds`, whole);
  const start = readFileSync(place, "utf8");
  for (const round of [1, 2, 3, 4, 5]) {
    const done = tcompact("-q", "--accept", "any", "--keep", "messages:3", "--archive", archive, "--in-place", place);
    check(`${named}, round ${round}: tcompact`, [done.code, done.error], [0, ""]);
    const { lines, messages } = expected(place), question = `Run 1 command in round ${round}.`;
    check(`${named}, round ${round}: tcompact counts what is sent`, counted(place), messages);
    check(`${named}, round ${round}: what is sent`, (await say(question, "--resume", "latest")).lines, [...lines, `user: ${question}`]);
  }
  const back = tcompact("restore", "-q", archive, place, "-o", out);
  check(`${named}, restore`, [back.code, back.error], [0, ""]);
  const told = tcompact("restore", archive, place, "-o", out);
  if (place.endsWith("l")) check(`${named}, restore: to the byte`, back.code === 0 && readFileSync(out, "utf8").startsWith(start), true);
  // A record that sets all messages came behind what was put back; without such records all of it is sent.
  if (/ sets all messages anew/.test(told.error)) {
    const lines = readFileSync(out, "utf8").split("\n");
    const grown = lines.slice(start.split("\n").length - 1).filter((line) => !line.startsWith('{"$set":{"messages":'));
    writeFileSync(out, start + grown.join("\n"));
  }
  const begun = join(work, `begun${place.slice(place.lastIndexOf("."))}`);
  writeFileSync(begun, start);
  const all = expected(begun).lines, restored = back.code === 0 ? expected(out).lines : [];
  check(`${named}, restore: all of it`, restored.slice(0, all.length), all);

  // Words that Gemini CLI never sends again.
  await resumes(`${named}, before words with a mark`, whole);
  await say("? What begins with a question mark.", "--resume", "latest");
  writeFileSync(whole, readFileSync(place));
  await resumes(`${named}, words that begin with a question mark`, whole);
}

for (const pair of process.argv.length > 3 ? process.argv.slice(3) : PAIRS) await checkPair(...pair.split(":"));
model.stop();
finish("Gemini CLI");
