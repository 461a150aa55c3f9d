// Shared by the drivers of Node clients, like driver.py for Python.

export const QUESTION = 'Do five steps'
export const SYSTEM = 'You are an agent.'
export const PARAMETERS = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
export const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
export const MOST_TURNS = 12
const FAILING = ['busy', 'refused', 'broken', 'cut']
const PIECES_BEFORE_LEAVING = 5

function statusOf(error) {
  for (; error; error = error.cause ?? error.lastError) {
    const status = error.status ?? error.statusCode ?? error.code
    if (Number.isInteger(status)) return status
    if (error.lastError && Number.isInteger(error.lastError.statusCode)) return error.lastError.statusCode
  }
  return null
}

export async function main(run) {
  const { models, ...given } = JSON.parse(process.argv[2])
  for (const [task, model] of Object.entries(models)) {
    const commands = []
    const look = ({ command }) => (commands.push(command), 'done')
    const hasLeft = (pieces) => task === 'abort' && pieces >= PIECES_BEFORE_LEAVING
    const told = { task, commands }
    try {
      told.answer = await run({ ...given, task, model, look, hasLeft, retries: FAILING.includes(task) ? 0 : 3 })
    } catch (error) {
      told.error = { kind: error.name === 'Error' ? error.constructor.name : error.name, status: statusOf(error), text: String(error).slice(0, 500) }
      told.trace = error.stack?.slice(0, 3000)
    }
    console.log(JSON.stringify(told))
  }
}
