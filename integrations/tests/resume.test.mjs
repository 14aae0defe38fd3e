// Sessions of Claude Code, pi and Codex that tcompact compacted go on in the agent itself, with a stand-in for the model:
// the agent sends the summary, and does not compact again because of the sizes that it recorded before.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { claude, environment, skip as skipClaude } from "./claude-code.mjs";
import { folder, installed } from "./help.mjs";

const platform = `${process.platform}-${process.arch}`;
const WINDOW = 100_000, FULL = 97_000;

// Answers both protocols; the fifth answer says that the window is nearly full.
async function startModel(context) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const isResponses = request.url.endsWith("/responses");
    if (!isResponses && !/\/v1\/messages(\?|$)/.test(request.url)) return response.writeHead(404).end("{}");
    const count = requests.push(text), input_tokens = count === 5 ? FULL : 500, answer = `Answer ${count}.`;
    const item = { id: `msg_${count}`, type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: answer, annotations: [] }] };
    const usage = { input_tokens, output_tokens: 9 };
    const events = isResponses ? [
      { type: "response.created", response: { id: `resp_${count}` } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id: `resp_${count}`, output: [item], usage: { ...usage, input_tokens_details: null, output_tokens_details: null, total_tokens: input_tokens + 9 } } },
    ] : [
      { type: "message_start", message: { id: `msg_${count}`, type: "message", role: "assistant", model: JSON.parse(text).model, content: [], stop_reason: null, usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: answer } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
      { type: "message_stop" },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  context.after(() => { server.closeAllConnections(); server.close(); });
  return { requests, url: `http://127.0.0.1:${server.address().port}` };
}

const question = (count) => `Question ${count}: never touch migrations/${count}. ${"The parser keeps line numbers. ".repeat(60)}`;

function files(place) {
  return readdirSync(place, { recursive: true, withFileTypes: true }).filter((file) => file.isFile() && file.name.endsWith(".jsonl")).map((file) => join(file.parentPath, file.name));
}

// Asks five questions, compacts the session's file, and asks a sixth. `ask` runs the agent.
async function goesOn(context, agent) {
  const place = folder(context), model = await startModel(context);
  const run = async (command, flags, options) => {
    const child = promisify(execFile)(command, flags, { cwd: place, timeout: 90_000, ...options });
    child.child.stdin?.end();
    return child;
  };
  const ask = await agent({ place, run, url: model.url });
  for (const count of [1, 2, 3, 4, 5]) await ask(question(count), count);
  const [file] = files(place).filter((file) => readFileSync(file, "utf8").includes("Question 5"));
  copyFileSync(file, `${file}.before`);
  const report = join(place, "report.json");
  execFileSync("tcompact", ["--quiet", "--in-place", "--keep", "turns:3", "--accept", "any", "--archive", `${file}.cut.jsonl`, "--report", report, file]);
  assert.equal(JSON.parse(readFileSync(report, "utf8")).status, "compacted");
  const before = model.requests.length;
  await ask("Question 6: which migrations may I touch?", 6);
  const sent = model.requests.slice(before);
  assert.equal(sent.length, 1, `it was compacted again:\n${sent.map((text) => text.slice(-300)).join("\n")}`);
  for (const words of ["summary of the conversation to date", "migrations/1", "Answer 5", "Question 6"]) {
    assert.ok(sent[0].includes(words), `${words} is not sent: ${sent[0].slice(0, 3000)}`);
  }
}

test("Claude Code goes on with the summary", { skip: skipClaude }, (context) =>
  goesOn(context, ({ place, run, url }) => {
    const more = { ANTHROPIC_BASE_URL: url, CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(WINDOW), CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" };
    return (text, count) => run(claude, ["-p", ...(count > 1 ? ["--continue"] : []), text], { env: environment(place, more) });
  }));

const pi = installed("pi", "@earendil-works/pi-coding-agent");
const node = [installed("pi", `node-${platform}`)].map((at) => at ? join(at, "bin/node") : process.execPath)[0];
test("pi goes on with the summary", { skip: pi ? false : "pi is not installed" }, (context) =>
  goesOn(context, ({ place, run, url }) => {
    const agent = join(place, "agent");
    mkdirSync(agent);
    const models = [{ id: "stand-in", contextWindow: WINDOW, maxTokens: 4096 }];
    writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { local: { baseUrl: url, api: "anthropic-messages", apiKey: "none", models } } }));
    const env = { ...process.env, HOME: place, PI_CODING_AGENT_DIR: agent, PI_OFFLINE: "1", PI_TELEMETRY: "0" };
    const flags = [join(pi, "dist/cli.js"), "-p", "--provider", "local", "--model", "stand-in"];
    // Without compaction at first: the fifth answer is said to fill the window.
    return (text, count) => {
      writeFileSync(join(agent, "settings.json"), JSON.stringify({ compaction: { enabled: count > 5, keepRecentTokens: 200 } }));
      return run(node, [...flags, ...(count > 1 ? ["--continue"] : []), text], { env });
    };
  }));

const codex = installed("codex", `@openai/codex-${platform}`);
test("Codex goes on with the summary", { skip: codex ? false : "@openai/codex is not installed" }, (context) =>
  goesOn(context, ({ place, run, url }) => {
    const providers = `model_providers.local = { name = "local", base_url = "${url}/v1", wire_api = "responses" }`;
    writeFileSync(join(place, "config.toml"), `model = "stand-in"\nmodel_provider = "local"\nmodel_auto_compact_token_limit = 50000\nmodel_context_window = ${WINDOW}\n${providers}\n`);
    mkdirSync(join(place, "project"));
    const [vendor] = readdirSync(join(codex, "vendor"));
    const options = { cwd: join(place, "project"), env: { ...process.env, HOME: place, CODEX_HOME: place } };
    return (text, count) =>
      run(join(codex, "vendor", vendor, "bin/codex"), ["exec", "--skip-git-repo-check", ...(count > 1 ? ["resume", "--last"] : []), text], options);
  }));
