// What the scripts of this folder share: an agent's package from npm, a stand-in for its model, and tcompact.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const HERE = dirname(new URL(import.meta.url).pathname);
/** The fixtures of tcompact. */
export const FIXTURES = join(HERE, "../../fixtures");

/** A folder that is removed when the script ends. */
export const work = mkdtempSync(join(tmpdir(), "tcompact-loaders-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true, maxRetries: 5 }));

/** Ends the script where what it needs cannot be had. */
export function skip(why) {
  console.log(`NOT CHECKED: ${why}`);
  process.exit(0);
}

/** The folder with a package and what it needs, and with others beside it. LOADER_PACKAGES names a folder that keeps packages for the next run. */
export function installed(name, version, ...others) {
  const folder = join(process.env.LOADER_PACKAGES ?? join(work, "packages"), `${name.replace("/", "-")}-${version}`);
  if (!existsSync(join(folder, "node_modules", name))) {
    mkdirSync(folder, { recursive: true });
    const options = ["--prefix", folder, "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"];
    const done = spawnSync("npm", ["install", ...options, `${name}@${version}`, ...others], { encoding: "utf8" });
    if (done.status !== 0) skip(`${name}@${version}: ${(done.stderr ?? "npm is not installed").split("\n")[0]}`);
  }
  return join(folder, "node_modules");
}

const program = resolve(process.argv[2] ?? join(HERE, "../../target/debug/tcompact"));
if (!existsSync(program)) skip(`there is no tcompact at ${program}`);

/** Runs tcompact. */
export function tcompact(...args) {
  const env = { ...process.env, XDG_CONFIG_HOME: join(work, "no-settings") };
  const done = spawnSync(program, args, { encoding: "utf8", maxBuffer: 1e9, env });
  return { code: done.status, out: done.stdout, error: done.stderr };
}

/** How many messages tcompact counts in a file, or why it does not. */
export function counted(file) {
  const { code, out, error } = tcompact("count", "--json", file);
  return code === 0 ? JSON.parse(out).messages : error;
}

/** What the stand-in says: a prompt with a number N gets N calls at once, one with a tool and its input that call, and each
result an answer in words. */
export function answer(messages, count, tool) {
  const last = messages.at(-1);
  const text = typeof last.content === "string" ? last.content : (last.content ?? []).map((part) => part.text ?? "").join("\n");
  const wanted = last.role === "user" && /Run (\d) commands?/.exec(text);
  const calls = Array.from({ length: wanted ? Number(wanted[1]) : 0 }, (_, index) => ({
    index, id: `call_${count}_${index}`, type: "function",
    function: { name: tool.name, arguments: JSON.stringify({ ...tool.input, command: `seq -f 'row ${count}.${index} of %g' 60` }) },
  }));
  const [, name, input] = (last.role === "user" && /Call (\w+) with (\{.*\})/s.exec(text)) || [];
  if (name) calls.push({ index: 0, id: `call_${count}_0`, type: "function", function: { name, arguments: input } });
  return { text: `Answer ${count}.`, reasoning: `Thought ${count}.`, calls };
}

/** Starts a stand-in for a provider with Chat Completions. `tool` is the agent's tool for commands. */
export async function startModel(tool) {
  const requests = [], bodies = [];
  let answers = 0;
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (!request.url.endsWith("/chat/completions")) {
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ object: "list", data: [{ id: "stand-in", object: "model" }] }));
    }
    const asked = JSON.parse(body);
    // Titles and the like are asked for without tools.
    const isOfAgent = asked.tools?.length > 0;
    if (isOfAgent) {
      requests.push(asked.messages);
      bodies.push(body);
    }
    const { text, reasoning, calls } = isOfAgent ? answer(asked.messages, ++answers, tool) : { text: "A title of words.", calls: [] };
    const usage = { prompt_tokens: 50_000 + 10 * answers, completion_tokens: 20, total_tokens: 50_020 + 10 * answers };
    const head = { id: `chatcmpl-${answers}`, object: "chat.completion.chunk", created: 1, model: asked.model };
    const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
    if (!asked.stream) {
      const message = { role: "assistant", content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const deltas = [{ role: "assistant", content: "" }, ...(reasoning ? [{ reasoning_content: reasoning }] : []), { content: text }];
    if (calls.length > 0) deltas.push({ tool_calls: calls });
    for (const delta of deltas) response.write(`data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
    response.write(`data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta: {}, finish_reason }], usage })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { requests, bodies, url: `http://127.0.0.1:${server.address().port}/v1`, stop: () => { server.closeAllConnections(); server.close(); } };
}

const words = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n"));

/** What a request sends beside the system prompt, one line a message, call and result. */
export function sent(messages) {
  const lines = [];
  for (const { role, content, tool_calls, tool_call_id } of messages) {
    if (role === "system") continue;
    if (role === "tool") lines.push(`result ${tool_call_id}: ${words(content)}`);
    else if (words(content) !== "") lines.push(`${role}: ${words(content)}`);
    for (const call of tool_calls ?? []) lines.push(`call ${call.id}`);
  }
  return lines;
}

let checks = 0, failures = 0;

/** Compares what was sent with what should have been. */
export function check(what, found, expected) {
  checks += 1;
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one === other) return;
  failures += 1;
  console.log(`FAILED: ${what}\n  found:    ${one.slice(0, 3000)}\n  expected: ${other.slice(0, 3000)}`);
}

/** Ends the script. */
export function finish(agent) {
  console.log(`${agent}: ${checks} checks, ${failures} failures`);
  process.exit(failures > 0 ? 1 : 0);
}
