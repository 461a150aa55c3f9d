// Vercel's AI SDK, over each vendor's API.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai'
import { CITY, MOST_TURNS, PARAMETERS, PNG, QUESTION, SYSTEM, main } from './driver.mjs'

const MODELS = {
  chat: ({ base, key, model }) => createOpenAI({ baseURL: `${base}/v1`, apiKey: key }).chat(model),
  responses: ({ base, key, model }) => createOpenAI({ baseURL: `${base}/v1`, apiKey: key }).responses(model),
  messages: ({ base, key, model }) => createAnthropic({ baseURL: `${base}/v1`, apiKey: key })(model),
  gemini: ({ base, key, model }) => createGoogleGenerativeAI({ baseURL: `${base}/v1beta`, apiKey: key })(model),
}

await main(async (asked) => {
  const { task, look, hasLeft, retries, dialect } = asked
  const leaving = new AbortController()
  const content = [{ type: 'text', text: QUESTION }]
  if (task === 'picture') content.push({ type: 'file', data: PNG, mediaType: 'image/png' })
  const habits = { model: MODELS[dialect](asked), instructions: SYSTEM, messages: [{ role: 'user', content }], maxRetries: retries, abortSignal: leaving.signal }
  // By default, repeated items are sent as references to what OpenAI has stored, which other vendors do not have.
  if (dialect === 'responses' && !asked.model.includes('-openai-')) habits.providerOptions = { openai: { store: false } }
  if (task === 'tools') {
    habits.tools = { look: tool({ inputSchema: jsonSchema(PARAMETERS), execute: look }) }
    habits.stopWhen = stepCountIs(MOST_TURNS)
  }
  if (task === 'whole') return (await generateText(habits)).text
  if (task === 'shape') return JSON.stringify((await generateText({ ...habits, output: Output.object({ schema: jsonSchema(CITY) }) })).output)
  let failed
  const result = streamText({ ...habits, onError: ({ error }) => (failed = error) })
  let text = ''
  let pieces = 0
  for await (const part of result.fullStream ?? result.stream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'text-delta') text += part.text
    if (part.type === 'text-delta' && hasLeft(++pieces)) {
      leaving.abort()
      return 'left'
    }
  }
  if (failed) throw failed
  return text
})
