// A stand-in for a model that answers as Chat Completions do, on 127.0.0.1, and keeps what it was sent. It calls the
// tool `tool` for each prompt with the word RUN, twice where it says RUN2, and answers everything else with a text.
import { createServer } from "node:http";
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

export async function standIn(tool, args) {
  const requests = [];
  let calls = 0;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      if (!request.url.endsWith("/chat/completions")) {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ object: "list", data: [{ id: "mock", object: "model" }] }));
        return;
      }
      const asked = JSON.parse(body);
      requests.push(asked);
      const spoken = asked.messages.findLastIndex((message) => message.role === "assistant");
      const news = asked.messages.slice(spoken + 1);
      const answered = news.some((message) => message.role === "tool");
      const text = news.filter((message) => message.role === "user").map(textOf).join("\n");
      const wanted = answered || !asked.tools?.length ? 0 : /RUN2/.test(text) ? 2 : /RUN/.test(text) ? 1 : 0;
      const delta = { role: "assistant", reasoning_content: `Thinking ${requests.length}.` };
      if (wanted === 0) {
        delta.content = `Reply ${requests.length}: noted.`;
      } else {
        delta.content = `Let me run it (${requests.length}).`;
        delta.tool_calls = Array.from({ length: wanted }, (_, index) => {
          calls += 1;
          const own = { name: tool, arguments: JSON.stringify(args(`echo output-${calls} ${"x".repeat(200)}`)) };
          return { index, id: `call_${calls}`, type: "function", function: own };
        });
      }
      send(response, asked, delta, wanted > 0 ? "tool_calls" : "stop");
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  return { url, requests, close: () => server.close() };
}

function send(response, asked, delta, reason) {
  const size = Math.ceil(JSON.stringify(asked.messages).length / 4);
  const usage = { prompt_tokens: size, completion_tokens: 10, total_tokens: size + 10 };
  const of = (choice, more) => ({ id: "c", object: "chat.completion.chunk", created: 1, model: "mock", choices: choice, ...more });
  if (!asked.stream) {
    const message = { ...delta, content: delta.content ?? null };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...of([{ index: 0, message, finish_reason: reason }], { usage }), object: "chat.completion" }));
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  const events = [of([{ index: 0, delta, finish_reason: null }]), of([{ index: 0, delta: {}, finish_reason: reason }]), of([], { usage })];
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end("data: [DONE]\n\n");
}

export function textOf(message) {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("\n");
}

// Runs a program to its end.
export function run(program, args, options) {
  return new Promise((done) => {
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    const timer = setTimeout(() => child.kill(), 120_000);
    child.on("close", (code) => (clearTimeout(timer), done({ code, out, err })));
  });
}

// The program of an npm package and a Node that is new enough for it, from `folder`; installs them where they lack.
export function installed(folder, pack, bin) {
  const found = join(folder, "node_modules", ".bin", bin);
  if (!existsSync(found)) {
    const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--loglevel", "error", pack, "node@24"];
    const npm = spawnSync("npm", args, { encoding: "utf8" });
    if (npm.status !== 0) {
      console.log(`NOT CHECKED: ${pack} cannot be had: ${(npm.stderr ?? npm.error?.message ?? "").split("\n")[0]}`);
      process.exit(0);
    }
  }
  return { program: found, node: join(folder, "node_modules", ".bin", "node") };
}

// Compacts a file with tcompact. Returns null where it had nothing to do.
export async function compacted(tcompact, file, out, flags) {
  const done = await run(tcompact, ["-q", "--accept", "any", ...flags, "-o", out, file], {});
  if (done.code !== 0) throw new Error(`tcompact ${flags.join(" ")}: ${done.code} ${done.err}`);
  return done;
}
