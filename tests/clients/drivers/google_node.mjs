// Google's SDK for Node.
import { GoogleGenAI } from '@google/genai'
import { CITY, MOST_TURNS, PARAMETERS, PNG, QUESTION, SYSTEM, main } from './driver.mjs'

await main(async ({ base, key, model, task, look, hasLeft, retries }) => {
  const sdk = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: base, retryOptions: { attempts: retries + 1 } } })
  const parts = [{ text: QUESTION }]
  if (task === 'picture') parts.push({ inlineData: { mimeType: 'image/png', data: PNG } })
  const contents = [{ role: 'user', parts }]
  const config = { systemInstruction: SYSTEM }
  if (task === 'tools') config.tools = [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: PARAMETERS }] }]
  if (task === 'shape') Object.assign(config, { responseMimeType: 'application/json', responseJsonSchema: CITY })
  if (task === 'count') return (await sdk.models.countTokens({ model, contents })).totalTokens > 0 ? 'True' : 'False'
  if (task === 'whole') return (await sdk.models.generateContent({ model, contents, config })).text
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const leaving = new AbortController()
    const said = []
    let pieces = 0
    for await (const chunk of await sdk.models.generateContentStream({ model, contents, config: { ...config, abortSignal: leaving.signal } })) {
      said.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
      if (hasLeft(++pieces)) {
        leaving.abort()
        return 'left'
      }
    }
    contents.push({ role: 'model', parts: said })
    const calls = said.flatMap((part) => part.functionCall ?? [])
    if (!calls.length) return said.filter((part) => !part.thought).map((part) => part.text).join('')
    const results = calls.map(({ id, name, args }) => ({ functionResponse: { id, name, response: { output: look(args) } } }))
    contents.push({ role: 'user', parts: results })
  }
})
