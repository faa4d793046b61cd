/**
 * `npm run try:clients -- --xray PATH --sing-box PATH`: opens a sandbox with a gateway that serves VPN devices over
 * TLS, and connects to it with the real clients, by each entry of the secret link. Exits with 1 if a check fails.
 */
import { parseArgs } from 'node:util'
import { passwordOf } from '../../test/harness/engine.ts'
import { freePort } from '../../test/harness/gateway.ts'
import { checkDownload, checkNames, checkUpload, type Local } from './checks.ts'
import {
  type Client,
  clients,
  type Entry,
  entriesOfShareLinks,
  entriesOfSingBox,
  entriesOfXray,
} from './configurations.ts'
import { type Origin, openOrigin } from './origin.ts'
import { checkConfiguration, startProgram } from './program.ts'
import { openSandbox } from './sandbox.ts'

const username = 'try'
const usage = 'try:clients: name a program: --xray PATH, --sing-box PATH, or both\n'
/** A field of a link by which the client knows the certificate itself. */
const pin = /"(?:pinnedPeerCertSha256|certificate_public_key_sha256)":/

const { values: programs } = parseArgs({ options: { xray: { type: 'string' }, 'sing-box': { type: 'string' } } })
if (!clients.some((client) => programs[client] !== undefined)) {
  process.stderr.write(usage)
  process.exit(2)
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
const resultOf = (work: Promise<void>): Promise<string> => work.then(() => 'ok', reasonOf)

/** By column: `ok`, `-` where there is nothing to check, or the reason of a failure. */
type Results = Readonly<Record<string, string>>
const hasFailed = (results: Results): boolean => Object.values(results).some((result) => !['ok', '-'].includes(result))

async function tryLocal(local: Local, { hasUdp }: Entry, origin: Origin): Promise<Results> {
  const { nameServers, nameServer53 } = origin
  return {
    start: 'ok',
    download: await resultOf(checkDownload(local, origin)),
    upload: await resultOf(checkUpload(local, origin)),
    UDP: hasUdp ? await resultOf(checkNames(local, nameServers)) : '-',
    'UDP, port 53': hasUdp && nameServer53 ? await resultOf(checkNames(local, [nameServer53])) : '-',
  }
}

async function tryEntry(path: string, entry: Entry, origin: Origin, certificate: string): Promise<Results> {
  const port = freePort()
  const configuration = entry.configure(port, { username, password: passwordOf(username) })
  const trusted = pin.test(JSON.stringify(configuration)) ? '/dev/null' : certificate
  const program = await startProgram(path, configuration, port, trusted)
  const results = await tryLocal({ port, username }, entry, origin)
  if (hasFailed(results)) process.stderr.write(`${entry.name}, ${entry.client}:\n${program.lastLines()}\n`)
  await program.stop()
  return results
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const sandbox = await openSandbox()
const origin = await openOrigin()
const singBox = await sandbox.link('singbox')
const entries = [
  ...entriesOfShareLinks(await sandbox.link('base64')),
  ...entriesOfXray(await sandbox.link('xray')),
  ...entriesOfSingBox(singBox),
]
const rows: Results[] = []
const allResults: Results[] = []
function add(client: Client, format: string, name: string, results: Results): void {
  allResults.push(results)
  rows.push({ client, format, entry: name, ...results })
}
for (const entry of entries) {
  const path = programs[entry.client]
  if (path === undefined) continue
  const results = tryEntry(path, entry, origin, sandbox.certificate)
  add(entry.client, entry.format, entry.name, await results.catch((error: unknown) => ({ start: reasonOf(error) })))
}
const singBoxPath = programs['sing-box']
if (singBoxPath !== undefined)
  add('sing-box', 'singbox', 'all of it, read only', {
    start: await resultOf(checkConfiguration(singBoxPath, singBox)),
  })
console.table(rows)
await origin.stop()
await sandbox.stop()
process.exit(allResults.some(hasFailed) ? 1 : 0)
