// Claude Code runs this in place of its own compaction, for /compact and when the window is full.

// What stays unchanged, and how long the summary may be. Other settings come from tcompact's config file.
const FLAGS = ["--keep", "tokens:20k", "--summary-tokens", "3072"];
const TIMEOUT_MS = 120_000;
// The archive is for the user's eyes alone. The arguments are no text of the shell.
const PRIVATE = ["/bin/sh", "-c", 'umask 077 && exec tcompact "$@"', "sh"];

export function register(on) {
  on("session.compact", async ($, e, next) => {
    // tcompact takes a moment. A summary in advance would be archived too, and perhaps never used.
    if (e.trigger === "precompute") return { skip: "tcompact prepares nothing" };
    try {
      const { history, sources } = chat(e.messages);
      const program = (await $.env.get("OS")) === "Windows_NT" ? ["tcompact"] : PRIVATE;
      const command = [...program, "--from", "openai-chat", "--emit", "summary", "--json", ...FLAGS];
      // What the user typed behind `/compact`.
      if (e.instructions?.trim()) command.push(`--focus=${e.instructions.trim()}`);
      // What is cut away stays in a file of the session, where the summary says how to find it.
      const home = (await $.env.get("HOME")) || (await $.env.get("USERPROFILE"));
      const named = await $.env.get("XDG_STATE_HOME");
      const state = named?.startsWith("/") ? named : home && `${home}/.local/state`;
      const archive = [];
      if (state && !(await $.env.get("TCOMPACT_NO_ARCHIVE"))) {
        const name = [await $.session.id(), e.agentId].join(".").replace(/[^\w.-]/g, "_").replace(/\.$/, "");
        archive.push("--archive", `${state}/tcompact/claude-code/${name}.jsonl`);
      }
      // Not in the project's directory: it can hold a program of this name, and PATH or Windows can look there.
      const options = { cwd: "/", stdin: JSON.stringify(history), timeoutMs: TIMEOUT_MS };
      let done = await $.process.run([...command, ...archive], options);
      const [, why] = (done.exitCode === 1 && /^(tcompact: .*); --archive /m.exec(done.stderr)) || [];
      if (why) {
        // The compaction is worth more than the archive.
        done = await $.process.run(command, options);
        if (done.exitCode === 0) $.ui.log(`${why}; it goes on without an archive`);
      }
      const summary = done.exitCode === 0 ? JSON.parse(done.stdout) : null;
      if (!summary?.message) throw new Error(done.stderr || `exit code ${done.exitCode}`);
      const start = beginning(e.messages, sources[summary.cutoff] ?? 0);
      if (start === 0) throw new Error("no place to cut");
      return { messages: [{ role: "user", text: summary.message, toolUses: [] }, ...e.messages.slice(start)] };
    } catch (error) {
      $.ui.log(`tcompact: ${reasonOf(error)}; Claude Code compacts the session itself`);
      return next(e);
    }
  });
}

// Why tcompact failed, in one line, with what to do where it is missing or too old.
function reasonOf(error) {
  const [line] = String(error?.message ?? error).trim().split("\n"), why = line.replace(/^tcompact: /, "");
  if (/tcompact: not found|ENOENT/.test(line)) return "the program tcompact is not on your path";
  return /^(there is no flag|invalid value)/.test(why) ? `${why}; update tcompact, or correct FLAGS` : why;
}

// Messages of OpenAI's chat, and for each of them the index of the message that it comes from.
function chat(messages) {
  const history = [], sources = [];
  messages.forEach((message, index) => {
    const put = (entry) => { history.push(entry); sources.push(index); };
    for (const { tool_use_id, text } of message.toolResults ?? []) {
      put({ role: "tool", tool_call_id: tool_use_id, content: text ?? "" });
    }
    const calls = message.toolUses.map(({ tool_use_id, tool, input }) => ({
      id: tool_use_id, type: "function", function: { name: tool, arguments: JSON.stringify(input ?? {}) },
    }));
    if (message.text || calls.length > 0) {
      put({ role: message.role, content: message.text || null, ...(calls.length > 0 && { tool_calls: calls }) });
    }
  });
  return { history, sources };
}

// The kept part begins neither with a result nor inside an answer, whose blocks are messages of their own here.
function beginning(messages, start) {
  const continues = (index) => messages[index].toolResults?.length > 0 ||
    (messages[index].role === "assistant" && messages[index - 1].role === "assistant");
  while (start > 0 && continues(start)) start -= 1;
  return start;
}
