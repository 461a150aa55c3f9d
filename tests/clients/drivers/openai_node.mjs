// OpenAI's SDK for Node: chat completions and responses.
import OpenAI from 'openai'
import { CITY, MOST_TURNS, PARAMETERS, PNG, QUESTION, SYSTEM, main } from './driver.mjs'

await main(async (asked) => {
  const sdk = new OpenAI({ baseURL: `${asked.base}/v1`, apiKey: asked.key, maxRetries: asked.retries })
  return asked.dialect === 'chat' ? chat(sdk, asked) : responses(sdk, asked)
})

async function chat(sdk, { model, task, look, hasLeft }) {
  const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
  const content = task === 'picture' ? [{ type: 'text', text: QUESTION }, picture] : QUESTION
  const messages = [{ role: 'system', content: SYSTEM }, { role: 'user', content }]
  const more = task === 'tools' ? { tools: [{ type: 'function', function: { name: 'look', parameters: PARAMETERS } }] } : {}
  if (task === 'shape') more.response_format = { type: 'json_schema', json_schema: { name: 'place', schema: CITY, strict: true } }
  if (task === 'whole') return (await sdk.chat.completions.create({ model, messages })).choices[0].message.content
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const stream = sdk.chat.completions.stream({ model, messages, ...more })
    let pieces = 0
    for await (const _ of stream) {
      if (hasLeft(++pieces)) {
        stream.abort()
        return 'left'
      }
    }
    const { message } = (await stream.finalChatCompletion()).choices[0]
    messages.push(message)
    if (!message.tool_calls?.length) return message.content
    for (const call of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: look(JSON.parse(call.function.arguments)) })
    }
  }
}

async function responses(sdk, { model, task, look, hasLeft }) {
  const picture = { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${PNG}` }
  const content = task === 'picture' ? [{ type: 'input_text', text: QUESTION }, picture] : QUESTION
  let input = [{ role: 'user', content }]
  const more = { instructions: SYSTEM }
  if (['tools', 'chained'].includes(task)) more.tools = [{ type: 'function', name: 'look', parameters: PARAMETERS, strict: false }]
  if (task === 'shape') more.text = { format: { type: 'json_schema', name: 'place', schema: CITY, strict: true } }
  if (task === 'whole') return (await sdk.responses.create({ model, input, ...more })).output_text
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const stream = sdk.responses.stream({ model, input, ...more })
    let pieces = 0
    for await (const event of stream) {
      if (event.type === 'error') throw new Error(event.message)
      if (hasLeft(++pieces)) {
        stream.abort()
        return 'left'
      }
    }
    const answer = await stream.finalResponse()
    const calls = answer.output.filter((item) => item.type === 'function_call')
    if (!calls.length) return answer.output_text
    const results = calls.map(({ call_id, arguments: given }) => ({ type: 'function_call_output', call_id, output: look(JSON.parse(given)) }))
    const said = answer.output.map(({ parsed_arguments, ...item }) => item)
    if (task === 'chained') more.previous_response_id = answer.id
    input = task === 'chained' ? results : [...input, ...said, ...results]
  }
}
