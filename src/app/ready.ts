import { machineCommand } from '../cli/command.ts'
import { configOf } from './process.ts'
import { listenUrl } from './settings/config.ts'

const withinMs = 4_000

/** Health check for a container without curl. Loads no module of the shop. */
export const readyCommand = machineCommand({
  name: 'ready',
  summary: 'Checks whether the shop is ready; exits with 0 if it is, and with 1 if not.',
  async run(given) {
    const url = `${listenUrl(configOf(given))}/readyz`
    // The certificate names the shop's host, and this request uses its address.
    const options = { signal: AbortSignal.timeout(withinMs), tls: { rejectUnauthorized: false } }
    const { ready, reason } = await fetch(url, options)
      .then(async (answer) => ({ ready: answer.ok, reason: /"reason":"([^"]*)"/.exec(await answer.text())?.[1] }))
      .catch(() => ({ ready: false, reason: 'It does not answer: start it, or read its log.' }))
    return {
      json: { ready },
      lines: [ready ? 'The shop is ready.' : `The shop at ${url} is not ready. ${reason ?? ''}`],
      exit: ready ? 0 : 1,
    }
  },
})
