import { copyButton, el } from './elements.js'
import { say } from './messages.js'

/** The clients, and the language of their fences on the Markdown page of an operation. */
const clients = { TypeScript: 'ts', Python: 'python' }

/** The example of an operation with each client, loaded when it is opened: there are over a hundred. */
export const samples = ({ id }) => Object.entries(clients).map(([name, fence]) => sample(id, name, fence))

function sample(id, name, fence) {
  const code = el('pre', { class: 'code', tabindex: '0', 'aria-label': say('The request in {}', name) })
  const block = el('details', { class: 'sample' }, el('summary', {}, name), copyButton(code), code)
  block.addEventListener('toggle', async () => {
    if (!block.open || code.dataset.loaded) return
    const text = await readSample(id, fence).catch(() => undefined)
    if (text !== undefined) code.dataset.loaded = 'yes'
    code.textContent = text ?? say('The example could not be loaded. Close and open it to try again.')
  })
  return block
}

async function readSample(id, fence) {
  const answer = await fetch(`/docs/operations/${id}.md`, { credentials: 'omit' })
  if (!answer.ok) return undefined
  return new RegExp(`^\`\`\`${fence}\\n([^]*?)\\n\`\`\`$`, 'm').exec(await answer.text())?.[1]
}
