"use strict";
const fs = require("node:fs/promises");
const path = require("node:path");
const { isRegExp } = require("node:util/types");
const { dumped } = require("./messages.cjs");
const { TcompactError, argumentsOf, run } = require("./program.cjs");
const { commandFor, serve } = require("./summarizer.cjs");
const { makeFolder } = require("./temporary.cjs");

async function compact(messages, { summarizer, ...options } = {}) {
  const folder = await makeFolder({ socket: Boolean(summarizer) });
  let served;
  try {
    served = summarizer && (await serve(summarizer, folder));
    return await compactIn(folder, dumped(messages), options, summarizer && commandFor(summarizer), served?.env);
  } catch (error) {
    if (error instanceof TcompactError && served?.error !== undefined) error.cause = served.error;
    throw error;
  } finally {
    served?.close();
    await fs.rm(folder, { recursive: true, force: true });
  }
}

async function compactIn(folder, { text, restored }, options, command, env) {
  const own = ["--quiet", ...(command ? [`--summarizer-cmd=${command}`] : [])];
  // The second run finds the summary there.
  if (!options.cache) own.push(`--cache=${path.join(folder, "summaries")}`);
  const file = path.join(folder, "report.jsonl");
  const passes = [0, 3];
  const { out, printed } = await run([...own, `--report=${file}`], argumentsOf(options), text, { env, passes });
  if (printed) process.emitWarning(printed, "TcompactWarning");
  const report = row(await fs.readFile(file, "utf8"));
  const isCompacted = report.status === "compacted";
  return {
    messages: restored(out),
    summary: isCompacted && report.cutoff ? await summaryOf(report, folder, text, options, own, env) : null,
    cutoff: isCompacted ? report.cutoff : 0,
    status: isCompacted ? "compacted" : "unchanged",
    tokensBefore: report.tokens,
    tokensAfter: report.tokens_after,
    report,
  };
}

/** Returns the text of the summary by a second run, which asks nobody again and writes only in a folder. */
async function summaryOf(report, folder, text, options, own, env) {
  if (report.error && report.provider !== "extractive") return report.error; // with `onError: "embed"`
  const again = { ...options, html: undefined };
  for (const name of ["cache", "config", "promptFile"]) {
    if (options[name]) again[name] = path.resolve(options[name]);
  }
  const { archive } = options;
  if (archive) {
    // The summary names the archive, which takes room: here a name of the same length.
    again.archive = String(archive).replace(/^[\\/]|:|\.\.(?=[\\/])/g, (cut) => "_".repeat(cut.length));
    await fs.mkdir(path.join(folder, path.dirname(again.archive)), { recursive: true });
  }
  if (report.error) {
    // with `onError: "extractive"`, which refuses what is for others
    own = own.filter((one) => !one.startsWith("--summarizer-cmd="));
    for (const name of ["summarizerCmd", "baseUrl", "apiKeyEnv", "requestJson"]) delete again[name];
    again.model = "extractive";
  }
  const { out } = await run(["--emit=summary", "--json", ...own], argumentsOf(again), text, { env, cwd: folder });
  return JSON.parse(out)?.text ?? null;
}

async function plan(messages, { summarizer, ...options } = {}) {
  const own = ["--quiet", "--dry-run", "--json", ...(summarizer ? [`--summarizer-cmd=${commandFor(summarizer)}`] : [])];
  // With a cache, a dry run would ask the model.
  const { out } = await run(own, argumentsOf({ ...options, cache: undefined }), dumped(messages).text);
  return row(out);
}

/** Returns the row of a conversation, from lines with a row for each. */
function row(lines) {
  const { length } = lines.trimEnd().split("\n");
  if (length === 1) return JSON.parse(lines);
  throw new TcompactError(`these are ${length} conversations; give one at a time`, { exitCode: 1 });
}

async function check(messages, options = {}) {
  const { printed } = await run(["check"], argumentsOf(options), dumped(messages).text, { passes: [0, 6] });
  const found = printed.matchAll(/^tcompact: .*?: message (\d+): (.*)$/gm);
  return [...found].map(([, index, message]) => ({ index: Number(index), message }));
}

async function repair(messages, how = "drop", options = {}) {
  const { text, restored } = dumped(messages);
  const { out } = await run(["repair", how, "--quiet"], argumentsOf(options), text);
  return restored(out);
}

async function search(pattern, files, options = {}) {
  const flags = isRegExp(pattern) ? pattern.flags.replace(/[^ims]/g, "") : "";
  // The program ignores case where a pattern has no capital; a RegExp says so itself.
  const exact = isRegExp(pattern) && !flags.includes("i") ? "-i" : "";
  const text = (flags + exact && `(?${flags}${exact})`) + (isRegExp(pattern) ? pattern.source : pattern);
  const asked = [...argumentsOf(options), "--", text, ...[files].flat()];
  const { code, out, printed } = await run(["search", "--json"], asked, "", { passes: [0, 3] });
  if (printed && code === 0) process.emitWarning(printed, "TcompactWarning");
  const lines = out.split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

async function show(file, indices, options = {}) {
  const { out } = await run(["show", "--json"], [...argumentsOf(options), "--", `${indices}`, file], "");
  return JSON.parse(out);
}

module.exports = { TcompactError, check, compact, plan, repair, search, show };
