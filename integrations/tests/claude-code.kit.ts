// Run by `claude plugin test`: the mod as Claude Code calls it, with answers of this file in place of tcompact's.
import { expect, test } from 'claude-code/testing'

const said = (role, text) => ({ role, text, toolUses: [], handle: text })
const calls = (...ids) => ({ role: 'assistant', text: '', handle: ids.join(), toolUses: ids.map((id) => ({ tool_use_id: id, tool: 'Bash', input: { command: id } })) })
const result = (id, text = '') => ({ role: 'user', text, toolUses: [], handle: `result ${id}`, toolResults: [{ tool_use_id: id, text: `out ${id}`, isError: false }] })
const own = { messages: [said('user', 'own')] }

// Compacts `messages` with what tcompact answers; returns what stands, what tcompact read, and the lines for the user.
async function compacted($, on, messages, answer, more = {}) {
  const lines = [], asked = []
  on('ui.log', (_, e) => (lines.push(e.text), { value: undefined }))
  on('session.compact', () => own)
  on('process.run', (_, e) => {
    asked.push(e)
    if (answer instanceof Error) throw answer
    return { value: { exitCode: 0, stdout: '', stderr: '', ...answer } }
  })
  const { messages: stand } = await $.session.compact({ trigger: 'auto', messages, ...more })
  return { stand: stand.map((message) => message.handle ?? message.text), lines, asked }
}
const digest = (cutoff) => ({ stdout: JSON.stringify({ text: 'Digest.', cutoff, pinned: [], tokens: 9 }) })
const SUMMARY = 'Here is a summary of the conversation to date:\n\n<summary>\nDigest.\n</summary>'

test('the summary stands before the kept messages', async ($, on) => {
  const messages = [said('user', 'one'), calls('a', 'b'), result('a'), result('b'), said('assistant', 'done'), said('user', 'two')]
  const { stand, lines, asked } = await compacted($, on, messages, digest(5))
  expect(stand).toEqual([SUMMARY, 'two'])
  expect(lines).toEqual([])
  expect(asked[0].argv.slice(0, 3)).toEqual(['tcompact', '--from', 'openai-chat'])
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

test('words behind /compact are for a model', async ($, on) => {
  const { stand, lines, asked } = await compacted($, on, [said('user', 'one')], digest(1), { instructions: 'Only the parser.' })
  expect([stand, lines, asked]).toEqual([['own'], [], []])
})
