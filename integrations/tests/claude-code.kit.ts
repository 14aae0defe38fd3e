// Run by `claude plugin test`: the mod as Claude Code calls it, with answers of this file in place of tcompact's.
import { expect, test } from 'claude-code/testing'

const said = (role, text) => ({ role, text, toolUses: [], handle: text })
const calls = (...ids) => ({ role: 'assistant', text: '', handle: ids.join(), toolUses: ids.map((id) => ({ tool_use_id: id, tool: 'Bash', input: { command: id } })) })
const result = (id, text = '') => ({ role: 'user', text, toolUses: [], handle: `result ${id}`, toolResults: [{ tool_use_id: id, text: `out ${id}`, isError: false }] })
const own = { messages: [said('user', 'own')] }

// Compacts `messages` with what tcompact answers; returns what stands, what tcompact read, and the lines for the user.
async function compacted($, on, messages, answer, more = {}, variables = { HOME: '/home/a' }) {
  const lines = [], asked = []
  on('env.get', (_, { name }) => ({ value: variables[name] }))
  on('session.id', () => ({ value: 'an/id' }))
  on('ui.log', (_, e) => (lines.push(e.text), { value: undefined }))
  on('session.compact', () => own)
  on('process.run', (_, e) => {
    asked.push(e)
    if (answer instanceof Error) throw answer
    return { value: { exitCode: 0, stdout: '', stderr: '', ...(typeof answer === 'function' ? answer(e.argv) : answer) } }
  })
  const { messages: stand } = await $.session.compact({ trigger: 'auto', messages, ...more })
  return { stand: stand.map((message) => message.handle ?? message.text), lines, asked }
}
const SUMMARY = 'Here is a summary of the conversation to date:\n\n<summary>\nDigest.\n</summary>\n\n(Where it is kept.)'
const digest = (cutoff) => ({ stdout: JSON.stringify({ text: 'Digest.', message: SUMMARY, cutoff, pinned: [], tokens: 9 }) })

test('the summary stands before the kept messages', async ($, on) => {
  const messages = [said('user', 'one'), calls('a', 'b'), result('a'), result('b'), said('assistant', 'done'), said('user', 'two')]
  const { stand, lines, asked } = await compacted($, on, messages, digest(5))
  expect(stand).toEqual([SUMMARY, 'two'])
  expect(lines).toEqual([])
  expect(asked[0].argv.slice(0, 6)).toEqual(['/bin/sh', '-c', 'umask 077 && exec tcompact "$@"', 'sh', '--from', 'openai-chat'])
  expect(asked[0].argv.slice(-2)).toEqual(['--archive', '/home/a/.local/state/tcompact/claude-code/an_id.jsonl'])
  const history = JSON.parse(asked[0].init.stdin)
  expect(history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'user'])
  expect(history[1].tool_calls.map(({ id }) => id)).toEqual([history[2].tool_call_id, history[3].tool_call_id])
})

test('a call stays with its result where words stand beside the result', async ($, on) => {
  const messages = [said('user', 'one'), said('assistant', 'look'), calls('a', 'b'), result('a'), result('b', 'and this'), said('assistant', 'x')]
  // The fifth message is two of the chat: the cut is wanted before its words.
  const { stand } = await compacted($, on, messages, digest(5))
  expect(stand).toEqual([SUMMARY, 'look', 'a,b', 'result a', 'result b', 'x'])
})

for (const [name, answer, line] of [
  // The kit leaves out what throws, and the call is refused.
  ['cannot be run', new Error('refused'), 'process.run'],
  ['fails', { exitCode: 4, stderr: 'tcompact: the summarizer failed\ntry: --on-error extractive' }, 'the summarizer failed'],
  ['prints half of its answer', { stdout: '{"text": "Dig' }, 'JSON'],
  ['prints another thing', { stdout: '[1]' }, 'exit code 0'],
  ['has nothing to do', { stdout: 'null', stderr: 'tcompact: standard input: unchanged: it is short' }, 'unchanged: it is short'],
  ['names no message', digest(99), 'no place to cut'],
] as const) {
  test(`Claude Code compacts the session itself where tcompact ${name}`, async ($, on) => {
    const { stand, lines } = await compacted($, on, [said('user', 'one'), said('assistant', 'two'), said('user', 'three')], answer)
    expect(stand).toEqual(['own'])
    expect(lines.length).toBe(1)
    expect(lines[0]).toContain(line)
    expect(lines[0].split('\n').length).toBe(1)
  })
}

test('what was typed behind /compact is one argument', async ($, on) => {
  const messages = [said('user', 'one'), said('user', 'two')]
  const { stand, asked } = await compacted($, on, messages, digest(1), { instructions: ' -- Only "$HOME"; the parser. ' })
  expect(stand).toEqual([SUMMARY, 'two'])
  expect(asked[0].argv.includes('--focus=-- Only "$HOME"; the parser.')).toBe(true)
})

for (const [name, variables, archive] of [
  ['is off', { HOME: '/home/a', TCOMPACT_NO_ARCHIVE: '1' }, undefined],
  ['has no place', {}, undefined],
  ['is where XDG_STATE_HOME says', { HOME: '/home/a', XDG_STATE_HOME: '/state' }, '/state/tcompact/claude-code/an_id.agent_1.jsonl'],
  ['is in the profile on Windows', { OS: 'Windows_NT', USERPROFILE: 'C:/a' }, 'C:/a/.local/state/tcompact/claude-code/an_id.agent_1.jsonl'],
] as const) {
  test(`the archive ${name}`, async ($, on) => {
    const { asked } = await compacted($, on, [said('user', 'one'), said('user', 'two')], digest(1), { agentId: 'agent_1' }, variables)
    const at = asked[0].argv.indexOf('--archive')
    expect(at < 0 ? undefined : asked[0].argv[at + 1]).toBe(archive)
    expect(asked[0].argv[0]).toBe(variables.OS ? 'tcompact' : '/bin/sh')
  })
}

for (const [name, again, handles, line] of [
  ['goes on', digest(1), [SUMMARY, 'two'], 'tcompact: /a cannot be written: no space; it goes on without an archive'],
  ['fails for another reason, too', { exitCode: 4, stderr: 'tcompact: the summarizer failed' }, ['own'], 'the summarizer failed'],
] as const) {
  test(`without an archive that cannot be written, it ${name}`, async ($, on) => {
    const failed = { exitCode: 1, stderr: 'tcompact: /a cannot be written: no space; --archive names another place\n' }
    const { stand, lines, asked } = await compacted($, on, [said('user', 'one'), said('user', 'two')], (argv) => argv.includes('--archive') ? failed : again)
    expect(stand).toEqual(handles)
    expect(asked.length).toBe(2)
    expect(lines.length).toBe(1)
    expect(lines[0]).toContain(line)
  })
}

test('nothing is prepared in advance', async ($, on) => {
  on('process.run', () => { throw new Error('asked') })
  const { skip } = await $.session.compact({ trigger: 'precompute', messages: [said('user', 'one')] })
  expect(skip).toBe('tcompact prepares nothing')
})
