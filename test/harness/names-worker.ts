import { writeFileSync } from 'node:fs'
import { createNames } from '../../src/app/node/names.ts'
import { serveNames } from './name-server.ts'

await serveNames('127.0.0.1', 1)
await serveNames('127.0.0.2', 2)
await serveNames('127.0.0.3', undefined)
const logged: string[] = []
const write = (event: string, fields?: object): void => void logged.push(JSON.stringify({ event, ...fields }))
let nowMs = 0
const use = (server: string): void => writeFileSync('/etc/resolv.conf', `# ${nowMs}\nnameserver ${server}\n`)
use('127.0.0.1')
const names = createNames({ info: write, warn: write, error: write }, () => nowMs)
const answers: string[] = []
const look = async (name: string): Promise<void> => {
  const answer = names.lookup(name, 4).then(
    (found) => found.map((each) => each.address).join(' '),
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  )
  answers.push(await answer)
}
await look('one.customer.example')
use('127.0.0.2')
await look('one.customer.example')
nowMs += 1000
await look('one.customer.example')
await look('missing.customer.example')
use('127.0.0.3')
nowMs += 1000
await look('two.customer.example')
await look('three.customer.example')
use('127.0.0.1')
nowMs += 1000
await look('two.customer.example')
use('127.0.0.3')
nowMs += 60_000
await look('two.customer.example')
process.stdout.write(JSON.stringify({ answers, counts: names.counts, logged }), () => process.exit(0))
