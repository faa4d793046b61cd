import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Advice } from '../../src/app/doctor/advice.ts'
import { serveNames } from './name-server.ts'
import { runTurnpike } from './turnpike.ts'

/** Prints what the doctor of a gateway says about name servers that answer, refuse and are silent. */
await serveNames('127.0.0.1', 1)
await serveNames('127.0.0.3', undefined)
const folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-dns-'))
const seen: unknown[] = []
for (const server of ['127.0.0.1', '127.0.0.3', '127.0.0.4']) {
  writeFileSync('/etc/resolv.conf', `nameserver ${server}\n`)
  const env = { TURNPIKE_DATA: folder, TURNPIKE_SANDBOX: 'off', TURNPIKE_METRICS_LISTEN: '' }
  const { out } = await runTurnpike(['doctor', '--role', 'gateway', '--json'], env)
  const { advice } = JSON.parse(out) as { advice: readonly Advice[] }
  seen.push(...advice.flatMap(({ of, state, reason, params }) => (of === 'DNS' ? [[state, reason, params]] : [])))
}
rmSync(folder, { recursive: true, force: true })
process.stdout.write(JSON.stringify(seen), () => process.exit(0))
