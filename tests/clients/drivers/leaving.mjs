// Both vendors' SDKs for Node, as a client that leaves: it aborts its call when told to on standard input, and exits
// when that is closed.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { once } from 'node:events'

const { base, key, dialect, model, session, stream } = JSON.parse(process.argv[2])
const told = { apiKey: key, maxRetries: 0, defaultHeaders: { 'x-session-id': session } }
const openai = new OpenAI({ baseURL: `${base}/v1`, ...told })
const anthropic = new Anthropic({ baseURL: base, ...told })
const leaving = new AbortController()
process.stdin.once('data', () => leaving.abort())
const ended = once(process.stdin, 'end')

const messages = [{ role: 'user', content: 'Hello' }]
const signal = { signal: leaving.signal }
const ask = {
  chat: () => openai.chat.completions.create({ model, messages, stream }, signal),
  responses: () => openai.responses.create({ model, input: 'Hello', stream }, signal),
  messages: () => anthropic.messages.create({ model, max_tokens: 900, messages, stream }, signal),
}

try {
  const answer = await ask[dialect]()
  if (stream) for await (const _ of answer);
} catch (error) {
  if (!leaving.signal.aborted) throw error
}
console.log(leaving.signal.aborted ? 'left' : 'answered')
await ended
