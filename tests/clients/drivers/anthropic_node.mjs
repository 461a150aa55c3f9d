// Anthropic's SDK for Node.
import Anthropic from '@anthropic-ai/sdk'
import { CITY, MOST_TURNS, PARAMETERS, PNG, QUESTION, SYSTEM, main } from './driver.mjs'

await main(async ({ base, key, model, task, look, hasLeft, retries }) => {
  const sdk = new Anthropic({ baseURL: base, apiKey: key, maxRetries: retries })
  const cache_control = { type: 'ephemeral' }
  const content = [{ type: 'text', text: QUESTION, cache_control }]
  if (task === 'picture') content.push({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } })
  const messages = [{ role: 'user', content }]
  const more = { model, max_tokens: 4000, system: [{ type: 'text', text: SYSTEM, cache_control }] }
  if (task === 'tools') more.tools = [{ name: 'look', input_schema: PARAMETERS }]
  if (task === 'shape') more.output_config = { format: { type: 'json_schema', schema: CITY } }
  const textOf = (answer) => answer.content.filter((part) => part.type === 'text').map((part) => part.text).join('')
  if (task === 'count') {
    const { input_tokens } = await sdk.messages.countTokens({ model, messages })
    return input_tokens > 0 ? 'True' : 'False'
  }
  if (task === 'whole') return textOf(await sdk.messages.create({ ...more, messages }))
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const stream = sdk.messages.stream({ ...more, messages, thinking: { type: 'enabled', budget_tokens: 1024 } })
    let pieces = 0
    for await (const _ of stream) {
      if (hasLeft(++pieces)) {
        stream.abort()
        return 'left'
      }
    }
    const answer = await stream.finalMessage()
    messages.push({ role: 'assistant', content: answer.content })
    const calls = answer.content.filter((part) => part.type === 'tool_use')
    if (!calls.length) return textOf(answer)
    messages.push({ role: 'user', content: calls.map(({ id, input }) => ({ type: 'tool_result', tool_use_id: id, content: look(input) })) })
  }
})
